"""How the edges of one node are chosen, and written as a few whole numbers.

In NAS-Bench-201 a node has an edge from every state before it (`AllSources`), in DARTS from two
different ones (`PairOfSources`), in NASNet from any two (`FreeSources`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal, Protocol

from xnas.errors import GenotypeError
from xnas.space.cell_genotype import Edge

Meaning = tuple[Literal["operation", "source", "sources"], int | None]
"""What a number chooses, and for which edge of the node; None if for all."""
Values = tuple[str | int | tuple[int, int], ...]


class NodeChoices(Protocol):
    """The choices of one node."""

    @property
    def node(self) -> int:
        """State number of the node: its sources are the states below."""

    @property
    def edge_count(self) -> int:
        """How many edges it has."""

    @property
    def meanings(self) -> tuple[Meaning, ...]:
        """What each number chooses."""

    @property
    def values(self) -> tuple[Values, ...]:
        """What each number can mean."""

    def edges(self, choices: Sequence[int]) -> tuple[Edge, ...]:
        """Return the edges of these numbers."""

    def choices(self, edges: Sequence[Edge], where: str = "the node") -> tuple[int, ...]:
        """Return the canonical numbers of edges in any order; `where` begins messages."""

    def other_operations(self, edges: Sequence[Edge], at: int) -> list[Edge]:
        """Return what edge `at` may become with another operation."""

    def other_sources(self, edges: Sequence[Edge], at: int) -> list[Edge]:
        """Return what edge `at` may become with another source."""


@dataclass(frozen=True)
class _Operations:
    """What all kinds of choices share."""

    node: int
    operations: tuple[str, ...]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.operations)}

    def other_operations(self, edges: Sequence[Edge], at: int) -> list[Edge]:
        """Return what edge `at` may become with another operation."""
        own = edges[at]
        return [Edge(name, own.source) for name in self.operations if name != own.operation]

    def _pairs(self, edges: Sequence[Edge], where: str) -> list[tuple[int, int]]:
        """Source and number of the operation of each edge, ascending."""
        for edge in edges:
            if edge.operation not in self._numbers:
                raise GenotypeError(
                    f"{where} uses {edge.operation!r}, which cannot be chosen; operations to choose "
                    f"from are {', '.join(self.operations)}"
                )
        return sorted((edge.source, self._numbers[edge.operation]) for edge in edges)


class AllSources(_Operations):
    """An edge from every earlier state, each with any operation."""

    @property
    def edge_count(self) -> int:
        """One for each earlier state."""
        return self.node

    @cached_property
    def meanings(self) -> tuple[Meaning, ...]:
        """An operation per edge."""
        return tuple(("operation", edge) for edge in range(self.node))

    @cached_property
    def values(self) -> tuple[Values, ...]:
        """The operations, once per edge."""
        return (self.operations,) * self.node

    def edges(self, choices: Sequence[int]) -> tuple[Edge, ...]:
        """Return the edges of these numbers."""
        return tuple(Edge(self.operations[choice], source) for source, choice in enumerate(choices))

    def choices(self, edges: Sequence[Edge], where: str = "the node") -> tuple[int, ...]:
        """Return the numbers of edges in any order."""
        pairs = self._pairs(edges, where)
        if [source for source, _ in pairs] != list(range(self.node)):
            raise GenotypeError(f"{where} must have one edge from every state before it")
        return tuple(operation for _, operation in pairs)

    def other_sources(self, edges: Sequence[Edge], at: int) -> list[Edge]:  # noqa: ARG002 - none is free
        """Return nothing: every state is read already."""
        return []


class PairOfSources(_Operations):
    """Two edges from different states: which pair, and the operation of either, by ascending source."""

    edge_count = 2
    meanings: tuple[Meaning, ...] = (("sources", None), ("operation", 0), ("operation", 1))

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs of states, in lexical order."""
        return tuple(combinations(range(self.node), 2))

    @cached_property
    def values(self) -> tuple[Values, ...]:
        """Pairs, operations, operations."""
        return (self.pairs, self.operations, self.operations)

    def edges(self, choices: Sequence[int]) -> tuple[Edge, ...]:
        """Return the edges of these numbers."""
        pair, *operations = choices
        chosen = zip(operations, self.pairs[pair], strict=True)
        return tuple(Edge(self.operations[operation], source) for operation, source in chosen)

    def choices(self, edges: Sequence[Edge], where: str = "the node") -> tuple[int, ...]:
        """Return the numbers of edges in any order."""
        pairs = self._pairs(edges, where)
        sources = tuple(source for source, _ in pairs)
        if sources not in self.pairs:
            raise GenotypeError(
                f"{where} reads the states {list(sources)}; it must read two different ones"
            )
        return (self.pairs.index(sources), *(operation for _, operation in pairs))

    def other_sources(self, edges: Sequence[Edge], at: int) -> list[Edge]:
        """Return what edge `at` may become with another source, which the other edge does not read."""
        taken = {edge.source for edge in edges}
        return [Edge(edges[at].operation, s) for s in range(self.node) if s not in taken]


class FreeSources(_Operations):
    """Two edges from any states: source, operation, source, operation."""

    edge_count = 2
    meanings: tuple[Meaning, ...] = (
        *(("source", 0), ("operation", 0)),
        *(("source", 1), ("operation", 1)),
    )

    @cached_property
    def values(self) -> tuple[Values, ...]:
        """States and operations, by turns."""
        return (tuple(range(self.node)), self.operations) * 2

    def edges(self, choices: Sequence[int]) -> tuple[Edge, ...]:
        """Return the edges of these numbers."""
        first, one, second, other = choices
        return (Edge(self.operations[one], first), Edge(self.operations[other], second))

    def choices(self, edges: Sequence[Edge], where: str = "the node") -> tuple[int, ...]:
        """Return the smaller of the two ways to write the edges."""
        return tuple(number for pair in self._pairs(edges, where) for number in pair)

    def other_sources(self, edges: Sequence[Edge], at: int) -> list[Edge]:
        """Return what edge `at` may become with another source."""
        own = edges[at]
        return [Edge(own.operation, source) for source in range(self.node) if source != own.source]
