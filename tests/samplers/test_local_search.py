"""Local search: moves, restarts, and what it never asks twice."""

from random import Random

import pytest
from oracles.local_search import climb
from sampling_games import done, failed, planted, play

from xnas.samplers import SAMPLERS
from xnas.space import encoding_of


def local(seed=0, space="nasbench201"):
    return SAMPLERS["local"](encoding_of(space), seed, {})


@pytest.mark.parametrize("space", ["nasbench201", "darts"])
def test_it_asks_what_a_plain_loop_asks(space):
    for seed in range(2):
        expected = climb(encoding_of(space), planted, Random(seed), evaluations=300)
        for window in (1, 4):
            asked = [t.genotype for t, _ in play(local(seed, space), planted, 300, window=window)]
            assert asked == expected
        assert len(set(expected)) == len(expected)


def test_on_the_planted_table_it_needs_at_most_six_rounds():
    # Every edge that is no 3x3 convolution gains by becoming one, so a climb has at most six moves.
    for seed in range(20):
        values = [value for _, value in play(local(seed), planted, 1 + 6 * 24)]
        assert max(values) == 1


def test_it_waits_for_all_neighbours():
    sampler = local()
    sampler.tell(done(sampler.ask().number, 0.5))
    trials = [sampler.ask() for _ in range(24)]
    assert [trial.parent for trial in trials] == [0] * 24
    assert sampler.ask() is None
    for trial in trials:
        sampler.tell(done(trial.number, 0.4))
    assert sampler.ask().parent is None  # none was better: another start


def test_a_start_that_fails_is_left():
    sampler = local()
    sampler.tell(failed(sampler.ask().number))
    assert sampler.ask().parent is None


def test_a_space_that_is_known_ends_the_search(monkeypatch):
    encoding = encoding_of("nasbench201")
    sampler = local()
    sampler.encoding = encoding
    cell = encoding.draw(Random(0))
    monkeypatch.setattr(encoding, "draw", lambda _: cell)
    monkeypatch.setattr(encoding, "neighbours", lambda _: iter(()))
    assert len(play(sampler, planted, 10)) == 1
    assert sampler.finished
