"""A cell as data: the operations on its edges, and the states that its output joins."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

INPUTS = 2
"""States of a DARTS cell that are not its own nodes."""
NONE = "none"
"""The operation that is no connection: it may take part in a search and is never chosen."""


class CellKind(StrEnum):
    """Normal cells keep the size of an image, reduction cells halve it."""

    NORMAL = "normal"
    REDUCTION = "reduction"


@dataclass(frozen=True, slots=True)
class Edge:
    """One operation, applied to the state `source`."""

    operation: str
    source: int


@dataclass(frozen=True, slots=True)
class CellGenotype:
    """One cell: the incoming edges of every node, and the states that its output joins."""

    nodes: tuple[tuple[Edge, ...], ...]
    concat: tuple[int, ...]

    def __post_init__(self) -> None:
        """Make tuples of lists, so that a cell can be a key."""
        object.__setattr__(self, "nodes", tuple(tuple(edges) for edges in self.nodes))
        object.__setattr__(self, "concat", tuple(self.concat))
