"""Samplers on the real table of NAS-Bench-201, over many seeds."""

import os
import statistics
from functools import cache
from random import Random

import pytest
from nasbench201 import needs_the_real_table
from oracles.evolution import evolve
from oracles.local_search import climb
from oracles.reinforce import reinforce
from sampling_games import play
from scipy.stats import spearmanr

from xnas.benchmarks import TabularBenchmark
from xnas.samplers import SAMPLERS
from xnas.space import Genotype, encoding_of

pytestmark = [pytest.mark.slow, needs_the_real_table]

ENCODING = encoding_of("nasbench201")
SEEDS, EVALUATIONS = 500, 100
NEAR = 0.1
"""Of means that were computed elsewhere with other draws: they are for orientation."""


@cache
def table():
    """Accuracies by cell: test after 200 epochs, validation after 12, validation after 200."""
    benchmark = TabularBenchmark.load(os.environ["XNAS_NASBENCH201"])
    return {arch: (e.test_200, e.valid_12, e.valid_200) for arch, e in benchmark.entries.items()}


@cache
def encoded():
    """The cells of the table by their tuples."""
    return {ENCODING.encode(Genotype.from_arch(arch)): arch for arch in table()}


def valid_12(genotype):
    return table()[genotype.arch][1]


@cache
def found(name, settings=()):
    """The true accuracy of the best cell by validation of 12 epochs, for each seed."""
    results = []
    for seed in range(SEEDS):
        sampler = SAMPLERS[name](ENCODING, seed, dict(settings))
        play(sampler, valid_12, EVALUATIONS)
        results.append(table()[sampler.best().genotype.arch][0])
    return results


def within_standard_errors(values, expected, number=3):
    return abs(statistics.mean(values) - expected) < number * statistics.stdev(values) / SEEDS**0.5


def test_random_search_meets_its_expectation():
    """E = sum_i (F_i^n - F_(i-1)^n) t_i over cells sorted by the signal, F_i = i / 15,625."""
    cells = sorted(table().values(), key=lambda cell: cell[1])
    share = [(i / len(cells)) ** EVALUATIONS for i in range(len(cells) + 1)]
    expected = sum((share[i + 1] - share[i]) * cell[0] for i, cell in enumerate(cells))
    assert expected == pytest.approx(93.73, abs=0.005)
    assert within_standard_errors(found("random"), expected)


def test_evolution_is_better_than_random_search_and_asks_what_a_plain_loop_asks():
    settings = (("population", 10), ("sample", 3))
    for seed in range(5):
        asked = play(SAMPLERS["evolution"](ENCODING, seed, dict(settings)), valid_12, EVALUATIONS)
        plain = evolve(
            ENCODING, valid_12, Random(seed), evaluations=EVALUATIONS, population=10, sample=3
        )
        assert [trial.genotype for trial, _ in asked] == plain
    assert statistics.mean(found("evolution", settings)) == pytest.approx(93.93, abs=NEAR)
    assert statistics.mean(found("evolution", settings)) > statistics.mean(found("random")) + 0.1


def test_local_search_asks_what_a_plain_loop_asks():
    for seed in range(5):
        asked = play(SAMPLERS["local"](ENCODING, seed, {}), valid_12, EVALUATIONS)
        plain = climb(ENCODING, valid_12, Random(seed), evaluations=EVALUATIONS)
        assert [trial.genotype for trial, _ in asked] == plain
    assert statistics.mean(found("local")) == pytest.approx(94.01, abs=NEAR)


def test_a_controller_of_logits_asks_what_plain_loops_ask():
    settings, results = {"controller": "logits", "learning_rate": 0.01}, []
    for seed in range(100):
        sampler = SAMPLERS["controller"](ENCODING, seed, settings)
        asked = [trial.genotype for trial, _ in play(sampler, valid_12, EVALUATIONS)]
        results.append(table()[sampler.best().genotype.arch][0])
        if seed < 3:
            plain = reinforce(
                ENCODING.cardinalities,
                lambda choices: valid_12(ENCODING.decode(choices)),
                EVALUATIONS,
                seed=seed,
                rate=0.01,
            )
            assert asked == [ENCODING.decode(choices) for choices in plain]
    assert statistics.mean(results) == pytest.approx(93.84, abs=NEAR)


def test_half_of_all_climbs_end_at_the_best_of_18_local_optima():
    """By the validation accuracy after 200 epochs."""
    values = {cell: table()[arch][2] for cell, arch in encoded().items()}
    uphill = {}
    for cell, value in values.items():
        best = max(ENCODING.neighbours(cell), key=values.__getitem__)
        uphill[cell] = best if values[best] > value else None
    optima = [cell for cell, better in uphill.items() if better is None]
    assert len(optima) == 18
    top, steps = max(values, key=values.__getitem__), []
    for start in values:
        here, count = start, 0
        while uphill[here] is not None:
            here, count = uphill[here], count + 1
        if here == top:
            steps.append(count)
    assert len(steps) / len(values) == pytest.approx(0.50, abs=0.005)
    assert max(steps) <= 11
    for seed in range(3):  # the sampler's first climb ends where this one does
        sampler = SAMPLERS["local"](ENCODING, seed, {})
        played = play(sampler, lambda genotype: table()[genotype.arch][2], 300)
        starts = [trial for trial, _ in played if trial.parent is None]
        here = ENCODING.encode(starts[0].genotype)
        while uphill[here] is not None:
            here = uphill[here]
        first = played[: starts[1].number] if len(starts) > 1 else played
        best = max(first, key=lambda pair: pair[1])[0]
        assert ENCODING.encode(best.genotype) == here


def test_the_number_of_parameters_ranks_cells_with_0753():
    benchmark = TabularBenchmark.load(os.environ["XNAS_NASBENCH201"])
    entries = list(benchmark.entries.values())
    rank = spearmanr([e.parameters for e in entries], [e.test_200 for e in entries]).statistic
    assert rank == pytest.approx(0.753, abs=0.0005)
