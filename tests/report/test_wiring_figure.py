"""Wirings as figures: a disc for every node, an arrow for every edge, all of them downwards."""

from collections import Counter
from itertools import combinations
from math import dist

from matplotlib.patches import Circle, FancyArrowPatch

from xnas import Wiring
from xnas.report.cell_figure import save_svg
from xnas.report.wiring_figure import RADIUS, draw_wiring

WIRING = Wiring.named("ws-4-0.75-0")


def test_every_edge_is_an_arrow_from_node_to_node_that_leads_down():
    figure = draw_wiring(WIRING)
    assert len(figure.axes) == 3
    stages = zip(figure.axes, WIRING.nodes, WIRING.stages, strict=True)
    for number, (axes, nodes, edges) in enumerate(stages, start=1):
        discs = [patch for patch in axes.patches if isinstance(patch, Circle)]
        middles = {disc.center: node for node, disc in enumerate(discs)}
        assert len(middles) == nodes  # one place, one node
        assert min(dist(a, b) for a, b in combinations(middles, 2)) > 3 * RADIUS
        ends = [patch._posA_posB for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
        assert Counter((middles[a], middles[b]) for a, b in ends) == Counter(edges)
        assert all(below[1] < above[1] for above, below in ends)
        assert axes.texts[0].get_text() == f"stage {number}: 32 nodes, 64 edges"


def test_nodes_that_read_the_input_are_full_and_those_that_join_the_output_are_bold():
    axes = draw_wiring(Wiring("own", (), 0, (3, 1, 1), ([(0, 1), (1, 2)], [], []))).axes[0]
    first, second, third = (patch for patch in axes.patches if isinstance(patch, Circle))
    assert first.get_facecolor() != second.get_facecolor() == third.get_facecolor()
    assert first.get_linewidth() == second.get_linewidth() < third.get_linewidth()


def test_the_same_wiring_gives_the_same_file(tmp_path):
    for name in ("one.svg", "two.svg"):
        save_svg(draw_wiring(Wiring.random("ba", 1, nodes=(3, 3, 3))), tmp_path / name)
    one, two = (path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert one == two
    assert b"<svg" in one
