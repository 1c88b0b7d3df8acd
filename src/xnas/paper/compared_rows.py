"""Rows of the paper's Tables 1 to 3, each with the network that it belongs to, counted here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from xnas.paper.network_sizes import agreement, counted_network, nearest_channels
from xnas.records import Agreement
from xnas.space import list_cells, zoo_cell
from xnas.space.zoo import CountedNetwork, PaperRow, other_systems


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """A row as the paper prints it and, where it is a cell, its network as we count it."""

    paper: PaperRow
    cell: str | None = None
    """A published cell that the row could mean."""
    counted: CountedNetwork | None = None
    """The network that the printed parameters belong to."""
    nearest: tuple[int, int] | None = None
    """Even channels with which such a network comes nearest to the printed parameters, and its own."""

    @property
    def agrees(self) -> Agreement | None:
        """Whether our parameters give the printed digits, rounded or truncated; `yes` is both."""
        if self.counted is None or self.paper.parameters is None:
            return None
        return agreement(self.counted.parameters, self.paper.parameters)

    @property
    def depth(self) -> float | None:
        """Depth of the normal cell, for rows with a counted network."""
        return None if self.counted is None else zoo_cell(self.counted.cell).depth

    def numbers(self) -> dict[str, object]:
        """All of it as plain values by name, for JSON."""
        paper, counted, nearest = self.paper, self.counted, self.nearest
        return {
            "table": paper.table,
            "line": paper.line,
            "row": paper.row,
            "errors": paper.errors,
            "printed": paper.parameters,
            "search_cost": paper.search_cost,
            "cell": self.cell,
            "network": counted and counted.spec.network,
            "channels": counted and counted.spec.channels,
            "stem_channels": counted and counted.spec.stem_channels,
            "squeeze_excitation": counted and counted.spec.squeeze_excitation,
            "parameters": counted and counted.parameters,
            "macs": counted and counted.macs,
            "depth": self.depth,
            "agrees": self.agrees,
            "nearest_channels": nearest and nearest[0],
            "nearest_parameters": nearest and nearest[1],
            "note": paper.note,
        }


@cache
def compared_rows(table: int) -> tuple[ComparedRow, ...]:
    """Rows of one of Tables 1 to 3, in its order; one for each cell that a row could mean."""
    found: list[tuple[PaperRow, str | None]] = [(row, None) for row in other_systems()]
    found += [(row, cell) for cell in list_cells() for row in zoo_cell(cell).paper]
    rows = [_compared(row, cell) for row, cell in found if row.table == table]
    return tuple(sorted(rows, key=lambda row: (row.paper.line, row.cell or "")))


def _compared(row: PaperRow, cell: str | None) -> ComparedRow:
    if cell is None or row.network is None or row.parameters is None:
        return ComparedRow(paper=row, cell=cell)
    return ComparedRow(
        paper=row,
        cell=cell,
        counted=counted_network(cell, row.network),
        nearest=nearest_channels(cell, row.network, row.parameters),
    )
