"""Features of cells, checked on one that can be followed by hand."""

import numpy as np
import pytest

from xnas import Genotype
from xnas.benchmarks.cell_features import OPERATIONS, cell_features, encode
from xnas.space.genotype import CellGenotype, Edge

SEP, SKIP, POOL = "sep_conv_3x3", "skip_connect", "max_pool_3x3"

# Node 2 = sep(0) + skip(1); node 3 = skip(0) + pool(2); nodes 4 and 5 = skip(0) + skip(1).
NORMAL = CellGenotype(
    (
        (Edge(SEP, 0), Edge(SKIP, 1)),
        (Edge(SKIP, 0), Edge(POOL, 2)),
        (Edge(SKIP, 0), Edge(SKIP, 1)),
        (Edge(SKIP, 0), Edge(SKIP, 1)),
    ),
    (2, 3, 4, 5),
)


@pytest.fixture(scope="module")
def parts():
    genotype = Genotype("darts", NORMAL, Genotype.random("darts", 0).reduction)
    features = cell_features(*encode([genotype]))[0]
    assert features.shape == (166,)
    normal = features[:83]
    return np.split(normal, [21, 28, 35, 42, 43, 53, 63, 73])


def by_operation(values):
    return {name: value for name, value in zip(OPERATIONS, values, strict=True) if value}


def test_edges_are_counted_by_source_and_operation(parts):
    old, previous, inner = parts[0].reshape(3, 7)
    assert by_operation(old) == {SEP: 1, SKIP: 3}
    assert by_operation(previous) == {SKIP: 3}
    assert by_operation(inner) == {POOL: 1}


def test_paths_that_pass_through_an_operation(parts):
    # Node 2 is used by the output and by node 3: two paths lead on from its two edges.
    assert by_operation(parts[1]) == {SEP: 2, SKIP: 2 + 1 + 2 + 2, POOL: 1}


def test_operations_along_paths(parts):
    over_paths, over_nodes, count = parts[2:5]
    assert count == [9]  # 2 to node 2, 3 to node 3, 2 each to nodes 4 and 5
    assert by_operation(over_paths) == pytest.approx({SEP: 2 / 9, SKIP: 7 / 9, POOL: 2 / 9})
    assert by_operation(over_nodes) == pytest.approx(
        {SEP: (1 / 2 + 1 / 3) / 4, SKIP: (1 / 2 + 2 / 3 + 1 + 1) / 4, POOL: (2 / 3) / 4}
    )


def test_shares_of_the_output_by_input_and_steps(parts):
    edges, convolutions, separable, pools = (part.reshape(2, 5) for part in parts[5:])
    old = np.array([1 / 2, 1 / 2 + 1 / 4, 1 / 2, 1 / 2]).sum() / 4
    for shares in (edges, convolutions, separable, pools):
        assert shares.sum(1) == pytest.approx([old, 1 - old])
    assert edges[:, 0] == pytest.approx([0, 0])
    assert edges[:, 2] == pytest.approx([1 / 4 / 4, 1 / 4 / 4])  # through node 2 to node 3
    assert convolutions[:, 1] == pytest.approx([(1 / 2 + 1 / 4) / 4, 0])
    assert separable == pytest.approx(convolutions)
    assert pools[:, 1] == pytest.approx([1 / 4 / 4, 1 / 4 / 4])
