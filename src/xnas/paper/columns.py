"""Tables by columns: a column has a title and says what it shows of a row, all in one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from xnas.records import Entry, Table

Row = TypeVar("Row")
Last = TypeVar("Last")


@dataclass(frozen=True, slots=True)
class Column(Generic[Row, Last]):
    """One column: its title, its entry in a row, and its entry in rows of another kind at the end."""

    title: str
    entry: Callable[[Row], Entry]
    last: Callable[[Last], Entry] = lambda _: None


def table_of(
    title: str,
    columns: Sequence[Column[Row, Last]],
    rows: Sequence[Row],
    last: Sequence[Last] = (),
    note: str = "",
) -> Table:
    """A table with a line per row, those of `last` at the end."""
    lines = [tuple(column.entry(row) for column in columns) for row in rows]
    lines += [tuple(column.last(row) for column in columns) for row in last]
    header = tuple(column.title for column in columns)
    return Table(title=title, header=header, rows=tuple(lines), note=note)
