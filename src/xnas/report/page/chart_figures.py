"""The charts of a page as figures for papers: the same numbers and colours, the style of all figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from xnas.report.figures import house_style, label_panel, new_figure, save_figure
from xnas.report.page.charts import Chart, Panel, Series

COLUMNS = 4
PANEL_WIDTH, PANEL_HEIGHT = 2.1, 1.35
"""Of one among several, in inches."""
FEW, FEW_WIDTH, FEW_HEIGHT = 3, 2.9, 2.1
"""Panels up to which each is larger, and their size."""
WIDTH, HEIGHT = 4.6, 3.0
LETTER, SAMPLE = 0.075, 0.62
"""Of a legend: a letter, and the line with its gaps."""
BAR_ROOM = 0.8
"""Share of a place that its bars fill."""
ROOM = 1.06
"""Of an axis from zero: how far it goes beyond the largest value."""
TICKS, PANEL_TICKS = 7, 4
MANY_DOTS = 100
"""Dots beyond which they are small."""
FLAT = 34
"""Letters of all names below one panel up to which they are not turned."""
TICK = 16
MEW = {".": 1.0, "_": 2.0}
"""Widths of the edges of markers."""
Dashes = str | tuple[float, tuple[float, ...]]
DASHES: tuple[Dashes, ...] = ("solid", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)))
"""Of lines in their order; all are solid where there are many."""


@house_style()
def draw_chart(chart: Chart) -> Figure:
    """One chart, its panels in rows."""
    count = len(chart.panels)
    columns = min(COLUMNS, count)
    rows = math.ceil(count / columns)
    wide, high = _size(count, columns, rows)
    figure = new_figure(wide, high)
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flatten()
    for at, frame in enumerate(axes):
        if at >= count:
            frame.set_axis_off()
            continue
        _draw_panel(frame, chart, chart.panels[at])
        title = chart.title if count == 1 else chart.panels[at].title
        left, low = at % columns == 0, at + columns >= count
        frame.tick_params(labelbottom=low)
        label_panel(frame, title, x=chart.x if low else "", y=chart.y if left else "")
        if count > 1:
            frame.set_title(title, fontsize=8)
    named = {
        name: handle
        for frame in axes[:count]
        for handle, name in zip(*frame.get_legend_handles_labels(), strict=True)
    }
    if len(named) > 1 and chart.legend:
        columns = _legend_columns(list(named), wide)
        figure.legend(named.values(), named.keys(), loc="outside upper center", ncols=columns)
    return figure


def _legend_columns(names: Sequence[str], wide: float) -> int:
    """The most columns of a legend that a figure has room for, filled as matplotlib fills them."""
    for columns in range(len(names), 1, -1):
        rows, longer = divmod(len(names), columns)
        ends = [rows * (at + 1) + min(longer, at + 1) for at in range(columns)]
        filled = [names[first:last] for first, last in pairwise([0, *ends])]
        if sum(SAMPLE + LETTER * max(map(len, column)) for column in filled) <= wide:
            return columns
    return 1


def _size(count: int, columns: int, rows: int) -> tuple[float, float]:
    """Width and height of a figure, in inches."""
    if count == 1:
        return WIDTH, HEIGHT
    if count <= FEW:
        return FEW_WIDTH * columns, 0.5 + FEW_HEIGHT * rows
    return PANEL_WIDTH * columns, 0.5 + PANEL_HEIGHT * rows


def save_chart(chart: Chart, folder: Path) -> tuple[Path, ...]:
    """Write a chart as SVG, PNG and PDF."""
    figure = draw_chart(chart)
    svg, png = save_figure(figure, folder, chart.name)
    return svg, png, save_pdf(figure, folder / f"{chart.name}.pdf")


@house_style()
def save_pdf(figure: Figure, path: Path) -> Path:
    """Write a figure as PDF without a date, so that the same record gives the same bytes."""
    figure.savefig(path, metadata={"CreationDate": None, "Creator": None, "Producer": None})
    return path


def _draw_panel(axes: Axes, chart: Chart, panel: Panel) -> None:
    bars = [one for one in panel.series if one.shape == "bars"]
    lines = [one for one in panel.series if one.shape in {"line", "steps"}]
    many = len(chart.names) > COLUMNS
    for one in panel.series:
        if one.shape == "bars":
            _draw_bars(axes, chart, one, at=bars.index(one), count=len(bars))
        elif one.shape == "dots":
            _draw_dots(axes, chart, one)
        elif one.shape == "ticks":
            _draw_dots(axes, chart, one, marker="_")
        else:
            dashes = "solid" if many else DASHES[lines.index(one) % len(DASHES)]
            _draw_line(axes, chart, one, dashes)
    places = chart.all_places
    if any(isinstance(place, str) for place in places):
        if not bars:
            _name_places(axes, [str(place) for place in places], len(chart.panels))
    else:
        whole = all(isinstance(place, int) for place in places)
        ticks = TICKS if len(chart.panels) == 1 else PANEL_TICKS
        axes.xaxis.set_major_locator(MaxNLocator(ticks, integer=whole, min_n_ticks=1))
    if chart.zero:
        largest = max((v for p in chart.panels for s in p.series for v in s.values if v), default=1.0)
        axes.set_ylim(0, ROOM * largest if largest > 0 else None)
    elif chart.least is not None:
        axes.set_ylim(bottom=chart.least)


def _name_places(axes: Axes, names: Sequence[str], panels: int) -> None:
    """Names below an axis, turned where they would touch."""
    turned = sum(map(len, names)) > (FLAT if panels == 1 else FLAT // 2)
    look = {"rotation": 25, "ha": "right"} if turned else {}
    axes.set_xticks(range(len(names)), list(names), **look)  # type: ignore[arg-type]
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.grid(visible=False, axis="x")


def _draw_line(axes: Axes, chart: Chart, one: Series, dashes: Dashes) -> None:
    values = _numbers(one)
    single = sum(value == value for value in values) == 1  # noqa: PLR0124 - is no nan
    axes.plot(
        list(one.places or chart.places),
        values,
        color=chart.colours[one.name],
        linestyle=dashes,
        drawstyle="steps-post" if one.shape == "steps" else "default",
        marker="o" if single or one.marked else None,
        markersize=3.5,
        linewidth=1.5 if len(chart.panels) == 1 else 1.1,
        label=one.name,
    )


def _draw_dots(axes: Axes, chart: Chart, one: Series, marker: str = ".") -> None:
    """Dots, or dashes that stand for means."""
    places = list(one.places or chart.places)
    size = TICK if marker == "_" else 7 if len(places) <= MANY_DOTS else 3.5
    colour = chart.colours[one.name]
    axes.plot(places, _numbers(one), marker, color=colour, ms=size, mew=MEW[marker], label=one.name)


def _draw_bars(axes: Axes, chart: Chart, one: Series, *, at: int, count: int) -> None:
    """Bars of one series of `count`, in their slot of every place."""
    places = one.places or chart.places
    width = BAR_ROOM / count
    middles = [k + (at - (count - 1) / 2) * width for k in range(len(places))]
    axes.bar(middles, _numbers(one), width, color=chart.colours[one.name], label=one.name)
    axes.set_xticks(range(len(places)), [str(place) for place in places], rotation=50, ha="right")
    axes.grid(visible=False, axis="x")


def _numbers(one: Series) -> list[float]:
    return [math.nan if value is None else value for value in one.values]
