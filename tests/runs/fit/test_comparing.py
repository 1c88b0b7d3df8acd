"""Who wins, and how clearly."""

import pytest
import torch
from fitting import answers, row

from xnas.runs.fit.comparing import (
    compare,
    gain_of_search,
    lead_of_baseline,
    mcnemar,
    paired,
    wilson_interval,
)


def test_the_interval_is_wilsons():
    # Newcombe (1998), Table I, method 3: 81 of 263, and 15 of 148; 0 of 20 and its mirror.
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson_interval(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson_interval(0, 20) == pytest.approx((0, 0.1611), abs=5e-5)
    assert wilson_interval(20, 20) == pytest.approx((1 - 0.1611, 1), abs=5e-5)


def test_the_test_is_mcnemars_exact_one():
    assert mcnemar(0, 0) == 1
    assert mcnemar(4, 4) == 1
    assert mcnemar(5, 0) == 2 / 2**5
    assert mcnemar(1, 7) == mcnemar(7, 1) == 2 * (1 + 8) / 2**8


def test_the_best_by_validation_wins_and_the_smaller_of_equals():
    rows = [row("found", 0.9, parameters=2000), row("random", 0.9), row("resnet", 0.8)]
    found = compare(rows, answers(found=90, random=90, resnet=80))
    assert (found.first, found.second, found.lead) == ("random", "found", 0.0)
    assert (found.p, found.clear) == (1.0, False)


def test_only_images_that_one_alone_answers_rightly_count():
    right = {"found": torch.tensor([1, 1, 1, 0, 0, 1], dtype=torch.bool)}
    right["random"] = torch.tensor([1, 0, 0, 1, 0, 0], dtype=torch.bool)
    found = paired(row("found", 4 / 6), row("random", 2 / 6), right)
    assert (found.only_first, found.only_second) == (3, 1)
    assert found.lead == pytest.approx(2 / 6)
    assert found.p == mcnemar(3, 1)


def test_the_gain_of_a_search_is_that_over_the_random_cell():
    rows = [row("found", 0.9), row("random", 0.8), row("resnet", 0.95)]
    gain = gain_of_search(rows, answers(found=90, random=80, resnet=95))
    assert (gain.first, gain.second, gain.lead, gain.clear) == ("found", "random", 0.1, True)
    assert gain_of_search(rows[1:], {}) is None


def test_a_baseline_that_is_best_is_tested_against_the_cell_it_is_compared_with():
    rows = [row("found", 0.8), row("random", 0.9), row("resnet", 0.95)]
    right = answers(found=80, random=90, resnet=95)
    behind = lead_of_baseline(rows, right)
    assert (behind.first, behind.second, behind.lead) == ("resnet", "found", 0.15)
    published = lead_of_baseline([rows[2], row("published", 0.8)], right | answers(published=80))
    assert (published.second, published.only_first) == ("published", 15)
    assert lead_of_baseline([row("found", 0.8), row("random", 0.7)], right) is None
