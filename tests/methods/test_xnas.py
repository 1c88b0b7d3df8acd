"""The method xnas: horizons and rates of both kinds of cell."""

import math

import pytest
import torch
from method_games import build, game, play

from xnas import ExpertsOptimizer, optimal_learning_rate, uniform_mixture
from xnas.methods import experts_learning_rates, learning_rate_of, xnas


def test_xnas_gives_each_kind_its_horizon_and_rate():
    mixtures, method = build("xnas", experts_lr="paper")
    assert isinstance(method, ExpertsOptimizer)
    rates = [float(group["lr"]) for group in method.param_groups]
    assert rates == [optimal_learning_rate(5, 100 * 20 * r) for r in (6, 2)]
    assert [method.ledger(m).horizon for m in mixtures.values()] == [200, 200]
    assert experts_learning_rates(5, "normal", game())["matched"] == optimal_learning_rate(5, 200)


def test_per_sample_accounting_counts_samples_and_replicas():
    mixtures, method = build("xnas", accounting="sample")
    horizons = [method.ledger(m).horizon for m in mixtures.values()]
    assert horizons == [200 * 10 * 6, 200 * 10 * 2]


def test_a_number_is_taken_as_the_rate():
    _, method = build("xnas", experts_lr=0.07)
    assert [float(group["lr"]) for group in method.param_groups] == [0.07, 0.07]


def test_rates_matched_by_kind_are_in_the_papers_ratio_and_share_the_rounds_out():
    rates = {kind: experts_learning_rates(5, kind, game()) for kind in ("normal", "reduction")}
    for name in ("paper", "matched-by-kind"):  # Sec. 3.1: η_c = sqrt(2 ln N / (d E r_c)), r = 6 and 2
        ratio = rates["reduction"][name] / rates["normal"][name]
        assert ratio == pytest.approx(math.sqrt(6 / 2))
    horizons = [2 * math.log(5) / rate["matched-by-kind"] ** 2 for rate in rates.values()]
    assert sum(horizons) == pytest.approx(2 * 200)  # the 200 rounds of both kinds, shared out anew
    sample = experts_learning_rates(5, "reduction", game(accounting="sample"))
    assert sample["matched-by-kind"] == sample["matched"]


def test_each_kind_may_have_a_rate_of_its_own():
    _, method = build("xnas", experts_lr={"normal": "paper", "reduction": 0.3})
    rates = [float(group["lr"]) for group in method.param_groups]
    assert rates == [optimal_learning_rate(5, 100 * 20 * 6), 0.3]
    assert learning_rate_of(5, "reduction", game(experts_lr={"normal": 0.1, "reduction": 0.3})) == 0.3


def test_mixtures_may_start_from_a_mixture_of_their_own():
    start = torch.tensor([0.4, 0.3, 0.1, 0.1, 0.1])
    mixtures = {"normal": uniform_mixture(4, 5), "reduction": uniform_mixture(4, 5)}
    method = xnas(mixtures, game(), initial={"normal": start, "reduction": torch.full((5,), 0.2)})
    torch.testing.assert_close(mixtures["normal"].detach(), start.expand(4, 5))
    torch.testing.assert_close(mixtures["reduction"].detach(), torch.full((4, 5), 0.2))
    play(mixtures, method, 20)
    assert all(method.ledger(m).regret_bound is not None for m in mixtures.values())


def test_without_wipeout_nobody_goes():
    for wipeout in (True, False):
        mixtures, method = build("xnas", wipeout=wipeout)
        play(mixtures, method, 200)
        assert bool(method.alive(mixtures["normal"]).all()) is not wipeout
