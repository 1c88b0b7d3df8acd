"""What a search by sampling has evaluated, as a figure: progress, and accuracy against size."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from xnas.records import Sampled
from xnas.report.colours import PALETTE
from xnas.report.figures import QUIET, house_style, label_panel, new_figure
from xnas.report.sampling import highest_rung, pareto_front

BLUE, ORANGE = PALETTE[0], PALETTE[1]
MOST_DOTS = 5000
"""Evaluations that are drawn one by one; of more, every second, third, ..."""


@house_style()
def draw_evaluations(records: Sequence[Sampled], title: str) -> Figure:
    """Best so far against evaluations; accuracy against parameters with its front."""
    figure = new_figure(8.4, 3.4)
    progress, sizes = figure.subplots(1, 2)
    counted = [(place, r) for place, r in enumerate(records, start=1) if r.value is not None]
    dots = counted[:: 1 + len(counted) // MOST_DOTS]
    values = [100 * (record.value or 0.0) for _, record in dots]
    progress.plot(
        [place for place, _ in dots], values, ".", color=QUIET, markersize=3, label="evaluated"
    )
    progress.plot(
        [place for place, _ in counted],
        [100 * (record.best or 0.0) for _, record in counted],
        color=BLUE,
        linewidth=1.8,
        drawstyle="steps-post",
        label="best so far",
    )
    progress.legend(loc="lower right")
    lowest = _least_shown(values)
    for axes in (progress, sizes):
        axes.set_ylim(bottom=lowest)
    label_panel(progress, title, x="evaluations", y="validation accuracy (%)")
    front = pareto_front(records)
    compared = highest_rung(records)
    compared = compared[:: 1 + len(compared) // MOST_DOTS]
    sizes.plot(
        [record.parameters / 1e6 for record in compared],
        [100 * (record.value or 0.0) for record in compared],
        ".",
        color=QUIET,
        markersize=3,
    )
    sizes.plot(
        [record.parameters / 1e6 for record in front],
        [100 * (record.value or 0.0) for record in front],
        color=ORANGE,
        marker="s",
        markersize=3.5,
        linewidth=1.4,
        label="no cell is smaller and as accurate",
    )
    sizes.legend(loc="lower right")
    label_panel(sizes, "accuracy and size", x="parameters (M)", y="validation accuracy (%)")
    return figure


def _least_shown(values: Sequence[float]) -> float:
    """Leave out cells that learned nothing, which would press the others into one line."""
    ordered = sorted(values)
    tenth, best = ordered[len(ordered) // 10], ordered[-1]
    return min(tenth, best - 1) - (best - tenth) / 10
