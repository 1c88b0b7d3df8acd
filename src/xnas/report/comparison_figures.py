"""Accuracy against epochs: a panel per entry, a line per seed, all on one scale."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from xnas.records import ComparedRun, RunComparison
from xnas.report.comparison import accuracy_words
from xnas.report.figures import INK, METHOD_STYLES, QUIET, house_style, label_panel, new_figure

BLUE, ORANGE = METHOD_STYLES["xnas"].colour, METHOD_STYLES["gd"].colour
COLUMNS = 3
MARGIN = 0.06
"""Of the range of accuracies, above and below."""


@house_style()
def draw_comparison(found: RunComparison) -> Figure:
    """Every run as a line, its last accuracy as a dot; the mean of random cells as a dashed line."""
    places = [(s.entry, s.data, s.space) for s in found.summaries]
    columns = min(COLUMNS, len(places))
    rows = math.ceil(len(places) / columns)
    figure = new_figure(3.1 * columns + 0.4, 2.5 * rows + 0.3)
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
    several = len({place[1:] for place in places}) > 1
    for axes, place in zip(panels.flat, places, strict=False):
        runs = [run for run in found.runs if (run.entry, run.data, run.space) == place]
        _draw_runs(axes, [run for run in runs if run.accuracy is not None])
        mean = found.random_mean.get(f"{place[1]}, {place[2]}")
        if mean is not None:
            axes.axhline(mean, color=QUIET, linestyle="dashed", linewidth=1.2, label="random cells")
        label_panel(axes, ", ".join(place if several else place[:1]), x=_unit(runs), y="")
    for axes in panels.flat[len(places) :]:
        axes.remove()
    for row in panels:
        row[0].set_ylabel(f"{accuracy_words(found.measure)} (%)", color=INK)
    panels[0][0].set_ylim(*_limits(found))
    _name_lines(panels[0][0])
    return figure


def _draw_runs(axes: Axes, runs: Sequence[ComparedRun]) -> None:
    for run in runs:
        x = [point[0] for point in run.curve] or [1]
        y = [point[1] for point in run.curve]
        if y:
            axes.plot(x, y, color=BLUE, linewidth=1.1, alpha=0.75, label="a seed")
        axes.plot(x[-1:], [run.accuracy or 0.0], "o", color=ORANGE, markersize=3.8, label="its result")


def _unit(runs: Sequence[ComparedRun]) -> str:
    """What the curves are over: a sampling has points where a better cell came, a search every one."""
    steps = {run.curve[0][0] for run in runs if run.curve}
    dense = all(len(run.curve) == run.curve[-1][0] for run in runs if run.curve)
    return "epoch" if dense and steps else "evaluations" if steps else ""


def _limits(found: RunComparison) -> tuple[float, float]:
    """Accuracies from the lowest tenth on, so that one collapse does not press all others together."""
    values = sorted(point[1] for run in found.runs for point in run.curve)
    values += [run.accuracy for run in found.runs if run.accuracy is not None]
    values += found.random_mean.values()
    low, high = min(values), max(values)
    margin = max(0.2, MARGIN * (high - low))
    return low - margin, high + margin


def _name_lines(axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    kept = dict(zip(labels, handles, strict=True))
    axes.legend(kept.values(), kept.keys(), loc="lower right")
