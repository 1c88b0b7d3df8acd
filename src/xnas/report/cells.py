"""A cell in the terminal.

Every state of the cell is a rail that runs down from where it is made, and a dot is where an edge leaves
it. Rails that cross without a dot do not touch:

     0  the cell before the previous
     │  1  the previous cell
     ●──┼──▸ skip_connect(0) ─╮
     │  ●──▸ sep_conv_3x3(1) ─┤
     │  │  2 ◂────────────────╯

Cells are taken as they are shaped, so that reports need not know what a genotype is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Protocol

INPUTS = ("the cell before the previous", "the previous cell")
ONE_INPUT = ("the previous cell",)
"""Of cells in a network with one kind of them, NAS-Bench-201's."""
RAIL_PITCH = 3
TERMINAL_WIDTH = 100


class EdgeLike(Protocol):
    """An edge of a cell."""

    @property
    def operation(self) -> str:
        """Name of what the edge computes."""

    @property
    def source(self) -> int:
        """The state it comes from: 0 and 1 are the inputs, nodes count from 2."""


class CellLike(Protocol):
    """A cell, as data."""

    @property
    def nodes(self) -> Sequence[Sequence[EdgeLike]]:
        """The incoming edges of every node."""

    @property
    def concat(self) -> Sequence[int]:
        """The states that the output joins."""


class GenotypeLike(Protocol):
    """The cells of one network."""

    @property
    def normal(self) -> CellLike:
        """The cell that keeps the size of an image."""

    @property
    def reduction(self) -> CellLike | None:
        """The cell that halves it, if there is one."""


def genotype_lines(genotype: GenotypeLike) -> str:
    """Both cells for the terminal, side by side where they fit."""
    if genotype.reduction is None:
        return cell_lines(genotype.normal, "cell", ONE_INPUT)
    left = cell_lines(genotype.normal, "normal cell").split("\n")
    right = cell_lines(genotype.reduction, "reduction cell").split("\n")
    width = max(map(len, left)) + 4
    if width + max(map(len, right)) > TERMINAL_WIDTH:
        return "\n".join([*left, "", *right])
    rows = zip_longest(left, right, fillvalue="")
    return "\n".join((one.ljust(width) + other).rstrip() for one, other in rows)


def cell_lines(cell: CellLike, title: str, inputs: Sequence[str] = INPUTS) -> str:
    """One cell for the terminal, as rails and the edges between them."""
    states, nodes = len(inputs) + len(cell.nodes), numbered_nodes(cell, len(inputs))
    last_use = {edge.source: node for node, edges in nodes for edge in edges}
    last_use |= dict.fromkeys(cell.concat, states)
    labels = [f"{edge.operation}({edge.source})" for _, edges in nodes for edge in edges]
    wide = max(map(len, labels), default=0)

    def rails(before: int, living: set[int]) -> list[str]:
        line = [" "] * (1 + RAIL_PITCH * before)
        for state in living:
            line[1 + RAIL_PITCH * state] = "│"
        return line

    lines = [title]
    for state, name in enumerate(inputs):
        unused = "" if state in last_use else ", not used"
        above = set(range(state)) & set(last_use)
        lines.append("".join(rails(state, above)) + f"{state}  {name}{unused}")
    for node, edges in nodes:
        later = {state for state in range(node) if last_use.get(state, 0) > node}
        ordered = sorted(edges, key=lambda edge: edge.source)
        for index, edge in enumerate(ordered):
            line = rails(node, later | {e.source for e in ordered[index:]})
            start = 1 + RAIL_PITCH * edge.source
            line[start:] = ["┼" if mark == "│" else "─" for mark in line[start:]]
            line[start] = "●"
            label = f"{edge.operation}({edge.source}) ".ljust(wide + 1, "─")
            lines.append("".join(line) + f"▸ {label}─" + ("┤" if index else "╮"))
        lines.append("".join(rails(node, later)) + f"{node} ◂" + "─" * (wide + 1) + "╯")
    joined = rails(states, set(cell.concat))
    start = 1 + RAIL_PITCH * min(cell.concat)
    joined[start:] = ["┴" if mark == "│" else "─" for mark in joined[start:]]
    joined[start] = "╰"
    return "\n".join([*lines, "".join(joined) + "▸ output"])


def numbered_nodes(cell: CellLike, inputs: int) -> list[tuple[int, Sequence[EdgeLike]]]:
    """Nodes with their numbers, which follow those of the inputs."""
    return list(enumerate(cell.nodes, start=inputs))
