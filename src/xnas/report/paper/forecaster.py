"""One cell and one of its forecasters: our own version of the paper's Figure 1.

On the left a cell is a graph whose every edge is a forecaster. On the right one edge is opened: the
forward pass (grey) mixes the experts' advice, and the backward pass (orange) turns the loss gradient
into rewards, weights and wipeouts. Lengths are inches; the whole figure is one set of axes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import combinations, pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Polygon

from xnas.errors import ConfigError
from xnas.report.figures import INK, house_style, method_style

XY = tuple[float, float]

UPDATE_STEPS = (
    ("reward", r"$R_i = -\nabla_{\!p}\,\ell \cdot f_i$", 8.0, 1.4),
    ("clip", r"to $\pm\mathcal{L}$", 6.79, 0.62),
    ("EG step", r"$v_i \leftarrow v_i\, e^{\,\eta R_i}$", 5.62, 1.32),
    ("wipeout", r"if $v_i < \theta$", 4.27, 0.98),
)
"""Lines 8 to 12 of Algorithm 1: name, formula, middle and width of each step of the backward pass."""

SIZE: XY = (9.0, 4.7)
FORWARD, BACKWARD = "#8d949e", "#e8871e"
CHOSEN = method_style("xnas").colour
PALE, PALE_EDGE = "#eef3f9", "#a9bbd0"
FADED = 0.35
NODE_RADIUS = 0.19
SPAN_BENDS = (0, 0.05, 0.3, 0.34, 0.38, 0.46)
"""How far an edge bends, by the number of nodes it passes: arrows meet a node from many sides."""
CELL_ANGLES = [math.radians(125 + 22 * row) for row in range(6)]
CELL = [(2.4 + 1.75 * math.cos(a), 2.45 + 1.68 * math.sin(a)) for a in CELL_ANGLES]
CELL_NAMES = ("$c_{k-2}$", "$c_{k-1}$", "$x_1$", "$x_2$", "$x_3$", "$x_4$")
CELL_OUTPUT: XY = (0.95, 0.42)
OPENED = (0, 5)
"""The edge on show: the outermost one, which no other edge crosses."""
PANEL = (3.1, 0.15, 5.75, 4.4)
INPUT: XY = (3.75, 2.62)
MIXTURE: XY = (8.3, 2.62)
ADVICE_X, ADVICE_WIDTH, WEIGHT_X = 5.4, 1.36, 6.75
ROWS_TOP, ROWS_BOTTOM = 3.72, 1.52
STEPS_Y = 0.6


@house_style()
def draw_forecaster(experts: Sequence[str], wiped: Collection[str] = ()) -> Figure:
    """Draw a cell, and the experts of one edge with Algorithm 1 around them (Fig. 1).

    Wiped experts are faded and crossed out, and take part in neither pass.
    """
    strangers = sorted(set(wiped) - set(experts))
    if strangers:
        known = ", ".join(experts)
        raise ConfigError(f"cannot wipe out {', '.join(strangers)}: the experts are {known}")
    if not set(experts) - set(wiped):
        raise ConfigError("every expert is wiped out; leave one, as Algorithm 1 does")
    figure = Figure(figsize=SIZE, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, SIZE[0]), ylim=(0, SIZE[1]))
    axes.set_axis_off()
    _draw_cell(axes)
    _draw_panel(axes)
    _draw_forward(axes, experts, wiped)
    _draw_backward(axes)
    return figure


def _draw_cell(axes: Axes) -> None:
    """Draw two inputs, four nodes fed by all before them, and the output that joins the nodes."""
    _write(axes, (0.25, 4.4), "Cell: each edge is a forecaster", weight="bold", ha="left")
    for start, end in combinations(range(len(CELL)), 2):
        if end < 2:
            continue  # the inputs feed nodes, not each other
        colour, width = (CHOSEN, 2.6) if (start, end) == OPENED else (FORWARD, 1.0)
        bend = -SPAN_BENDS[end - start]
        _arrow(axes, CELL[start], CELL[end], colour, bend=bend, gap=NODE_RADIUS, width=width)
    for node, port, bend in zip(CELL[2:], (-0.27, -0.11, 0.09, 0.27), (0.3, 0.1, 0, 0), strict=True):
        top = (CELL_OUTPUT[0] + port, CELL_OUTPUT[1] + 0.17)
        facing = _rim(node, (top[0] - bend, top[1]), NODE_RADIUS)
        _arrow(axes, facing, top, PALE_EDGE, bend=bend, width=0.9)
    for row, (node, name) in enumerate(zip(CELL, CELL_NAMES, strict=True)):
        _disc(axes, node, name, radius=NODE_RADIUS, chosen=row in OPENED)
    _box(axes, CELL_OUTPUT, (0.8, 0.3), "output")


def _draw_panel(axes: Axes) -> None:
    """Draw the frame of the opened edge, and the cone that opens it."""
    left, bottom, width, height = PANEL
    start, end = (CELL[row] for row in OPENED)
    # The apex of a quadratic curve lies half-way between its chord and its control point.
    apex = (start[0] + SPAN_BENDS[-1] * (start[1] - end[1]) / 2, (start[1] + end[1]) / 2)
    cone = [apex, (left, bottom + height - 0.1), (left, bottom + 0.1)]
    axes.add_patch(Polygon(cone, facecolor=CHOSEN, alpha=0.07, edgecolor="none"))
    axes.add_patch(Circle(apex, 0.06, color=CHOSEN, zorder=4))
    middle = (left + width / 2, bottom + height / 2)
    _box(axes, middle, (width, height), "", colours=("#fbfcfe", CHOSEN))
    _write(axes, (left + 0.2, 4.3), "Forecaster of one edge", weight="bold", ha="left")


def _draw_forward(axes: Axes, experts: Sequence[str], wiped: Collection[str]) -> None:
    """Draw the input, the experts' advice, their weights and the mixture."""
    _write(axes, (ADVICE_X, 4.02), r"experts $f_i(x)$")
    _write(axes, (WEIGHT_X, 4.02), r"weights $u_i \propto v_i$")
    _write(axes, (MIXTURE[0] - 0.05, 3.2), r"$p = \sum_i\, u_i f_i$", size=11)
    pitch = (ROWS_TOP - ROWS_BOTTOM) / max(1, len(experts) - 1)
    tall = min(0.29, 0.8 * pitch)
    for row, expert in enumerate(experts):
        y = ROWS_TOP - pitch * row
        gone = expert in wiped
        alpha = FADED if gone else 1.0
        advice, weight = (ADVICE_X, y), (WEIGHT_X, y)
        _box(axes, advice, (ADVICE_WIDTH, tall), expert, alpha=alpha)
        _disc(axes, weight, f"$u_{{{row + 1}}}$", radius=tall / 2, alpha=alpha)
        if gone:
            for tilt in (-1, 1):
                reach, rise = 0.48 * ADVICE_WIDTH, 0.48 * tilt * tall
                ends = (ADVICE_X - reach, ADVICE_X + reach), (y - rise, y + rise)
                axes.plot(*ends, color=BACKWARD, linewidth=1.3, zorder=5, label=f"_wiped {expert}")
        else:
            near, far = ADVICE_X - ADVICE_WIDTH / 2 - 0.04, ADVICE_X + ADVICE_WIDTH / 2 + 0.04
            _arrow(axes, _rim(INPUT, (near, y), 0.24), (near, y), FORWARD)
            _arrow(axes, (far, y), (WEIGHT_X - tall / 2 - 0.02, y), FORWARD)
            out = (WEIGHT_X + tall / 2 + 0.02, y)
            _arrow(axes, out, _rim(MIXTURE, out, 0.27), FORWARD)
    _disc(axes, INPUT, "$x$", radius=0.22, chosen=True)
    _disc(axes, MIXTURE, "$p$", radius=0.24, chosen=True)


def _draw_backward(axes: Axes) -> None:
    """Draw the backward pass: from the mixture through Algorithm 1 to weights and experts."""
    for row, (colour, word) in enumerate(((FORWARD, "forward"), (BACKWARD, "backward"))):
        y = 4.3 - 0.21 * row
        ends = (7.75, y), (8.05, y)
        _arrow(axes, *(ends if row == 0 else ends[::-1]), colour, width=1.4)
        _write(axes, (8.13, y), word, size=8.5, ha="left")
    half = 0.24
    _arrow(axes, (MIXTURE[0], MIXTURE[1] - 0.27), (MIXTURE[0], STEPS_Y + half), BACKWARD, width=2)
    _write(axes, (MIXTURE[0] - 0.08, 1.75), r"$\nabla_{\!p}\,\ell$", size=13, ha="right")
    for name, formula, x, width in UPDATE_STEPS:
        _box(axes, (x, STEPS_Y), (width, 2 * half), "", colours=("#fdf3e7", BACKWARD))
        _write(axes, (x, STEPS_Y + 0.11), name, size=8.5, weight="bold", colour="#a4560a")
        _write(axes, (x, STEPS_Y - 0.1), formula, size=10)
    for (*_, x, width), (*_, after, after_width) in pairwise(UPDATE_STEPS):
        ends = (x - width / 2, STEPS_Y), (after + after_width / 2, STEPS_Y)
        _arrow(axes, *ends, BACKWARD, width=2)
    turn, floor = 1.08, ROWS_BOTTOM - 0.19
    for (*_, x, _), target in zip(UPDATE_STEPS[2:], (WEIGHT_X, ADVICE_X - 0.4), strict=True):
        axes.plot((x, x, target), (STEPS_Y + half, turn, turn), color=BACKWARD, linewidth=2)
        _arrow(axes, (target, turn), (target, floor), BACKWARD, width=2)


def _rim(centre: XY, towards: XY, radius: float) -> XY:
    """Find the point of a circle that faces another point."""
    dx, dy = towards[0] - centre[0], towards[1] - centre[1]
    length = (dx**2 + dy**2) ** 0.5
    return centre[0] + radius * dx / length, centre[1] + radius * dy / length


def _arrow(
    axes: Axes, start: XY, end: XY, colour: str, *, bend: float = 0, gap: float = 0, width: float = 1
) -> None:
    """Draw an arrow, bent to its left, that keeps a gap to the middles of what it joins."""
    arrow = FancyArrowPatch(
        start,
        end,
        arrowstyle="-|>",
        connectionstyle=f"arc3,rad={bend}",
        mutation_scale=6 + 2.5 * width,
        shrinkA=72 * gap,  # points; all else is inches
        shrinkB=72 * gap,
    )
    arrow.set(color=colour, linewidth=width, zorder=3 if width > 1 else 2)
    axes.add_patch(arrow)


def _disc(
    axes: Axes, at: XY, text: str, *, radius: float, chosen: bool = False, alpha: float = 1
) -> None:
    """Draw a node: dark if it belongs to the opened edge."""
    fill, edge = (CHOSEN, CHOSEN) if chosen else ("white", PALE_EDGE)
    axes.add_patch(Circle(at, radius, facecolor=fill, edgecolor=edge, alpha=alpha, zorder=4))
    size = 13 if radius > NODE_RADIUS else 10
    _write(axes, at, text, size=size, colour="white" if chosen else INK, alpha=alpha)


def _box(
    axes: Axes,
    middle: XY,
    size: XY,
    text: str,
    *,
    colours: tuple[str, str] = (PALE, PALE_EDGE),
    alpha: float = 1,
) -> None:
    """Draw a rounded box around a word, in the colours of its inside and its edge."""
    corner = (middle[0] - size[0] / 2, middle[1] - size[1] / 2)
    rounding = f"round,pad=0,rounding_size={min(0.08, size[1] / 3)}"
    box = FancyBboxPatch(corner, *size, rounding, facecolor=colours[0], edgecolor=colours[1])
    box.set_alpha(alpha)
    axes.add_patch(box)
    _write(axes, middle, text, alpha=alpha)


def _write(
    axes: Axes,
    at: XY,
    text: str,
    *,
    size: float = 9,
    weight: str = "normal",
    colour: str = INK,
    alpha: float = 1,
    ha: str = "center",
) -> None:
    """Write a word or a formula, formulas in the paper's typeface."""
    written = axes.text(*at, text, size=size, weight=weight, ha=ha, va="center", zorder=6)
    written.set(color=colour, alpha=alpha, math_fontfamily="cm")
