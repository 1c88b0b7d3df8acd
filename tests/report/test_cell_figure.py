"""Cells drawn as figures."""

from collections import Counter
from itertools import combinations
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from drawn_cells import CELLS, OPERATIONS, XNAS, cell, edges_of
from matplotlib.bezier import BezierSegment
from matplotlib.colors import to_hex
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, PathPatch

from xnas.errors import ConfigError
from xnas.report.cell_figure import draw_cell, draw_genotype, save_svg
from xnas.report.colours import OPERATION_COLOURS, ink_on, operation_colours
from xnas.report.figures import house_style

DRAWN = [
    pytest.param(name, marks=[pytest.mark.slow] * (name.startswith("random ") and int(name[7:]) > 2))
    for name in CELLS
]


def colours_of(*cells):
    """The colour of every operation, in the order of the cells."""
    edges = [edge for one in cells for node in one.nodes for edge in node]
    return {
        name: colour.lower()
        for name, colour in operation_colours(
            list(dict.fromkeys(edge.operation for edge in edges))
        ).items()
    }


def states_of(axes):
    """Middles of the states, in order."""
    return sorted(patch.center[0] for patch in axes.patches if isinstance(patch, Circle))


def arrows_of(axes):
    """Arrows as (colour, source, node), by the discs that their ends touch."""
    middles, found = states_of(axes), Counter()
    for patch in axes.patches:
        if isinstance(patch, FancyArrowPatch):
            path = patch._path_original.vertices
            nearest = [
                min(range(len(middles)), key=lambda s, x=x, y=y: (middles[s] - x) ** 2 + y**2)
                for x, y in (path[0], path[-1])
            ]
            found[to_hex(patch.get_edgecolor()), *nearest] += 1
    return found


class TestFigure:
    @pytest.mark.parametrize("name", DRAWN)
    def test_every_edge_is_an_arrow_in_its_operations_colour_and_a_label(self, name):
        (axes,) = draw_cell(CELLS[name], name).axes
        expected, colours = Counter(), colours_of(CELLS[name])
        for (operation, source, node), times in edges_of(CELLS[name]).items():
            expected[colours[operation], source, node] += times
        assert arrows_of(axes) == expected
        labels = Counter(text.get_text() for text in axes.texts)
        for operation, times in Counter(o for o, *_ in edges_of(CELLS[name]).elements()).items():
            assert labels[operation] == times
        assert {name, "$c_{k-2}$", "$c_{k-1}$", "2", "5", "output"} <= set(labels)

    @pytest.mark.parametrize("name", DRAWN)
    def test_no_label_touches_another_or_leaves_the_canvas(self, name):
        figure = draw_cell(CELLS[name], name)
        (axes,) = figure.axes
        with house_style():
            boxes = [text.get_window_extent() for text in axes.texts]
            discs = [p.get_window_extent() for p in axes.patches if isinstance(p, Circle)]
        width, height = figure.get_size_inches() * figure.dpi
        assert all(0 < b.x0 < b.x1 < width and 0 < b.y0 < b.y1 < height for b in boxes)
        assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]
        labels = [b for b, t in zip(boxes, axes.texts, strict=True) if t.get_text() in OPERATIONS]
        assert len(labels) == 2 * len(CELLS[name].nodes)
        assert not [1 for label in labels for disc in discs if label.overlaps(disc)]

    @pytest.mark.parametrize("name", DRAWN)
    def test_labels_keep_a_distance_of_a_tenth_of_an_inch(self, name):
        (axes,) = draw_cell(CELLS[name], name).axes
        boxes = [p for p in axes.patches if isinstance(p, FancyBboxPatch)]
        assert len(boxes) == 2 * len(CELLS[name].nodes) + 1  # and the output
        for one, other in combinations(boxes, 2):
            across = abs(one.get_x() - other.get_x()) - (one.get_width() + other.get_width()) / 2
            up = abs(one.get_y() - other.get_y()) - (one.get_height() + other.get_height()) / 2
            assert max(across, up) > 0.099

    @pytest.mark.parametrize("name", DRAWN)
    def test_a_label_lies_on_an_arrow_of_its_colour(self, name):
        (axes,) = draw_cell(CELLS[name], name).axes
        arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
        steps = np.linspace(0, 1, 500)
        curves = [
            (to_hex(arrow.get_edgecolor()), BezierSegment(arrow._path_original.vertices)(steps))
            for arrow in arrows
        ]
        labels = [text for text in axes.texts if text.get_text() in OPERATIONS]
        assert len(labels) == len(arrows)
        for text in labels:
            colour = colours_of(CELLS[name])[text.get_text()]
            gaps = [
                np.linalg.norm(c - text.get_position(), axis=1).min() for k, c in curves if k == colour
            ]
            assert min(gaps) < 0.02  # inches; the curve is sampled

    def test_a_label_gives_way_to_an_arrow_that_passes(self):
        passing = cell(
            [("relu", 0), ("relu", 1)],
            [("relu", 1), ("relu", 2)],
            [("relu", 0), ("relu", 3)],  # from 0 down to 4, through the middle of 3 to 5
            [("sep_conv_3x3", 3), ("relu", 4)],
        )
        (axes,) = draw_cell(passing, "passing").axes
        (label,) = [text for text in axes.texts if text.get_text() == "sep_conv_3x3"]
        (box,) = [
            patch
            for patch in axes.patches
            if isinstance(patch, FancyBboxPatch)
            and to_hex(patch.get_facecolor()) == OPERATION_COLOURS["sep_conv_3x3"].lower()
        ]
        steep = max(
            (
                patch._path_original.vertices
                for patch in axes.patches
                if isinstance(patch, FancyArrowPatch)
            ),
            key=lambda vertices: vertices[-1][0] - vertices[0][0],
        )
        curve = BezierSegment(steep)(np.linspace(0, 1, 500))
        off = np.abs(curve - label.get_position()) - [box.get_width() / 2, box.get_height() / 2]
        assert off.max(-1).min() > 0

    def test_the_output_joins_what_concat_lists(self):
        half = cell(*([("relu", 0), ("relu", 1)] for _ in range(4)), concat=(3, 5))
        (axes,) = draw_cell(half, "half").axes
        middles = states_of(axes)
        starts = [
            p.get_path().vertices[0][0]
            for p in axes.patches
            if isinstance(p, PathPatch) and p.get_path().vertices[0][1] < 0
        ]
        assert starts == pytest.approx([middles[3], middles[5]])

    def test_a_genotype_shows_both_cells_side_by_side(self):
        figure = draw_genotype(XNAS)
        left, right = figure.axes
        assert left.get_position().x1 == pytest.approx(right.get_position().x0)
        for axes, a_cell, title in (
            (left, XNAS.normal, "normal cell"),
            (right, XNAS.reduction, "reduction cell"),
        ):
            assert title in [text.get_text() for text in axes.texts]
            assert sum(arrows_of(axes).values()) == sum(edges_of(a_cell).values())
            (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
            box = axes.get_position()
            inches = figure.get_size_inches()
            assert inches[0] * box.width == pytest.approx(x1 - x0)  # circles stay round
            assert inches[1] * box.height == pytest.approx(y1 - y0)

    def test_a_genotype_has_the_colours_of_reports(self):
        drawn = {colour for axes in draw_genotype(XNAS).axes for colour, *_ in arrows_of(axes)}
        names = {operation for one in (XNAS.normal, XNAS.reduction) for operation, *_ in edges_of(one)}
        assert drawn == {OPERATION_COLOURS[name].lower() for name in names}

    def test_letters_have_contrast_on_their_label(self):
        for axes in draw_genotype(XNAS).axes:
            boxes = [patch for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
            for text in (text for text in axes.texts if text.get_text() in OPERATIONS):
                x, y = text.get_position()
                (box,) = [
                    b for b in boxes if b.get_window_extent().contains(*axes.transData.transform((x, y)))
                ]
                assert text.get_color() == ink_on(to_hex(box.get_facecolor()))


class TestSvg:
    def test_two_draws_give_the_same_bytes_whatever_the_readers_settings(self, tmp_path):
        save_svg(draw_genotype(XNAS), tmp_path / "one.svg")
        with mpl.rc_context({"font.size": 17, "svg.hashsalt": None}):
            save_svg(draw_genotype(XNAS), tmp_path / "new" / "two.svg")
        one, two = (tmp_path / "one.svg").read_bytes(), (tmp_path / "new" / "two.svg").read_bytes()
        assert one == two
        root = ET.fromstring(one.decode())  # noqa: S314 - we wrote it
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "date" not in "".join(element.tag for element in root.iter())

    def test_a_file_that_cannot_be_written_is_named(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(ConfigError, match=r"cannot write .*a\.svg: .*; choose another file"):
            save_svg(draw_cell(XNAS.normal, "x"), tmp_path / "file" / "a.svg")
