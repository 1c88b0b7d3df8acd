"""Who wins, how clearly, and in which words."""

import pytest
from fits import row

from xnas.runs.fit.comparing import compare, standard_error, verdict


def test_the_standard_error_is_the_binomial_one():
    assert standard_error(0.9, 400) == pytest.approx(0.015)  # sqrt(0.9 * 0.1 / 400)
    assert standard_error(1.0, 10) == 0


def test_the_best_by_validation_wins_and_the_smaller_of_equals():
    rows = [row("found", 0.9, parameters=2000), row("random", 0.9), row("resnet", 0.8)]
    found = compare(rows)
    assert (found.winner, found.second, found.lead, found.clear) == ("random", "found", 0.0, False)
    assert found.noise == pytest.approx(0.01 * 2**0.5)


def test_a_lead_is_clear_from_two_standard_errors_on():
    assert compare([row("found", 0.93), row("random", 0.90)]).clear
    assert not compare([row("found", 0.92), row("random", 0.90)]).clear


def said(*rows):
    return "\n".join(verdict(rows, compare(rows)))


def test_a_clear_winner_is_named_with_its_lead():
    text = said(row("found", 0.93), row("random", 0.90), row("resnet", 0.8))
    assert "best by validation: the found cell, 3.0 points before the random cell" in text
    assert "the found cell against the random one: +3.0 points" in text
    assert "noise" not in text
    assert "baseline" not in text


def test_a_baseline_that_wins_and_a_lead_within_noise_are_said_plainly():
    text = said(row("found", 0.90), row("random", 0.89), row("resnet", 0.91))
    assert "within noise (1.4 points are one standard error" in text
    assert "a baseline wins: the small ResNet is 1.0 points better than the found cell" in text
    assert "+1.0 points, which is within noise" in text
    text = said(row("published", 0.90), row("pretrained", 0.99))
    assert "the pretrained model is 9.0 points better than the published cell" in text
    assert "against the random one" not in text
