"""A wiring in the terminal: the graph of every stage as a triangle of edges, with degrees and counts.

A row is a node, and a dot in a column is an edge from the node of that number. The last mark of a row is
the node itself:

    node       in  out
       0 ▼      0    2
       1 ●╲     1    1
       2 ●●■    2    0

Wirings are taken as they are shaped, so that reports need not know what a wiring is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Protocol

from xnas.report.cells import TERMINAL_WIDTH
from xnas.words import counted

LEGEND = (
    "● an edge from the node of that column; ▼ reads the input of the stage; ■ joins its output; ◆ both"
)
GAP = 4


class WiringLike(Protocol):
    """Graphs, stage by stage."""

    @property
    def nodes(self) -> Sequence[int]:
        """Nodes of every stage."""

    @property
    def stages(self) -> Sequence[Sequence[tuple[int, int]]]:
        """Edges of every stage, from a smaller node number to a larger one."""


def wiring_lines(wiring: WiringLike) -> str:
    """All stages for the terminal, as many in a row as fit."""
    stages = zip(wiring.nodes, wiring.stages, strict=True)
    blocks = [_block(nodes, edges, number) for number, (nodes, edges) in enumerate(stages, start=1)]
    width = max(len(line) for block in blocks for line in block) + GAP
    fitting = max(1, (TERMINAL_WIDTH + GAP) // width)
    rows = [_side_by_side(blocks[at : at + fitting], width) for at in range(0, len(blocks), fitting)]
    return "\n\n".join([*rows, LEGEND])


def _side_by_side(blocks: Sequence[Sequence[str]], width: int) -> str:
    lines = zip_longest(*blocks, fillvalue="")
    return "\n".join("".join(part.ljust(width) for part in line).rstrip() for line in lines)


def layers(nodes: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Layer of every node: 0 if it reads the stage's input, else one more than its latest source."""
    found = [0] * nodes
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        found[target] = max(found[target], found[source] + 1)
    return found


def _block(nodes: int, edges: Sequence[tuple[int, int]], number: int) -> list[str]:
    """One stage: its counts, and a line for every node."""
    joined = {*edges}
    inward = [sum(target == node for _, target in edges) for node in range(nodes)]
    outward = [sum(source == node for source, _ in edges) for node in range(nodes)]
    depth = max(layers(nodes, edges)) + 1
    lines = [
        f"stage {number}: {counted(nodes, 'node')}, {counted(len(edges), 'edge')}",
        f"{inward.count(0)} in, {outward.count(0)} out, {counted(depth, 'node')} in a row at most",
        "node".ljust(5 + nodes) + "   in  out",
    ]
    for node in range(nodes):
        row = "".join("●" if (source, node) in joined else "·" for source in range(node))
        mark = {(True, True): "◆", (True, False): "▼", (False, True): "■"}.get(
            (not inward[node], not outward[node]), "╲"
        )
        lines.append(f"{node:4} {row + mark:{nodes}}{inward[node]:5}{outward[node]:5}")
    return lines
