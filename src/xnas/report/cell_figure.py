"""A cell as a figure, like the paper's Figure 9.

States stand in a row. An edge to the next state is straight; others are arcs above the row, the higher
the more states they pass, so that no two arcs share a height and a middle. Labels slide along their arcs
until they do not overlap. The output joins nodes below the row. Operations have the colours of reports.
Lengths are inches.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path as FilePath

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, PathPatch
from matplotlib.path import Path

from xnas.errors import StorageError
from xnas.report.cells import INPUTS, CellLike, GenotypeLike, numbered_nodes
from xnas.report.colours import ink_on, operation_colours
from xnas.report.figures import INK, house_style, method_style

XY = tuple[float, float]

INPUT_SYMBOLS = ("$c_{k-2}$", "$c_{k-1}$")
STATE_COLOUR = method_style("xnas").colour
JOIN_FILL, JOIN_COLOUR = "#eef3f9", "#a9bbd0"

PITCH, RADIUS, LANE = 1.34, 0.17, 0.47
"""From state to state, of a state, from arc to arc."""
MARGIN, BOTTOM, TITLE_ROOM = 0.42, -0.72, 0.56
JOIN_Y, OUTPUT_GAP, TURN = -0.44, 0.78, 0.12
LABEL_SIZE, LETTER, LABEL_PAD, LABEL_HEIGHT = 7.2, 0.057, 0.09, 0.17
CURVE_STEPS = 64
LABEL_PLACES = (32, 29, 35, 26, 38, 23, 41, 20, 44)
"""Where on its curve a label may sit, in steps; the middle is best."""


@house_style()
def draw_cell(cell: CellLike, title: str) -> Figure:
    """One cell as a graph: inputs to the left, nodes, the output to the right."""
    return _draw([(title, cell)])


@house_style()
def draw_genotype(genotype: GenotypeLike) -> Figure:
    """Both cells side by side (fig. 9), or the one there is."""
    if genotype.reduction is None:
        return _draw([("cell", genotype.normal)], inputs=1)
    return _draw([("normal cell", genotype.normal), ("reduction cell", genotype.reduction)])


@house_style()
def save_svg(figure: Figure, path: FilePath) -> None:
    """Write one of these figures as SVG, without a date: drawn twice, a cell gives the same bytes."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(drawn.getvalue())
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}; choose another file") from error


@dataclass(frozen=True, slots=True)
class _Arc:
    """One edge on the canvas: a cubic curve from rim to rim, sampled, and a label on it."""

    operation: str
    controls: tuple[XY, XY, XY, XY]
    points: tuple[XY, ...]

    @property
    def size(self) -> XY:
        """Width and height of the label."""
        return len(self.operation) * LETTER + LABEL_PAD, LABEL_HEIGHT


def _draw(cells: Sequence[tuple[str, CellLike]], inputs: int = len(INPUTS)) -> Figure:
    arcs = [_arcs(cell, inputs) for _, cell in cells]
    colours = operation_colours(list(dict.fromkeys(arc.operation for group in arcs for arc in group)))
    widths = [2 * MARGIN + PITCH * (len(cell.nodes) + inputs - 1) + OUTPUT_GAP for _, cell in cells]
    top = max(y for group in arcs for arc in group for _, y in arc.points) + TITLE_ROOM
    figure = Figure(figsize=(sum(widths), top - BOTTOM), facecolor="white")
    for index, ((title, cell), group) in enumerate(zip(cells, arcs, strict=True)):
        left, right = (sum(widths[:count]) / sum(widths) for count in (index, index + 1))
        axes = figure.add_axes((left, 0, right - left, 1))
        axes.set(xlim=(0, widths[index]), ylim=(BOTTOM, top))
        axes.set_axis_off()
        axes.text(0.25, top - 0.2, title, weight="bold", ha="left", va="center")
        _draw_output(axes, cell, inputs)
        _draw_arcs(axes, group, colours)
        _draw_states(axes, len(cell.nodes), inputs)
    return figure


def _x(state: int) -> float:
    return MARGIN + PITCH * state


def _arcs(cell: CellLike, inputs: int) -> list[_Arc]:
    arcs = []
    for node, edges in numbered_nodes(cell, inputs):
        for index, edge in enumerate(edges):
            parallel = sum(other.source == edge.source for other in edges[:index])
            arcs.append(_arc(edge.operation, edge.source, node, parallel))
    return arcs


def _arc(operation: str, source: int, node: int, parallel: int) -> _Arc:
    """Lay one edge: straight to the next state, else the higher and steeper the more it passes.

    `parallel` counts edges between the same two states that were laid before; each goes above the last.
    """
    span = node - source
    height = LANE * (span - 1 + 0.55 * parallel)
    angle = math.radians(90 * (1 - 1 / (span + parallel)))
    dx, dy = math.cos(angle), math.sin(angle)
    # The top of a cubic curve lies at three quarters of the height of its inner controls.
    reach = (height - RADIUS * dy) / (0.75 * dy) if dy else 0.3
    near, far = RADIUS, RADIUS + 0.02  # the arrow's tip keeps off the rim
    start, end = (_x(source) + near * dx, near * dy), (_x(node) - far * dx, far * dy)
    controls = (
        start,
        (start[0] + reach * dx, start[1] + reach * dy),
        (end[0] - reach * dx, end[1] + reach * dy),
        end,
    )
    steps = [step / CURVE_STEPS for step in range(CURVE_STEPS + 1)]
    return _Arc(operation, controls, tuple(_bezier(controls, t) for t in steps))


def _bezier(controls: tuple[XY, XY, XY, XY], t: float) -> XY:
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    x, y = (sum(w * p[axis] for w, p in zip(weights, controls, strict=True)) for axis in (0, 1))
    return x, y


def _place_labels(arcs: Sequence[_Arc]) -> list[XY]:
    """Find a place on every curve for its label, off other labels and, if possible, other curves."""
    chosen = [LABEL_PLACES[0]] * len(arcs)

    def cost(index: int, place: int) -> float:
        arc, at = arcs[index], arcs[index].points[place]
        total = 0.01 * LABEL_PLACES.index(place)
        for other, other_place in zip(arcs, chosen, strict=True):
            if other is not arc:
                total += 100 * _touches(at, other.points[other_place], arc.size, other.size, 0.1)
                total += any(_touches(at, point, arc.size, (0, 0), 0.03) for point in other.points)
        return total

    for _, index in product(range(3), range(len(arcs))):  # each gives way to the others, in turns
        chosen[index] = min(LABEL_PLACES, key=partial(cost, index))
    return [arc.points[place] for arc, place in zip(arcs, chosen, strict=True)]


def _touches(one: XY, other: XY, size: XY, other_size: XY, gap: float) -> bool:
    """Whether two boxes, given by middles and sizes, come closer than a gap."""
    return all(abs(one[i] - other[i]) < (size[i] + other_size[i]) / 2 + gap for i in (0, 1))


def _draw_arcs(axes: Axes, arcs: Sequence[_Arc], colours: Mapping[str, str]) -> None:
    for arc in arcs:
        path = Path(arc.controls, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        colour = colours[arc.operation]
        # A white seam around a curve shows which one passes above.
        axes.add_patch(PathPatch(path, facecolor="none", edgecolor="white", linewidth=4, zorder=2))
        arrow = FancyArrowPatch(path=path, arrowstyle="-|>", mutation_scale=9)
        arrow.set(color=colour, linewidth=1.5, zorder=2)
        axes.add_patch(arrow)
    for arc, (x, y) in zip(arcs, _place_labels(arcs), strict=True):
        ground = colours[arc.operation]
        _box(axes, (x, y), arc.size, (ground, "white"))
        axes.text(
            x,
            y,
            arc.operation,
            size=LABEL_SIZE,
            color=ink_on(ground),
            ha="center",
            va="center_baseline",
            zorder=5,
        )


def _draw_states(axes: Axes, nodes: int, inputs: int) -> None:
    for state in range(inputs + nodes):
        given = state < inputs
        fill = STATE_COLOUR if given else "white"
        disc = Circle((_x(state), 0), RADIUS, facecolor=fill, edgecolor=STATE_COLOUR, zorder=4)
        axes.add_patch(disc)
        name = INPUT_SYMBOLS[state - inputs] if given else f"{state}"
        written = axes.text(_x(state), 0, name, ha="center", va="center_baseline", zorder=5)
        written.set(color="white" if given else INK, size=10 if given else 9, math_fontfamily="cm")


def _draw_output(axes: Axes, cell: CellLike, inputs: int) -> None:
    """Draw a line from every joined state, below the row, to the output."""
    end = (_x(len(cell.nodes) + inputs - 1) + OUTPUT_GAP, JOIN_Y)
    for state in cell.concat:
        x = _x(state)
        bend = [(x, -RADIUS), (x, JOIN_Y + TURN), (x, JOIN_Y), (x + TURN, JOIN_Y), end]
        path = Path(bend, [Path.MOVETO, Path.LINETO, Path.CURVE3, Path.CURVE3, Path.LINETO])
        axes.add_patch(PathPatch(path, facecolor="none", edgecolor=JOIN_COLOUR, linewidth=1.2, zorder=1))
    _box(axes, end, (0.56, 0.24), (JOIN_FILL, JOIN_COLOUR))
    axes.text(*end, "output", size=8.5, ha="center", va="center_baseline", zorder=5)


def _box(axes: Axes, middle: XY, size: XY, colours: tuple[str, str]) -> None:
    corner = (middle[0] - size[0] / 2, middle[1] - size[1] / 2)
    box = FancyBboxPatch(corner, *size, "round,pad=0,rounding_size=0.05", zorder=4)
    box.set(facecolor=colours[0], edgecolor=colours[1])
    axes.add_patch(box)
