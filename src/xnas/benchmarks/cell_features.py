"""Cells of the DARTS space as rows of numbers that a regressor can learn from.

The features follow the paths of a cell, from its inputs to its nodes, because what an operation is worth
depends on what lies before and after it. They do not depend on how nodes are numbered, nor on the order
of the two edges of a node. For each of the two cells:

- edges by operation and source: the cell before the previous one, the previous one, an inner node (21);
- paths from a node to the output that pass through an operation, by operation (7);
- how often each operation stands on a path, as a mean over all paths (7) and over the nodes (7), and the
  number of paths (1);
- where the output comes from: each node is taken as the mean of its two edges, so that a share flows
  along every path. Shares are added up by input and by the number of edges, convolutions, separable
  convolutions or pools on the way (4 x 2 x 5).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from xnas.errors import GenotypeError
from xnas.space import SPACES, CellKind, Genotype
from xnas.space.genotype import Edge

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]

SPACE = SPACES["darts"]
OPERATIONS = SPACE.operations
INPUTS, NODES, EDGES = SPACE.inputs, 4, 2
STATES = INPUTS + NODES
LONGEST = NODES + 1
"""Numbers of steps on a path: 0 to `NODES`."""


def _which(*prefixes: str) -> NDArray[np.bool_]:
    return np.array([name.startswith(prefixes) for name in OPERATIONS])


STEPS = (_which(""), _which("sep", "dil"), _which("sep"), _which("max_pool", "avg_pool"))
"""What is counted on a path, each a mask over the operations."""


def encode(cells: Sequence[Genotype]) -> tuple[Indices, Indices]:
    """Operations and sources of cells, as numbers: two arrays (cells, kinds, nodes, edges).

    A cell that the DARTS search space does not hold is a GenotypeError.
    """
    places = {name: index for index, name in enumerate(OPERATIONS)}
    edges = [
        [
            [
                [(places[edge.operation], edge.source) for edge in sorted(node, key=in_order)]
                for node in _checked(cell, kind)
            ]
            for kind in SPACE.kinds
        ]
        for cell in cells
    ]
    table = np.array(edges, dtype=np.int64).reshape(len(edges), len(SPACE.kinds), NODES, EDGES, 2)
    return table[..., 0], table[..., 1]


def cell_features(operations: Indices, sources: Indices) -> Numbers:
    """Features (cells, columns) of what `encode` gives."""
    kinds = range(operations.shape[1])
    parts = [_features(operations[:, kind], sources[:, kind]) for kind in kinds]
    return np.concatenate(parts, axis=1)


def in_order(edge: Edge) -> tuple[int, str]:
    """The key by which the edges of a node are sorted."""
    return edge.source, edge.operation


def _checked(genotype: Genotype, kind: CellKind) -> tuple[tuple[Edge, ...], ...]:
    """The nodes of one cell, if a search of the space could have found it."""
    if genotype.space != SPACE.name:
        raise GenotypeError(
            f"the judge knows cells of the space {SPACE.name!r}; this one is of {genotype.space!r}"
        )
    cell = genotype.cell(kind)
    strange = next((e.operation for n in cell.nodes for e in n if e.operation not in OPERATIONS), None)
    if strange is not None:
        raise GenotypeError(
            f"the {kind} cell has {strange!r}; the judge knows the operations {', '.join(OPERATIONS)}"
        )
    if len(cell.nodes) != NODES or {len(n) for n in cell.nodes} != {EDGES}:
        raise GenotypeError(
            f"the {kind} cell has nodes of {', '.join(str(len(n)) for n in cell.nodes)} edges; the "
            f"judge knows cells of {NODES} nodes with {EDGES} edges each"
        )
    if sorted(cell.concat) != list(SPACE.concat):
        raise GenotypeError(
            f"the output of the {kind} cell joins the states {', '.join(map(str, cell.concat))}; the "
            f"judge knows cells whose output joins {', '.join(map(str, SPACE.concat))}"
        )
    return cell.nodes


def _features(operations: Indices, sources: Indices) -> Numbers:
    """Of one kind of cell: (cells, nodes, edges) -> (cells, columns)."""
    uses = _uses(sources)
    parts = [
        _by_source(operations, sources),
        _passing(operations, uses),
        _along_paths(operations, sources),
        *(_shares(steps[operations], sources) for steps in STEPS),
    ]
    return np.concatenate(parts, axis=1)


def _by_source(operations: Indices, sources: Indices) -> Numbers:
    """Edges by their source (either input, or a node) and operation."""
    rows = np.arange(len(operations))
    counts = np.zeros((len(operations), INPUTS + 1, len(OPERATIONS)))
    for node in range(NODES):
        for edge in range(EDGES):
            places = np.minimum(sources[:, node, edge], INPUTS), operations[:, node, edge]
            counts[rows, *places] += 1
    return counts.reshape(len(operations), -1)


def _uses(sources: Indices) -> Numbers:
    """How many paths lead from each state to the output: (cells, states)."""
    rows = np.arange(len(sources))
    uses = np.zeros((len(sources), STATES))
    uses[:, INPUTS:] = 1  # the output joins every node
    for node in reversed(range(NODES)):
        for edge in range(EDGES):
            uses[rows, sources[:, node, edge]] += uses[:, INPUTS + node]
    return uses


def _passing(operations: Indices, uses: Numbers) -> Numbers:
    """Paths to the output that pass through an edge, added up by operation."""
    rows = np.arange(len(operations))
    passing = np.zeros((len(operations), len(OPERATIONS)))
    for node in range(NODES):
        for edge in range(EDGES):
            passing[rows, operations[:, node, edge]] += uses[:, INPUTS + node]
    return passing


def _along_paths(operations: Indices, sources: Indices) -> Numbers:
    """How often a path from an input holds each operation: over all paths, over nodes; their number."""
    rows = np.arange(len(operations))
    paths = np.ones((len(operations), STATES))
    held = np.zeros((len(operations), STATES, len(OPERATIONS)))  # of the paths to a state, on average
    for node in range(NODES):
        state = INPUTS + node
        paths[:, state] = 0
        for edge in range(EDGES):
            before = sources[:, node, edge]
            longer = held[rows, before]
            longer[rows, operations[:, node, edge]] += 1
            paths[:, state] += paths[rows, before]
            held[:, state] += paths[rows, before][:, None] * longer
        held[:, state] /= paths[:, state][:, None]
    of_nodes = paths[:, INPUTS:]
    total = of_nodes.sum(1, keepdims=True)
    over_paths = (of_nodes[:, :, None] * held[:, INPUTS:]).sum(1) / total
    return np.concatenate([over_paths, held[:, INPUTS:].mean(1), total], axis=1)


def _shares(counted: NDArray[np.bool_], sources: Indices) -> Numbers:
    """Shares of the output by input and by the number of counted edges on the way to it."""
    rows = np.arange(len(sources))
    shares = np.zeros((len(sources), STATES, INPUTS, LONGEST))
    for state in range(INPUTS):
        shares[:, state, state, 0] = 1
    for node in range(NODES):
        for edge in range(EDGES):
            arriving = shares[rows, sources[:, node, edge]]
            further = np.zeros_like(arriving)
            further[..., 1:] = arriving[..., :-1]
            one_more = counted[:, node, edge][:, None, None]
            shares[:, INPUTS + node] += np.where(one_more, further, arriving) / EDGES
    of_output: Numbers = shares[:, INPUTS:].mean(1).reshape(len(sources), -1)
    return of_output
