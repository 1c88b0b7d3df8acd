"""Cells as graphs that a slider moves through the epochs of a search, as plain data with their layout.

States stand in a row, as in the paper's Figure 9: an edge to the next state is straight, others are arcs
above the row, the higher the more states they pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

PITCH, RADIUS, LANE = 104.0, 19.0, 46.0
"""From state to state, of a state, from arc to arc; in the units of the drawing."""
MARGIN, TOP, BELOW = 8.0, 20.0, 60.0
UNDER = 19.0
"""From a straight edge down to the middle of its label."""
ONLY = ""
"""The kind of a cell that is the only one."""
LONGEST_LABEL = 12
OUTPUT = 58.0
"""Width of the box at the end."""
WIDEST, FINEST = 9.0, 1.0
"""Lines of an edge with a weight of 1 and of 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEdge:
    """An edge of the search: from a state to a node."""

    source: int
    node: int
    reason: str = ""
    """Why it was kept or left out, and what decided it; empty while nothing was decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A cell after one epoch."""

    epoch: int
    weights: tuple[tuple[float, ...], ...]
    """Of every edge's experts; 0 for those that are gone."""
    kept: tuple[int, ...]
    """Edges of the cell that the search would give then."""
    chosen: tuple[int, ...]
    """The expert of every edge that leads, or that the cell has; -1 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiped:
    """An expert's end."""

    edge: int
    expert: int
    epoch: int
    round_index: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellGraph:
    """One kind of cell: its edges, and how their mixtures moved."""

    kind: str
    inputs: int
    nodes: int
    operations: tuple[str, ...]
    edges: tuple[GraphEdge, ...]
    concat: tuple[int, ...]
    frames: tuple[Frame, ...]
    wiped: tuple[Wiped, ...] = ()

    @property
    def title(self) -> str:
        """What it is called where it stands: the only kind of cell needs no name."""
        return "cell" if self.kind == ONLY else f"{self.kind} cell"

    @property
    def moves(self) -> bool:
        """Whether there are mixtures to show."""
        return any(map(any, self.frames[-1].weights)) if self.frames else False

    @property
    def states(self) -> int:
        """Inputs and nodes."""
        return self.inputs + self.nodes

    @property
    def width(self) -> float:
        """Of the drawing."""
        return self.x(self.states) + OUTPUT / 2 + MARGIN

    @property
    def height(self) -> float:
        """Of the drawing, from the highest arc to the bow to the output."""
        return self.row + BELOW

    @property
    def row(self) -> float:
        """Where the states stand."""
        spans = (edge.node - edge.source for edge in self.edges)
        return TOP + LANE * max((span - 1 for span in spans), default=0) + RADIUS

    def x(self, state: int) -> float:
        """Where a state stands; the output comes after the last."""
        return MARGIN + PITCH * state + RADIUS

    def name(self, state: int) -> str:
        """What a state is called."""
        if state >= self.inputs:
            return str(state)
        return f"in {state + 1}" if self.inputs > 1 else "in"

    def path(self, edge: GraphEdge) -> str:
        """The line of an edge, as SVG."""
        start, end, y = self.x(edge.source), self.x(edge.node), self.row
        span = edge.node - edge.source
        if span == 1:
            return f"M{start + RADIUS:g} {y:g}L{end - RADIUS - 7:g} {y:g}"
        top = y - RADIUS - (LANE * (span - 1)) / 0.75
        lean = 0.22 * (end - start)
        return (
            f"M{start + 7:g} {y - RADIUS + 2:g}C{start + lean:g} {top:g} {end - lean:g} {top:g} "
            f"{end - 7:g} {y - RADIUS - 5:g}"
        )

    def label_place(self, edge: GraphEdge) -> tuple[float, float]:
        """The middle of an arc; below an edge to the next state, which a label would cover."""
        middle, span = (self.x(edge.source) + self.x(edge.node)) / 2, edge.node - edge.source
        return middle, self.row + UNDER if span == 1 else self.row - RADIUS - LANE * (span - 1)

    def output_path(self, state: int) -> str:
        """The line from a state to the output, below the row."""
        start, end, y = self.x(state), self.x(self.states), self.row
        low = y + RADIUS + 29
        return (
            f"M{start:g} {y + RADIUS:g}C{start:g} {low:g} {start:g} {low:g} {start + 18:g} {low:g}"
            f"L{end - 18:g} {low:g}C{end:g} {low:g} {end:g} {low:g} {end:g} {y + 14:g}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CellGraphs:
    """The kinds of cell of one search, moved by one slider."""

    KIND: ClassVar[str] = "graphs"

    title: str
    caption: str
    graphs: tuple[CellGraph, ...]
    colours: dict[str, str]
    """Of operations, by name."""

    @property
    def explains(self) -> bool:
        """Whether there is more to read about an edge than its operation."""
        return any(graph.moves or any(e.reason for e in graph.edges) for graph in self.graphs)

    @property
    def epochs(self) -> tuple[int, ...]:
        """Of the frames, which are those of all graphs."""
        return tuple(frame.epoch for frame in self.graphs[0].frames) if self.graphs else ()


def brief_name(operation: str) -> str:
    """A name that fits on an edge: `sep 5x5` for `sep_conv_5x5`, `skip` for `skip_connect`."""
    words = [word for word in operation.split("_") if word not in {"conv", "pool", "connect"}]
    name = " ".join(words) or operation
    return name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1]}…"


def line_width(weight: float) -> float:
    """Of an edge whose operation has this weight."""
    return FINEST + (WIDEST - FINEST) * max(0.0, min(1.0, weight))


def leaders(weights: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """The expert with the largest weight of every edge, the first of equals; -1 without weights."""
    return tuple(max(range(len(row)), key=row.__getitem__) if any(row) else -1 for row in weights)
