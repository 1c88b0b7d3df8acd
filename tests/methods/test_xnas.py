"""The method xnas: horizons and rates of both kinds of cell."""

from method_games import build, game, play

from xnas import ExpertsOptimizer, optimal_learning_rate
from xnas.methods import experts_learning_rates


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


def test_without_wipeout_nobody_goes():
    for wipeout in (True, False):
        mixtures, method = build("xnas", wipeout=wipeout)
        play(mixtures, method, 200)
        assert bool(method.alive(mixtures["normal"]).all()) is not wipeout
