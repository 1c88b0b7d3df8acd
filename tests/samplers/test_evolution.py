"""Aging evolution: the queue, the draw, the mutation."""

import statistics
from itertools import count
from random import Random

import pytest
from oracles.evolution import evolve
from sampling_games import planted, play

from xnas.errors import ConfigError
from xnas.samplers import SAMPLERS
from xnas.space import encoding_of


def evolution(seed=0, space="nasbench201", **settings):
    return SAMPLERS["evolution"](encoding_of(space), seed, settings)


def test_the_queue_is_the_last_ones_told_in_order():
    sampler = evolution(population=5, sample=2)
    for number in range(20):
        play(sampler, planted, 1)
        assert [member.number for member in sampler.queue] == list(range(max(0, number - 4), number + 1))


def test_the_parent_is_the_best_of_the_living_even_if_an_older_one_was_better():
    sampler, values = evolution(population=3, sample=3), iter([0.9, 0.1, 0.3, 0.2, 0.5])
    sampler._draw = AllMembers()
    parents = [trial.parent for trial, _ in play(sampler, lambda _: next(values), 5)]
    # The first is the fourth cell's parent; then it is gone, and of 0.1, 0.3, 0.2 the third is best.
    assert parents == [None, None, None, 0, 2]


class AllMembers(Random):
    """Draws members by turns, so that a draw of as many as there are is all of them."""

    def __init__(self):
        super().__init__(0)
        self.turn = count()

    def choice(self, members):
        if hasattr(members[0], "choices"):
            return members[next(self.turn) % len(members)]
        return super().choice(members)


def test_a_child_differs_from_its_parent_in_one_edge():
    sampler = evolution(population=4, sample=2)
    cells = {}
    for trial, _ in play(sampler, planted, 60):
        choices = sampler.encoding.encode(trial.genotype)
        cells[trial.number] = choices
        if trial.parent is not None:
            assert sum(a != b for a, b in zip(choices, cells[trial.parent], strict=True)) == 1


def test_a_draw_of_one_selects_nothing():
    # Parents are uniform over the queue: their mean rank is that of the population, 2.5 of 1 to 4.
    sampler, values = evolution(population=4, sample=1), Random(1)
    ranks, living = [], []
    for trial, value in play(sampler, lambda _: values.random(), 4000):
        if trial.parent is not None:
            ranks.append(1 + sorted(v for _, v in living).index(dict(living)[trial.parent]))
        living = [*living, (trial.number, value)][-4:]
    assert statistics.mean(ranks) == pytest.approx(2.5, abs=5 * (1.25 / len(ranks)) ** 0.5)


@pytest.mark.parametrize("seed", range(3))
def test_it_asks_what_a_plain_loop_asks(seed):
    encoding = encoding_of("nasbench201")
    expected = evolve(encoding, planted, Random(seed), evaluations=80, population=10, sample=3)
    asked = [trial.genotype for trial, _ in play(evolution(seed, population=10, sample=3), planted, 80)]
    assert asked == expected


def test_copies_come_as_often_as_they_should():
    sampler = evolution(space="nasnet", population=2, sample=1, copies=0.5)
    played = {trial.number: trial for trial, _ in play(sampler, planted, 802)}
    same = [t.genotype == played[t.parent].genotype for t in played.values() if t.parent is not None]
    assert statistics.mean(same) == pytest.approx(0.5, abs=5 * (0.25 / 800) ** 0.5)
    assert evolution(space="nasnet").copies == 0.05  # Real et al., 2019
    assert evolution().copies == 0


def test_a_sample_larger_than_the_population_is_refused():
    with pytest.raises(ConfigError, match="a sample of 5 is larger than the population of 3"):
        evolution(population=3, sample=5)
