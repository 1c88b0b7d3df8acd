"""An evaluation as figures: confusions between classes, and calibration."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure

from xnas.errors import ConfigError
from xnas.records import Evaluation
from xnas.report.colours import PALETTE
from xnas.report.evaluation import MOST_DRAWN
from xnas.report.figures import INK, QUIET, house_style, label_panel, new_figure
from xnas.words import printable

BLUE = PALETTE[0]
SHADES = LinearSegmentedColormap.from_list("share of a class", ["#ffffff", "#9dc3e0", BLUE])
MOST_NUMBERED = 20  # classes whose confusions are written into the figure
LONGEST_NAME = 22


@house_style()
def draw_confusion(evaluation: Evaluation) -> Figure:
    """Share of each class (a row) that gets each answer (a column); numbers where there is room.

    The shades grow with the root of the share, so that a few wrong answers are seen too.
    """
    count = len(evaluation.classes)
    if count > MOST_DRAWN:
        raise ConfigError(f"confusions of {count:,} classes cannot be drawn; at most {MOST_DRAWN} can")
    side = min(max(2.6 + 0.34 * count, 3.6), 14)
    figure = new_figure(side + 0.9, side)
    axes = figure.add_subplot()
    shares = [[n / max(sum(row), 1) for n in row] for row in evaluation.confusion]
    picture = axes.imshow(shares, cmap=SHADES, norm=PowerNorm(0.5, 0, 1), interpolation="nearest")
    axes.grid(visible=False)
    _name_classes(axes, evaluation.classes, 8.5 if count <= MOST_NUMBERED else 6)
    if count <= MOST_NUMBERED:
        _number(axes, evaluation.confusion, shares)
    error = f"{100 * (1 - evaluation.top1):.2f} % of {evaluation.images:,} images wrong"
    label_panel(axes, error, x="answer of the network", y="true class")
    bar = figure.colorbar(picture, ax=axes, shrink=0.7, aspect=28)
    bar.set_label("share of the true class")
    bar.outline.set_visible(False)
    return figure


@house_style()
def draw_reliability(evaluation: Evaluation) -> Figure:
    """Accuracy against confidence, in bins; a histogram of confidences below."""
    figure = new_figure(4.2, 5)
    above, below = figure.subplots(2, sharex=True, height_ratios=(3, 1))
    filled = [b for b in evaluation.calibration if b.images]
    middles = [(b.lower + b.upper) / 2 for b in filled]
    width = 0.94 / len(evaluation.calibration)
    above.plot([0, 1], [0, 1], color=QUIET, linewidth=1, linestyle=(0, (4, 3)), label="calibrated")
    above.bar(middles, [b.accuracy for b in filled], width, color="#9dc3e0", label="accuracy")
    above.plot(
        [b.confidence for b in filled],
        [b.accuracy for b in filled],
        color=BLUE,
        marker="o",
        markersize=4,
        linewidth=1.2,
        label="at mean confidence",
    )
    error = f"expected calibration error {100 * evaluation.calibration_error:.2f} %"
    label_panel(above, error, x="", y="accuracy")
    above.legend(loc="upper left", frameon=True, framealpha=0.85, edgecolor="none")
    above.set(xlim=(0, 1), ylim=(0, 1))
    below.bar(middles, [b.images / evaluation.images for b in filled], width, color=QUIET)
    label_panel(below, "", x="confidence of the answer", y="share of images")
    return figure


def _name_classes(axes: Axes, classes: Sequence[str], size: float) -> None:
    """Names at both sides, as text: a dollar sign is no formula, a control character would break SVG."""
    names, places = [_short(printable(name)) for name in classes], range(len(classes))
    axes.set_xticks(places, names, rotation=90, fontsize=size, parse_math=False)
    axes.set_yticks(places, names, fontsize=size, parse_math=False)
    axes.tick_params(length=0)


def _number(axes: Axes, confusion: Sequence[Sequence[int]], shares: Sequence[Sequence[float]]) -> None:
    for i, row in enumerate(confusion):
        for j, n in enumerate(row):
            if n:
                colour = "white" if shares[i][j] > 0.4 else INK
                axes.text(j, i, f"{n}", ha="center", va="center", color=colour, fontsize=7)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
