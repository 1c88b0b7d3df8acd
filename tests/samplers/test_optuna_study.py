"""Optuna behind the protocol: proposals, rungs, brackets, and nothing on the screen."""

import logging
import random
import statistics
import sys
from collections import Counter
from itertools import count

import pytest
from nasbench201 import REAL, needs_the_real_table
from sampling_games import done, failed, planted

from xnas.benchmarks import TabularBenchmark
from xnas.errors import ConfigError
from xnas.samplers import SAMPLERS
from xnas.samplers.optuna_study import OptunaSettings
from xnas.space import encoding_of
from xnas.space.limited_encoding import LimitedEncoding

optuna = pytest.importorskip("optuna")


def made(name, seed=0, space="nasbench201", **settings):
    return SAMPLERS[name](encoding_of(space), seed, settings)


def cells_of(sampler, cells, worth):
    """The trials of each of so many cells, one cell after another; `worth` of place and budget."""
    climbs, place = [], {}
    while True:
        trial = sampler.ask()
        if trial.parent is None:
            if len(climbs) == cells:
                return climbs
            place[trial.number] = len(climbs)
            climbs.append([])
        else:
            place[trial.number] = place[trial.parent]
        climbs[place[trial.number]].append(trial)
        sampler.tell(done(trial.number, worth(place[trial.number], trial.budget)))


@pytest.mark.parametrize(
    ("cells", "eta", "least", "most", "epochs"), [(27, 3, 1, 27, 81), (16, 2, 3, 24, 120)]
)
def test_known_costs_of_halving_with_resumed_rungs(cells, eta, least, most, epochs):
    # By hand: (27, 1), (9, 3), (3, 9), (1, 27), and (16, 3), (8, 6), (4, 12), (2, 24). The asynchronous
    # form promotes as many where every eta-th cell of a rung beats all before it and no other does.
    rung_of = {least * eta**rung: rung for rung in range(4)}

    def worth(place, budget):
        return (1 + place) * (1 if place % eta ** (rung_of[budget] + 1) == 0 else -1) / 100

    sampler = made("halving", eta=eta, min_epochs=least, max_epochs=most)
    climbs = cells_of(sampler, cells, worth)
    told = [trial for climb in climbs for trial in climb]
    reached = Counter(trial.budget for trial in told)
    assert [reached[least * eta**rung] for rung in range(4)] == [cells // eta**rung for rung in range(4)]
    resumed = sum(
        trial.budget - (0 if trial.parent is None else climb[place - 1].budget)
        for climb in climbs
        for place, trial in enumerate(climb)
    )
    assert resumed == epochs
    assert cells * most in (729, 384)


def test_the_next_rung_is_the_same_cell_with_the_earlier_trial_as_its_parent():
    sampler = made("halving", eta=3, min_epochs=2, max_epochs=9)
    trials = []
    for _ in range(3):
        trials.append(sampler.ask())
        sampler.tell(done(trials[-1].number, 0.5))
    assert [trial.budget for trial in trials] == [2, 6, 9]  # the first cell is the best of its rung
    assert [trial.parent for trial in trials] == [None, 0, 1]
    assert len({trial.genotype for trial in trials}) == 1


def test_a_rung_that_failed_is_not_followed_by_another():
    sampler = made("halving")
    trial = sampler.ask()
    sampler.tell(failed(0))
    assert sampler.ask().parent is None
    assert sampler.book.failed == 1
    assert trial.budget == 1


def test_the_answer_is_the_best_of_the_highest_rung():
    sampler = made("halving", eta=2, min_epochs=1, max_epochs=2)
    first = sampler.ask()
    sampler.tell(done(first.number, 0.9))
    second = sampler.ask()
    sampler.tell(done(second.number, 0.7))  # a training of 2 epochs whose rate was still high at 1
    assert (second.budget, second.parent) == (2, 0)
    assert sampler.best() == second


def test_hyperband_draws_brackets_in_proportion_to_their_cells():
    # Every cell is worse than all before it in its rung, so its first judgement ends it: its largest
    # budget names its bracket. By ceil(4 / (s + 1) 3^s) for s = 3, 2, 1, 0 of 49: 27, 12, 6 and 4.
    worse = count()
    climbs = cells_of(made("bohb", startup=10_000), 300, lambda *_: -next(worse) / 1000)
    largest = Counter(max(trial.budget for trial in climb) for climb in climbs)
    for budget, share in zip((1, 3, 9, 27), (27, 12, 6, 4), strict=True):
        assert largest[budget] / 300 == pytest.approx(share / 49, abs=3 * (0.25 / 300) ** 0.5)


def test_tpe_learns_which_cells_are_good():
    sampler, found = made("tpe"), []
    for _ in range(60):
        trial = sampler.ask()
        found.append(planted(trial.genotype))
        sampler.tell(done(trial.number, found[-1]))
    assert statistics.mean(found[40:]) > statistics.mean(found[:10]) + 0.3
    assert all(trial.budget is None for trial, _ in sampler.book.told)


def test_given_cells_come_first():
    encoding, sampler = encoding_of("darts"), made("tpe", space="darts")

    cells = [encoding.draw(random.Random(seed)) for seed in range(3)]
    sampler.begin_with(cells)
    assert [sampler.ask().genotype for _ in cells] == [encoding.decode(cell) for cell in cells]
    assert sampler.ask().genotype not in [encoding.decode(cell) for cell in cells]


def test_rungs_end_at_the_largest_budget():
    assert OptunaSettings(pruner="halving", min_epochs=12, max_epochs=200, eta=17).rungs == (12, 200)
    assert OptunaSettings(pruner="hyperband", min_epochs=5, max_epochs=5).rungs == (5,)
    with pytest.raises(ConfigError, match="--min-epochs must be at most --max-epochs, got 9 and 3"):
        OptunaSettings(min_epochs=9, max_epochs=3)


@pytest.mark.parametrize("settings", [{}, {"multivariate": True}, {"proposals": "random"}])
def test_optuna_writes_nothing_and_its_verbosity_stays(settings, capfd):
    optuna.logging.set_verbosity(logging.INFO)
    sampler = made("tpe", startup=2, **settings)
    for _ in range(5):
        sampler.tell(done(sampler.ask().number, 0.5))
    assert optuna.logging.get_verbosity() == logging.INFO
    assert capfd.readouterr() == ("", "")


def test_without_optuna_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(
        ConfigError, match=r"is Optuna's, .* install it with pip install 'xnas\[optuna\]'"
    ):
        made("tpe")


@pytest.mark.slow
def test_tpe_finds_a_planted_cell_in_every_seed():
    for seed in range(10):
        sampler = made("tpe", seed=seed)
        for _ in range(300):
            trial = sampler.ask()
            sampler.tell(done(trial.number, planted(trial.genotype)))
            if planted(trial.genotype) == 1:
                break
        assert planted(sampler.best().genotype) == 1


@pytest.mark.slow
@needs_the_real_table
def test_tpe_on_the_table():
    table, found = TabularBenchmark.load(REAL), []
    for seed in range(8):
        sampler = made("tpe", seed=seed)
        for _ in range(100):
            trial = sampler.ask()
            sampler.tell(done(trial.number, table.accuracy(trial.genotype, 12, "valid") / 100))
        found.append(table.accuracy(sampler.best().genotype))
    assert statistics.mean(found) > 94.0


@pytest.mark.parametrize(("name", "most"), [("tpe", 0.5), ("tpe", 0.0), ("bohb", 0.5)])
def test_no_cell_beyond_the_limits_is_asked(name, most):
    """With 0 a quarter of all cells is within them: `planted` is the share of 3x3 convolutions."""
    encoding = LimitedEncoding(encoding_of("nasbench201"), lambda cell: planted(cell) <= most, (0,) * 6)

    def cells():
        sampler, asked = SAMPLERS[name](encoding, 0, {}), []
        for _ in range(30):
            trial = sampler.ask()
            sampler.tell(done(trial.number, planted(trial.genotype)))
            asked.append(trial)
        return asked

    asked = cells()
    assert max(planted(trial.genotype) for trial in asked) <= most
    assert cells() == asked
