"""Cells taken apart, by judges that value operations alone, edges alone, or both."""

from itertools import combinations

import numpy as np
import pytest

from xnas import Genotype
from xnas.benchmarks.cell_features import OPERATIONS, encode
from xnas.benchmarks.taken_apart import drawn_sources, shuffled_operations, take_apart
from xnas.space.genotype import CellGenotype, Edge

SEP = OPERATIONS.index("sep_conv_3x3")


class Judge:
    def __init__(self, value):
        self.value = value

    def judge_encoded(self, operations, sources):
        return self.value(operations, sources).sum((1, 2, 3)).astype(float)


def operations_alone(operations, sources):  # noqa: ARG001 - a judge's signature
    return operations == SEP


def edges_alone(operations, sources):  # noqa: ARG001 - a judge's signature
    return sources < 2


def both(operations, sources):
    return (operations == SEP) & (sources < 2)


@pytest.fixture
def cell():
    """Separable convolutions on the edges from the inputs, of which there are six, pools elsewhere."""
    nodes = ((0, 1), (0, 2), (0, 1), (1, 4))
    built = [tuple(Edge("sep_conv_3x3" if s < 2 else "max_pool_3x3", s) for s in node) for node in nodes]
    half = CellGenotype(tuple(built), (2, 3, 4, 5))
    return Genotype("darts", half, half)


def test_a_judge_of_operations_sees_no_difference(cell):
    seen = take_apart(Judge(operations_alone), cell)
    assert (seen.found, seen.shuffled, seen.drawn) == (12, 12, 12)
    assert (seen.better_than_shuffled, seen.better_than_drawn) == (0, 0)


def test_a_judge_of_edges_sees_a_difference_where_edges_are_drawn(cell):
    seen = take_apart(Judge(edges_alone), cell, draws=2000)
    # A node with n sources reads 2 * 2 / n of its edges from the inputs: 2 + 4/3 + 1 + 4/5, twice.
    assert (seen.found, seen.shuffled) == (12, 12)
    assert seen.drawn == pytest.approx(2 * (2 + 4 / 3 + 1 + 4 / 5), abs=0.1)
    assert seen.better_than_drawn > 60


def test_what_belongs_together_is_better_than_either_half(cell):
    seen = take_apart(Judge(both), cell, draws=2000)
    assert seen.found == 12
    assert seen.shuffled == pytest.approx(2 * 6 * 6 / 8, abs=0.1)
    assert seen.drawn < seen.shuffled
    assert seen.better_than_shuffled > 90
    assert take_apart(Judge(both), cell) == take_apart(Judge(both), cell)


def test_draws_keep_what_they_should():
    draw = np.random.default_rng(0)
    operations, _ = encode([Genotype.random("darts", 4)])
    shuffled = shuffled_operations(operations, 50, draw)
    assert (np.sort(shuffled.reshape(50, 2, 8)) == np.sort(operations.reshape(1, 2, 8))).all()
    sources = drawn_sources((3000, 2), draw)
    assert sources.shape == (3000, 2, 4, 2)
    for node in range(4):
        pairs = dict.fromkeys(combinations(range(node + 2), 2), 0)
        for pair in sources[:, :, node].reshape(-1, 2).tolist():
            pairs[tuple(pair)] += 1
        assert min(pairs.values()) > 0.85 * 6000 / len(pairs)
