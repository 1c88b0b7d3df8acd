"""Rules: which cells a search space allows. Each is a function that raises for all others.

A search finds less than the rule of `darts` allows: under that name the older published cells can be
read.
"""

from __future__ import annotations

from reprlib import repr as brief
from typing import TYPE_CHECKING

from xnas.errors import GenotypeError
from xnas.nn.operations import OPERATIONS
from xnas.registry import known_names
from xnas.space.cell_genotype import INPUTS, NONE, CellGenotype, CellKind

if TYPE_CHECKING:
    from xnas.space.spaces import SearchSpace

EDGES_PER_NODE = 2
"""Incoming edges that a node keeps (Sec. 2.1, "The Discretization Stage")."""


def searched_cell(space: SearchSpace, kind: CellKind, cell: CellGenotype) -> None:
    """Allow what discretization gives: two edges per node, from different states, and never `none`.

    A space whose published cells are freer has another rule.
    """
    if len(cell.nodes) != space.nodes:
        raise GenotypeError(
            f"the {kind} cell has {len(cell.nodes)} nodes; a cell of the space {space.name!r} has "
            f"{space.nodes}"
        )
    for node, edges in enumerate(cell.nodes, start=INPUTS):
        where = f"node {node} of the {kind} cell"
        _require_two_edges(where, len(edges))
        if len({edge.source for edge in edges}) < len(edges):
            raise GenotypeError(
                f"{where} has two edges from state {edges[0].source}; its edges must come from "
                "different states"
            )
        for edge in edges:
            require_operation(space, edge.operation, where)
    joined_inputs = [state for state in cell.concat if state < INPUTS]
    if joined_inputs:
        raise GenotypeError(
            f"concat of the {kind} cell lists {joined_inputs[0]}, an input; a cell of the space "
            f"{space.name!r} joins nodes, {INPUTS} to {INPUTS + space.nodes - 1}"
        )


def published_cell(space: SearchSpace, kind: CellKind, cell: CellGenotype) -> None:  # noqa: ARG001
    """Allow what was published under DARTS's conventions: two edges per node, of any operation.

    Cells may have more or fewer nodes than the space, two edges from one state, `none` on an edge, and
    their inputs among the states that the output joins. A search finds no such cell.
    """
    if not cell.nodes:
        raise GenotypeError(f"the {kind} cell has no nodes; it needs at least 1")
    for node, edges in enumerate(cell.nodes, start=INPUTS):
        where = f"node {node} of the {kind} cell"
        _require_two_edges(where, len(edges))
        for edge in edges:
            if edge.operation not in OPERATIONS:
                unknown = f"{where} uses the unknown operation {brief(edge.operation)}"
                raise GenotypeError(f"{unknown}; {known_names(edge.operation, OPERATIONS)}")


def block_cell(space: SearchSpace, kind: CellKind, cell: CellGenotype) -> None:
    """Allow NASNet's cells: every node a block of two edges, which may come from one and the same state.

    A cell may have fewer nodes than the space: PNAS trains such cells while it builds larger ones. The
    output joins the nodes that no other node reads, or all of them (Zoph et al., 2018, Sec. 3; the
    published cell of Liu et al., 2018, joins all).
    """
    if not 1 <= len(cell.nodes) <= space.nodes:
        raise GenotypeError(
            f"the {kind} cell has {len(cell.nodes)} nodes; a cell of the space {space.name!r} has 1 to "
            f"{space.nodes}"
        )
    for node, edges in enumerate(cell.nodes, start=space.inputs):
        where = f"node {node} of the {kind} cell"
        _require_two_edges(where, len(edges))
        for edge in edges:
            require_operation(space, edge.operation, where)
    loose = loose_ends(space.inputs, cell)
    every = range(space.inputs, space.inputs + len(cell.nodes))
    if sorted(cell.concat) not in ([*loose], [*every]):
        raise GenotypeError(
            f"concat of the {kind} cell is {list(cell.concat)}; a cell of the space {space.name!r} "
            f"joins the nodes that no other reads, here {list(loose)}, or all of them"
        )


def loose_ends(inputs: int, cell: CellGenotype) -> tuple[int, ...]:
    """Return the nodes of a cell that no other node reads, by their state numbers."""
    read = {edge.source for edges in cell.nodes for edge in edges}
    return tuple(state for state in range(inputs, inputs + len(cell.nodes)) if state not in read)


def complete_cell(space: SearchSpace, kind: CellKind, cell: CellGenotype) -> None:
    """Allow NAS-Bench-201's cells: every node fed by all states before it, the last one the output."""
    last = space.inputs + space.nodes - 1
    if len(cell.nodes) != space.nodes or cell.concat != (last,):
        nodes = (
            "|".join(f"op~{source}" for source in range(node)) for node in range(space.inputs, last + 1)
        )
        raise GenotypeError(
            f"a {kind} cell of the space {space.name!r} has {space.nodes} nodes and gives the last; "
            f"this one has {len(cell.nodes)} and gives {list(cell.concat)}; write "
            f"it like {'+'.join(f'|{edges}|' for edges in nodes)}"
        )
    for node, edges in enumerate(cell.nodes, start=space.inputs):
        if [edge.source for edge in edges] != list(range(node)):
            raise GenotypeError(
                f"node {node} of the {kind} cell is fed by {[edge.source for edge in edges]}; here "
                f"every node is fed by all states before it, in order: {list(range(node))}"
            )
        for edge in edges:
            if edge.operation not in (NONE, *space.operations):
                known = known_names(edge.operation, (NONE, *space.operations))
                raise GenotypeError(
                    f"node {node} of the {kind} cell uses {brief(edge.operation)}, which the space "
                    f"{space.name!r} does not have; {known}"
                )


def _require_two_edges(where: str, found: int) -> None:
    if found != EDGES_PER_NODE:
        plural = "edge" if found == 1 else "edges"
        raise GenotypeError(f"{where} has {found} incoming {plural}; every node needs {EDGES_PER_NODE}")


def require_operation(space: SearchSpace, operation: str, where: str) -> None:
    """Raise unless the space has the operation, and it is one that can be chosen."""
    known = ", ".join(name for name in space.operations if name != NONE)
    if operation == NONE:
        raise GenotypeError(
            f"{where} uses 'none', which a search never chooses; operations to choose from are {known}"
        )
    if operation not in space.operations:
        raise GenotypeError(
            f"{where} uses {operation!r}, which the space {space.name!r} does not have; its operations "
            f"are {known}"
        )
