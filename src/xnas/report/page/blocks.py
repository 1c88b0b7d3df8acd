"""What a page is made of, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from xnas.report.page.charts import Chart
from xnas.report.page.graphs import CellGraphs

Tone = Literal["plain", "good", "warning"]


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    KIND: ClassVar[str] = "text"

    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A paragraph in a box: a warning, or news."""

    KIND: ClassVar[str] = "notice"

    text: str
    tone: Tone = "warning"


@dataclass(frozen=True, slots=True)
class Fact:
    """One number with its name, and a few words about it."""

    name: str
    value: str
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Facts:
    """Large numbers side by side."""

    KIND: ClassVar[str] = "facts"

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A cell of a table that leads to another file."""

    text: str
    address: str
    """Relative to the page, as an address: `runs/a%20b/report.html`."""


Cell: TypeAlias = str | Link


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTable:
    """A table; long ones are folded."""

    KIND: ClassVar[str] = "table"

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left: tuple[int, ...] = (0,)
    """Columns of text, which stand to the left; numbers stand to the right."""
    folded: bool = False
    strong: tuple[int, ...] = ()
    """Rows that stand out."""
    warned: tuple[int, ...] = ()
    """Rows that tell of a failure."""


@dataclass(frozen=True, slots=True)
class Command:
    """A line for the terminal, with a button that copies it."""

    KIND: ClassVar[str] = "command"

    label: str
    command: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in a file format that browsers know."""

    data: bytes
    """The file itself."""
    caption: str
    alt: str
    media: str = "image/png"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Small pictures side by side."""

    KIND: ClassVar[str] = "pictures"

    caption: str
    pictures: tuple[Picture, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """Counts by two classes, such as a confusion matrix: a table with the larger counts darker."""

    KIND: ClassVar[str] = "heatmap"

    title: str
    caption: str
    names: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    rows: str
    """What a row is."""
    columns: str

    @property
    def shares(self) -> tuple[tuple[float, ...], ...]:
        """Of every row's sum, in 0..1."""
        return tuple(tuple(n / max(1, sum(row)) for n in row) for row in self.counts)


Block: TypeAlias = Text | Notice | Facts | DataTable | HeatMap | Command | Pictures | Chart | CellGraphs


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page with a heading; sections without blocks are left out."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A whole page. `summary` is its first screen."""

    kind: str
    """What is reported, in a word: `Search`, `Training`, `Comparison`."""
    title: str
    state: str = "finished"
    """Of the run: `finished`, `running`, `stopped`, `damaged`."""
    subtitle: str = ""
    summary: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()
    foot: str = ""
    refresh: int | None = None
    """Seconds after which an open page loads itself again; None for never."""
