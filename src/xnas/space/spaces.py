"""Search spaces: which operations an edge may hold, how many nodes a cell has, what a cell must obey.

A cell is a graph. States 0 and 1 are its inputs, the outputs of the cell before the previous one and
of the previous one; states from 2 on are its nodes, each fed by all states before it (Sec. 2.1). So four
nodes have 2 + 3 + 4 + 5 = 14 edges, each a forecaster during the search. There are two kinds of cells,
and all cells of one kind are alike.

Which cells a genotype may hold is said by the space's `rule`, a function that raises for all others. A
search finds less than the rule of `darts` allows: under that name the older published cells can be read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from reprlib import repr as brief
from typing import TYPE_CHECKING

from xnas.errors import ConfigError, GenotypeError
from xnas.nn.operations import OPERATIONS
from xnas.registry import Registry, known_names

if TYPE_CHECKING:
    from xnas.space.genotype import CellGenotype

INPUTS = 2
"""States of a cell that are not its own nodes."""
EDGES_PER_NODE = 2
"""Incoming edges that a node keeps (Sec. 2.1, "The Discretization Stage")."""
NONE = "none"
"""The operation that is no connection: it may take part in a search and is never chosen."""


class CellKind(StrEnum):
    """Normal cells keep the size of an image, reduction cells halve it."""

    NORMAL = "normal"
    REDUCTION = "reduction"


def searched_cell(space: SearchSpace, kind: CellKind, cell: CellGenotype) -> None:
    """Allow what discretisation gives: two edges a node, from different states, and never `none`.

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
    """Allow what was published under DARTS's conventions: two edges a node, of any operation.

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


def complete_cell(space: SearchSpace, kind: CellKind, cell: CellGenotype) -> None:
    """Allow NAS-Bench-201's cells: every node fed by all states before it, the last one the output."""
    last = space.inputs + space.nodes - 1
    if len(cell.nodes) != space.nodes or cell.concat != (last,):
        raise GenotypeError(
            f"a {kind} cell of the space {space.name!r} has {space.nodes} nodes and gives the last; "
            f"this one has {len(cell.nodes)} and gives {list(cell.concat)}"
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


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """What a search may find. Operations are ordered: ties go to the earlier one."""

    name: str
    operations: tuple[str, ...]
    nodes: int = 4
    inputs: int = field(default=INPUTS, kw_only=True)
    """States of a cell that are not its own nodes."""
    kept_edges: int | None = field(default=EDGES_PER_NODE, kw_only=True)
    """Incoming edges that a node keeps when a search ends; None keeps all."""
    kinds: tuple[CellKind, ...] = field(default=tuple(CellKind), kw_only=True)
    """Kinds of cells, each with mixtures and a genotype of its own."""
    as_string: bool = field(default=False, kw_only=True)
    """Whether genotypes are written as one string, in the notation of NAS-Bench-201."""
    rule: Callable[[SearchSpace, CellKind, CellGenotype], None] = field(
        default=searched_cell, repr=False, kw_only=True
    )
    """Raises GenotypeError for a cell that is not of this space."""

    def __post_init__(self) -> None:
        if not set(self.operations) - {NONE}:
            raise ConfigError(
                f"the space {self.name!r} has no operation that could be chosen, got {self.operations}; "
                "give at least one besides 'none'"
            )
        if len(set(self.operations)) < len(self.operations):
            raise ConfigError(
                f"the space {self.name!r} names an operation twice, got {self.operations}; "
                "each may stand once"
            )
        if self.nodes < 1:
            raise ConfigError(f"a cell needs at least 1 node, got {self.nodes}")

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Pairs (source, node), node by node, sources ascending: the rows of a mixture."""
        return tuple((source, node) for node in self.node_numbers for source in range(node))

    @property
    def node_numbers(self) -> range:
        """States that are the cell's own nodes."""
        return range(self.inputs, self.inputs + self.nodes)

    @property
    def concat(self) -> tuple[int, ...]:
        """What the output of a found cell joins: all nodes, or the last where every edge is kept."""
        return tuple(self.node_numbers) if self.kept_edges is not None else (self.node_numbers[-1],)

    def with_none(self) -> SearchSpace:
        """The same space with `none` among the experts, in front as in DARTS.

        Genotypes do not differ: `none` learns with the others and is left out of every choice.
        """
        return self if NONE in self.operations else replace(self, operations=(NONE, *self.operations))


SPACES: Registry[SearchSpace] = Registry("search space")
"""Search spaces by name; add your own with `SPACES.add`."""

SPACES.add(
    "darts",
    SearchSpace(
        "darts",
        (
            "max_pool_3x3",
            "avg_pool_3x3",
            "skip_connect",
            "sep_conv_3x3",
            "sep_conv_5x5",
            "dil_conv_3x3",
            "dil_conv_5x5",
        ),
        rule=published_cell,
    ),
)

SPACES.add(
    "nasbench201",
    SearchSpace(
        "nasbench201",
        ("skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"),
        nodes=3,
        inputs=1,
        kept_edges=None,
        kinds=(CellKind.NORMAL,),
        as_string=True,
        rule=complete_cell,
    ),
)
