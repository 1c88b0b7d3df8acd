"""The charts of a page as figures for papers: the same numbers and colours, the style of all figures."""

from __future__ import annotations

import math
from itertools import cycle
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from xnas.report.figures import house_style, label_panel, new_figure, save_figure
from xnas.report.page.charts import Chart, Panel, Series

COLUMNS = 4
PANEL_WIDTH, PANEL_HEIGHT = 2.1, 1.35
"""Of one among several, in inches."""
WIDTH, HEIGHT = 4.6, 3.0
BAR_ROOM = 0.8
"""Share of a place that its bars fill."""


@house_style()
def draw_chart(chart: Chart) -> Figure:
    """One chart, its panels in rows."""
    count = len(chart.panels)
    columns = min(COLUMNS, count)
    rows = math.ceil(count / columns)
    wide, high = (WIDTH, HEIGHT) if count == 1 else (PANEL_WIDTH * columns, 0.5 + PANEL_HEIGHT * rows)
    figure = new_figure(wide, high)
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flatten()
    for at, frame in enumerate(axes):
        if at >= count:
            frame.set_axis_off()
            continue
        _draw_panel(frame, chart, chart.panels[at])
        title = chart.panels[at].title or chart.title
        left, low = at % columns == 0, at + columns >= count
        frame.tick_params(labelbottom=low)
        label_panel(frame, title, x=chart.x if low else "", y=chart.y if left else "")
        if count > 1:
            frame.set_title(title, fontsize=8)
    handles, names = axes[0].get_legend_handles_labels()
    if len(names) > 1:
        figure.legend(handles, names, loc="outside upper center", ncols=min(4, len(names)))
    return figure


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
    colours, dashes = chart.colours, cycle(((0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2))))
    bars = [one for one in panel.series if one.shape == "bars"]
    for at, one in enumerate(panel.series):
        places, values = list(one.places or chart.places), _numbers(one)
        colour = colours[one.name]
        if one.shape == "bars":
            _draw_bars(axes, chart, one, at=bars.index(one), count=len(bars))
        elif one.shape == "dots":
            axes.plot(places, values, ".", color=colour, markersize=3.5, label=one.name)
        else:
            style = "solid" if at == 0 or len(chart.names) > COLUMNS else next(dashes)
            steps = "steps-post" if one.shape == "steps" else "default"
            marker = "o" if sum(value == value for value in values) == 1 else None  # noqa: PLR0124
            axes.plot(
                places,
                values,
                color=colour,
                linestyle=style,
                drawstyle=steps,
                marker=marker,
                markersize=3.5,
                linewidth=1.5 if len(chart.panels) == 1 else 1.1,
                label=one.name,
            )
    if chart.least is not None or chart.zero:
        axes.set_ylim(bottom=chart.least or 0)


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
