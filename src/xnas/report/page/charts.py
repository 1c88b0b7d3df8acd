"""Charts as plain data, which a page and a paper's figure are both drawn from.

A chart has panels that share their axes, a panel has series over the same places. Series differ in
colour, which people with colour-blindness tell apart, and in dashes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import ClassVar, Literal

from xnas.report.colours import PALETTE

DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3))
"""On and off, in points: of series in their order."""
Place = float | str
Shape = Literal["line", "dots", "bars", "steps", "ticks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Values over the places of a panel; None where there is none."""

    name: str
    values: tuple[float | None, ...]
    colour: str = ""
    shape: Shape = "line"
    places: tuple[Place, ...] = ()
    """Of its own; by default those of the chart."""
    labels: tuple[str, ...] = ()
    """What each value is of, shown when it is pointed at."""
    marked: bool = False
    """Whether each point of a line is marked; lines with few points always are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Series in one frame."""

    title: str
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Panels with the same axes, and a sentence that says what to see."""

    KIND: ClassVar[str] = "chart"

    name: str
    """Of its file, and of its place in a page."""
    title: str
    caption: str
    x: str
    y: str
    places: tuple[Place, ...]
    panels: tuple[Panel, ...]
    zero: bool = False
    """Whether the y-axis begins at zero."""
    least: float | None = None
    """Where the y-axis begins; what lies below is cut off."""
    half: bool = True
    """Whether two such charts stand side by side where there is room."""
    legend: bool = True
    """Whether the names of several series are shown; else only when one is pointed at."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of all series, each once."""
        return tuple(dict.fromkeys(one.name for panel in self.panels for one in panel.series))

    @property
    def all_places(self) -> tuple[Place, ...]:
        """Of all series, each once, in their order."""
        own = (one.places or self.places for panel in self.panels for one in panel.series)
        return tuple(dict.fromkeys(place for places in own for place in places))

    @property
    def colours(self) -> dict[str, str]:
        """Of all series, by name."""
        given = {one.name: one.colour for panel in self.panels for one in panel.series if one.colour}
        free = [colour for colour in PALETTE if colour not in given.values()] or list(PALETTE)
        others = [name for name in self.names if name not in given]
        return given | {name: free[at % len(free)] for at, name in enumerate(others)}

    @property
    def dashes(self) -> dict[str, tuple[int, ...]]:
        """Of all series, by name; all are solid where there are more than there are dashes."""
        if len(self.names) > len(DASHES):
            return dict.fromkeys(self.names, DASHES[0])
        return dict(zip(self.names, DASHES, strict=False))


def whole_ticks(places: Sequence[int], most: int) -> list[int]:
    """At most so many whole numbers in the range of the places, such as epochs, a round step apart."""
    least, last = min(places), max(places)
    for step in (digit * 10**power for power in count() for digit in (1, 2, 5)):
        ticks = range(-(-least // step) * step, last + 1, step)
        if len(ticks) <= most:
            return list(ticks) or [last]
    raise AssertionError  # steps grow without end


def line_chart(
    name: str,
    title: str,
    caption: str,
    *,
    places: Sequence[Place],
    series: Mapping[str, Sequence[float | None]],
    x: str = "epoch",
    y: str = "",
    zero: bool = False,
) -> Chart:
    """A chart of one panel with lines, by their names."""
    drawn = tuple(Series(name=key, values=tuple(values)) for key, values in series.items())
    return Chart(
        name=name,
        title=title,
        caption=caption,
        x=x,
        y=y,
        places=tuple(places),
        panels=(Panel(title="", series=drawn),),
        zero=zero,
    )
