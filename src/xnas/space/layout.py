"""The places of reduction cells in a network, and which of their edges halve the image (Sec. 4.2, 9.2).

Both the parent network of a search and the final one follow this.
"""

from __future__ import annotations

from xnas.space.cell_genotype import INPUTS, CellKind


def cell_kinds(cells: int) -> tuple[CellKind, ...]:
    """Kinds in order: reduction at one third and two thirds, the others normal."""
    reductions = {cells // 3, 2 * cells // 3}
    return tuple(CellKind.REDUCTION if i in reductions else CellKind.NORMAL for i in range(cells))


def edge_stride(kind: CellKind, source: int) -> int:
    """2 on the edges of a reduction cell that leave its inputs (Sec. 9.2), otherwise 1."""
    return 2 if kind is CellKind.REDUCTION and source < INPUTS else 1
