"""Claims, tables and cells of the paper, compared with what was counted here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["holds", "holds in part", "does not hold"]
Agreement = Literal["yes", "yes, rounded", "yes, truncated", "no"]
Entry = str | bool | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence of the paper, compared with what was measured."""

    statement: str
    where: str
    measured: str
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table as data; None is an empty entry."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthRow:
    """Depth of one published normal cell, under several numberings of its states."""

    row: str | None
    """Of Table 4 that the cell could be meant by."""
    printed: float | None
    cell: str
    nodes: int
    depth: float
    swapped: float
    """With the two inputs numbered the other way round."""
    least: float
    """Over all numberings of nodes and inputs under which edges lead upwards."""
    most: float
    reached: str | None
    """Numbering with the printed depth: `as numbered`, `inputs swapped`, `renumbered`, `none`."""
    random_mean: float
    """Expected depth of a random cell with as many nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomDepths:
    """Depths of random cells, drawn and by enumeration, compared with one cell."""

    cells: int
    compared: float
    """Depth of the cell that they are compared to."""
    mean: float
    deviation: float
    share_deeper: float
    exact_mean: float
    exact_deviation: float
    exact_share_deeper: float
