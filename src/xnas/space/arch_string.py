"""Cells as the strings that NAS-Bench-201 writes for them.

    |nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|none~2|

Nodes are parted by `+`, the edges of a node by bars, and an edge is an operation with the state it comes
from. State 0 is the input of the cell; nodes count from 1, each fed by all states before it.
"""

from __future__ import annotations

import re
from reprlib import repr as brief

from xnas.errors import GenotypeError
from xnas.space.cell_genotype import CellGenotype, Edge

LONGEST = 10_000  # characters; the benchmark's own strings have some 100


def write_arch(cell: CellGenotype) -> str:
    """The string of a cell whose nodes are fed by all states before them."""
    nodes = ("|".join(f"{edge.operation}~{edge.source}" for edge in edges) for edges in cell.nodes)
    return "+".join(f"|{edges}|" for edges in nodes)


def read_arch(arch: object) -> CellGenotype:
    """The cell of a string; what cannot be read is a GenotypeError that names the place."""
    if not isinstance(arch, str) or not 0 < len(arch) <= LONGEST:
        raise GenotypeError(f"the architecture is {brief(arch)}; {_expected()}")
    nodes = tuple(_read_node(part, number) for number, part in enumerate(arch.split("+"), start=1))
    return CellGenotype(nodes, (len(nodes),))


def _read_node(text: str, number: int) -> tuple[Edge, ...]:
    if len(text) < 3 or not (text.startswith("|") and text.endswith("|")):
        raise GenotypeError(f"node {number} of the architecture is {brief(text)}; {_expected()}")
    return tuple(_read_edge(edge, number) for edge in text[1:-1].split("|"))


def _read_edge(text: str, number: int) -> Edge:
    found = re.fullmatch(r"(\w+)~(0|[1-9][0-9]{0,2})", text, flags=re.ASCII)
    if found is None:
        raise GenotypeError(
            f"node {number} of the architecture has the edge {brief(text)}; {_expected()}"
        )
    return Edge(found[1], int(found[2]))


def _expected() -> str:
    return "it must read like |nor_conv_3x3~0|+|skip_connect~0|nor_conv_1x1~1|+|none~0|none~1|none~2|"
