"""What every registered sampler keeps, on every space that it takes. A new one joins by its name."""

import random
import statistics
from itertools import islice

import pytest
from sampling_games import done, failed, planted, play, replay

from xnas.errors import ConfigError
from xnas.samplers import SAMPLERS
from xnas.space import SPACES, encoding_of

SPACES_HERE = ("nasbench201", "darts", "nasnet")
ROUNDS = {"start": 5, "round": 5, "candidates": 20, "members": 2, "fit_epochs": 4}
SMALL = {
    "evolution": {"population": 6, "sample": 3},
    "tpe": {"startup": 5},
    "bohb": {"startup": 5, "max_epochs": 9},
    "bananas": ROUNDS,
    "npenas": ROUNDS,
    "proxy": {"proxy": "params", "pool": 4, "batch": 2, "then": "evolution", "first": 2},
    "controller": {"minibatch": 4, "hidden": 16},
    "latent": {"evaluations": 24, "epochs": 5, "hidden": 8, "embedding": 8},
    "progressive": {"evaluations": 24, "steps": 5, "members": 2},
}
"""Settings with which a sampler passes all its phases within `FEW` evaluations, in a second."""
FEW = 24
BY_RANK = {"random", "evolution", "local", "tpe"}
"""Samplers that a monotone change of values does not move."""
FINDS_THE_BEST = {"local": {}, "evolution": {"population": 30, "sample": 10}}
"""Samplers that find the planted cell in every seed within 300 evaluations, with these settings."""
LEAST_MEAN = {"controller": {}, "progressive": {"evaluations": 60, "members": 1, "steps": 60}}
"""Samplers that need other settings than `SMALL` to be better than random search."""
BY_EPOCHS = {"halving", "bohb"}
"""Samplers that stop trainings early: they are compared after as many epochs, not evaluations."""
MORE = {"controller": 120, "progressive": 60}
"""Samplers that need more evaluations than 40 to be better than random search."""


def takes(name, space):
    spaces = SAMPLERS[name].spaces
    return spaces is None or space in spaces


DEAR = {("latent", "nasnet"), ("progressive", "darts")}
"""Seconds each; another space covers the same lines."""
CASES = [
    pytest.param(name, space, marks=[pytest.mark.slow] * ((name, space) in DEAR))
    for name in SAMPLERS
    for space in SPACES_HERE
    if takes(name, space)
]
NAMES = list(SAMPLERS)


def space_for(name):
    """The space of tests that need one alone: the smallest that the sampler takes."""
    return next(space for space in SPACES_HERE if takes(name, space))


def made(name, space=None, seed=0, **settings):
    encoding = encoding_of(space or space_for(name))
    return SAMPLERS[name](encoding, seed, SMALL.get(name, {}) | settings)


@pytest.mark.parametrize(("name", "space"), CASES)
class TestOnEverySpace:
    def test_a_seed_and_its_tells_give_the_asks_which_are_cells_of_the_space(self, name, space):
        encoding = encoding_of(space)
        first = play(made(name, space), planted, FEW)
        assert play(made(name, space), planted, FEW) == first
        other = play(made(name, space, seed=1), planted, 10)
        assert [trial.genotype for trial, _ in other] != [trial.genotype for trial, _ in first[:10]]
        for trial, _ in first:
            assert trial.genotype.space == space
            if name == "progressive" and len(trial.genotype.normal.nodes) < SPACES[space].nodes:
                continue  # it also asks for cells of fewer nodes, which no encoding holds
            again = encoding.decode(encoding.encode(trial.genotype))
            assert encoding.encode(again) == encoding.encode(trial.genotype)
            for mine, its in zip(trial.genotype.normal.nodes, again.normal.nodes, strict=True):
                assert set(mine) == set(its)
            assert trial.parent is None or trial.parent < trial.number


@pytest.mark.parametrize("name", NAMES)
class TestEverySampler:
    @pytest.mark.parametrize("order", range(3))
    def test_any_interleaving_ends_without_repeating_a_number(self, name, order):
        sampler, draw, waiting, numbers = made(name), random.Random(order), [], []
        while len(numbers) < FEW:
            trial = sampler.ask() if len(waiting) < 5 and draw.random() < 0.7 else None
            if trial is not None:
                numbers.append(trial.number)
                waiting.append(trial)
                continue
            if not waiting:
                trial = sampler.ask()
                assert trial is not None or sampler.finished  # nothing is open, so it may not wait
                if trial is None:
                    break
                numbers.append(trial.number)
                waiting.append(trial)
                continue
            told = waiting.pop(draw.randrange(len(waiting)))
            sampler.tell(done(told.number, planted(told.genotype)))
        assert numbers == list(range(len(numbers)))
        assert len(numbers) == FEW or sampler.finished

    def test_failures_count_and_are_no_parents_and_no_answer(self, name):
        sampler = made(name)
        played = play(sampler, planted, FEW, fails=lambda number: number % 3 == 0, window=2)
        assert len(played) == FEW or sampler.finished
        bad = {trial.number for trial, value in played if value is None}
        assert bad
        assert not [t for t, _ in played if t.parent in bad and t.budget is None]
        assert sampler.best().number not in bad

    def test_failures_alone_leave_no_answer(self, name):
        sampler = made(name)
        play(sampler, planted, 12, fails=lambda _: True)
        with pytest.raises(ConfigError, match="no trial has a value yet"):
            sampler.best()

    def test_the_best_has_the_largest_value_and_comes_first_of_equals(self, name):
        sampler = made(name)
        played = play(sampler, planted, FEW, window=3)
        most = max((trial.budget or 0, value) for trial, value in played)
        assert sampler.best() == next(t for t, value in played if (t.budget or 0, value) == most)

    @pytest.mark.parametrize(
        ("window", "every"),
        [pytest.param(1, 2, marks=pytest.mark.slow), pytest.param(3, 1, marks=pytest.mark.slow), (3, 0)],
    )
    def test_a_replayed_ledger_continues_as_if_nothing_had_happened(self, name, window, every):
        events = []
        play(made(name), planted, FEW, window=window, events=events)
        some = {0, 1, 2, len(events) // 3, len(events) // 2, len(events) - 1}
        for cut in range(0, len(events) + 1, every) if every else some:
            sampler = made(name)
            replay(sampler, events[:cut])
            replay(sampler, events[cut:])

    def test_equal_values_are_no_trouble(self, name):
        played = play(made(name), lambda _: 0.5, FEW, window=2)
        assert played

    def test_what_was_told_is_not_told_again(self, name):
        sampler = made(name)
        trial = sampler.ask()
        sampler.tell(failed(trial.number))
        with pytest.raises(ConfigError, match="trial 0 was told already"):
            sampler.tell(done(0, 0.5))


@pytest.mark.parametrize("name", sorted(BY_RANK & set(NAMES)))
def test_ranks_alone_decide(name):
    values = [play(made(name), value, 40) for value in (planted, lambda cell: planted(cell) ** 3)]
    assert [trial for trial, _ in values[0]] == [trial for trial, _ in values[1]]


@pytest.mark.parametrize("name", sorted(FINDS_THE_BEST))
def test_the_planted_cell_is_found(name):
    for seed in range(5):
        sampler = SAMPLERS[name](encoding_of("nasbench201"), seed, FINDS_THE_BEST[name])
        assert max(value for _, value in islice(play(sampler, planted, 300), 300)) == 1


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in LEAST_MEAN))
        for name in sorted(set(NAMES) - {"random"} - set(FINDS_THE_BEST) - BY_EPOCHS)
    ],
)
def test_others_are_better_than_random_search_on_average(name):
    """The mean of ten seeds of the best value among so many evaluations as random search has."""
    evaluations = MORE.get(name, 40)

    def mean(sampler_name, settings):
        found = []
        for seed in range(10):
            sampler = SAMPLERS[sampler_name](encoding_of(space_for(name)), seed, settings)
            found.append(max(value for _, value in play(sampler, planted, evaluations)))
        return statistics.mean(found)

    assert mean(name, LEAST_MEAN.get(name, SMALL.get(name, {}))) > mean("random", {})


@pytest.mark.parametrize("name", sorted(BY_EPOCHS & set(NAMES)))
def test_rungs_find_more_than_random_search_with_as_many_epochs(name):
    """The mean of ten seeds of the answer, after trainings of up to 9 epochs."""
    found, at_random = [], []
    for seed in range(10):
        rungs = {"min_epochs": 1, "max_epochs": 9, "eta": 3}
        sampler = SAMPLERS[name](encoding_of("nasbench201"), seed, rungs)
        played = [trial for trial, _ in play(sampler, planted, 60)]
        budgets = {trial.number: trial.budget for trial in played}
        epochs = sum(t.budget - budgets.get(t.parent, 0) for t in played)
        found.append(planted(sampler.best().genotype))
        assert sampler.best().budget == 9
        drawn = SAMPLERS["random"](encoding_of("nasbench201"), seed, {})
        at_random.append(max(value for _, value in play(drawn, planted, epochs // 9)))
    assert statistics.mean(found) > statistics.mean(at_random)
