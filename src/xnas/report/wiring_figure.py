"""A wiring as a figure: every stage as a layered graph, from its input at the top to its output.

A node lies one layer below the latest of its sources, so that all edges lead downwards. Within a layer
nodes are ordered by the mean place of their sources, which keeps most edges short. Lengths are inches.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch

from xnas.report.cell_figure import JOIN_COLOUR, STATE_COLOUR
from xnas.report.figures import INK, house_style
from xnas.report.wirings import WiringLike, layers
from xnas.words import counted

XY = tuple[float, float]

RADIUS, LAYER, PLACE = 0.13, 0.52, 0.46
"""Of a node; from layer to layer; from node to node in a layer."""
MARGIN, TITLE_ROOM = 0.35, 0.5
BEND = 0.18
"""How far edges bow to the side, as a share of their length, so that they pass nodes on their way."""


@house_style()
def draw_wiring(wiring: WiringLike) -> Figure:
    """All stages side by side."""
    stages = list(zip(wiring.nodes, wiring.stages, strict=True))
    places = [_places(nodes, edges) for nodes, edges in stages]
    widths = [2 * MARGIN + max(abs(x) for x, _ in found) * 2 + 2 * RADIUS for found in places]
    widths = [max(width, 2.4) for width in widths]  # the title has room
    height = max(-y for found in places for _, y in found) + 2 * MARGIN + TITLE_ROOM
    figure = Figure(figsize=(sum(widths), height), facecolor="white")
    for index, ((nodes, edges), found) in enumerate(zip(stages, places, strict=True)):
        left = sum(widths[:index]) / sum(widths)
        axes = figure.add_axes((left, 0, widths[index] / sum(widths), 1))
        axes.set(
            xlim=(-widths[index] / 2, widths[index] / 2),
            ylim=(MARGIN + TITLE_ROOM - height, MARGIN + TITLE_ROOM),
        )
        axes.set_axis_off()
        title = f"stage {index + 1}: {counted(nodes, 'node')}, {counted(len(edges), 'edge')}"
        axes.text(0, MARGIN + TITLE_ROOM / 2, title, weight="bold", ha="center", va="center")
        _draw_edges(axes, edges, found)
        _draw_nodes(axes, nodes, edges, found)
    return figure


def _places(nodes: int, edges: Sequence[tuple[int, int]]) -> list[XY]:
    """Where every node lies; layers are centred at 0, the first at the top."""
    layer, found = layers(nodes, edges), dict[int, XY]()

    def middle(node: int) -> float:
        """Mean place of the sources; those of a node lie in layers above, which are placed."""
        above = [found[source][0] for source, target in edges if target == node]
        return sum(above) / len(above) if above else 0.0

    for depth in range(max(layer) + 1):
        row = sorted((node for node in range(nodes) if layer[node] == depth), key=middle)
        for index, node in enumerate(row):
            found[node] = (PLACE * (index - (len(row) - 1) / 2), -LAYER * depth)
    return [found[node] for node in range(nodes)]


def _draw_edges(axes: Axes, edges: Sequence[tuple[int, int]], places: Sequence[XY]) -> None:
    for source, target in edges:
        (x, _), (end, _) = places[source], places[target]
        arrow = FancyArrowPatch(
            places[source],
            places[target],
            arrowstyle="-|>",
            mutation_scale=6,
            connectionstyle=f"arc3,rad={BEND if end >= x else -BEND}",
            shrinkA=72 * RADIUS,
            shrinkB=72 * RADIUS,
        )
        arrow.set(color=JOIN_COLOUR, linewidth=0.8, zorder=1)
        axes.add_patch(arrow)


def _draw_nodes(axes: Axes, nodes: int, edges: Sequence[tuple[int, int]], places: Sequence[XY]) -> None:
    """Full discs read the input of the stage, bold rims join its output."""
    sources, targets = {source for source, _ in edges}, {target for _, target in edges}
    for node in range(nodes):
        reads, joins = node not in targets, node not in sources
        fill = STATE_COLOUR if reads else "white"
        rim = 2.2 if joins else 0.8
        disc = Circle(places[node], RADIUS, facecolor=fill, edgecolor=STATE_COLOUR, lw=rim, zorder=3)
        axes.add_patch(disc)
        colour = "white" if reads else INK
        axes.text(
            *places[node], f"{node}", size=6.5, color=colour, ha="center", va="center_baseline", zorder=4
        )
