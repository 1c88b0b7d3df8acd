"""Figures: they show what the record says, look alike, and never differ by a byte."""

import subprocess
import sys
from dataclasses import replace
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch

import xnas.report
from xnas.errors import ConfigError
from xnas.report import (
    draw_adversary,
    draw_attenuation,
    draw_forecaster,
    draw_stochastic,
    draw_toy_2d,
    draw_toy_3d,
    method_style,
    save_figure,
)
from xnas.report.figures import METHOD_STYLES, house_style, time_colours
from xnas.toys import adversary_study, attenuation, stochastic_study, toy_2d, toy_3d

LATE_BLOOMER = toy_3d()
PLANE = {study.problem: study for study in toy_2d()}
NOISY = stochastic_study(runs=12, rounds=40)
ADVERSARY = adversary_study((30, 100, 300))
ATTENUATION = attenuation()
FIGURES = {
    "toy_3d": lambda: draw_toy_3d(LATE_BLOOMER),
    "toy_2d": lambda: draw_toy_2d(PLANE["quadratic"]),
    "attenuation": lambda: draw_attenuation(ATTENUATION),
    "stochastic": lambda: draw_stochastic(NOISY),
    "adversary": lambda: draw_adversary(ADVERSARY),
    "forecaster": lambda: draw_forecaster(wiped={"skip_connect"}),
}
EXACT = {"rel": 1e-12, "abs": 1e-15}  # plotted numbers are the record's, up to one norm or product


def line(axes, label):
    """Data of the one line with this label, as x and y."""
    (found,) = [item for item in axes.lines if item.get_label() == label]
    return found.get_xdata(), found.get_ydata()


def texts(axes):
    return [text.get_text() for text in axes.texts]


def grey(colour):
    return float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114)))


@pytest.mark.parametrize("name", FIGURES)
def test_two_draws_give_the_same_bytes_whatever_the_readers_settings(name, tmp_path):
    first = save_figure(FIGURES[name](), tmp_path / "first", name)
    with mpl.rc_context({"font.size": 17, "lines.linewidth": 9, "svg.hashsalt": None}):
        second = save_figure(FIGURES[name](), tmp_path / "second", name)
        assert mpl.rcParams["font.size"] == 17  # and the settings come back
    assert [path.name for path in first] == [f"{name}.svg", f"{name}.png"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("name", FIGURES)
def test_svg_is_xml_of_the_figures_size_without_a_date(name, tmp_path):
    figure = FIGURES[name]()
    svg, png = save_figure(figure, tmp_path, name)
    root = ET.fromstring(svg.read_text(encoding="utf-8"))  # noqa: S314 - we wrote it
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    points = [float(root.attrib[side].removesuffix("pt")) for side in ("width", "height")]
    assert points == pytest.approx(72 * figure.get_size_inches())
    assert "date" not in "".join(element.tag for element in root.iter())
    header = png.read_bytes()[16:24]  # width and height of a PNG's first chunk
    pixels = [int.from_bytes(header[:4]), int.from_bytes(header[4:])]
    assert pixels == pytest.approx(150 * figure.get_size_inches(), abs=1)


def test_late_bloomer_shows_paths_in_space_and_on_the_simplex():
    space, simplex, *_ = draw_toy_3d(LATE_BLOOMER).axes
    corners = np.array([[0, 0], [1, 0], [1 / 2, 3**0.5 / 2]])
    for trajectory, dots in zip(LATE_BLOOMER.trajectories, simplex.collections, strict=True):
        label = method_style(trajectory.method).label
        (path,) = [item for item in space.lines if item.get_label() == label]
        drawn = np.column_stack(path.get_data_3d())
        assert drawn == pytest.approx(np.array(trajectory.points), **EXACT)
        expected = [sum(w * c for w, c in zip(p, corners, strict=True)) for p in trajectory.points]
        assert dots.get_label() == label
        assert np.asarray(dots.get_offsets()) == pytest.approx(np.array(expected), **EXACT)
        assert dots.get_array().tolist() == list(range(121))
    assert {"x", "y", "z", "step 0 to 120"} == set(texts(simplex))


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_names_and_numbers_in_space_are_whole_and_apart(rate):
    figure = draw_toy_3d(toy_3d(rate))
    with house_style():
        figure.draw_without_rendering()
        space = figure.axes[0]
        labels = [axis.label for axis in (space.xaxis, space.yaxis, space.zaxis)]
        for axis in (space.xaxis, space.yaxis, space.zaxis):
            labels += [tick.label1 for tick in axis.get_major_ticks() if tick.label1.get_text()]
        boxes = {(label.get_text(), i): label.get_window_extent() for i, label in enumerate(labels)}
    width, height = figure.get_size_inches() * figure.dpi
    assert len(boxes) == 3 + 2 + 2 + 3  # the x and the y axis leave their common corner unnumbered
    assert all(5 < box.x0 < box.x1 < width and 0 < box.y0 < box.y1 < height for box in boxes.values())
    overlapping = [(a, b) for a, b in combinations(boxes, 2) if boxes[a].overlaps(boxes[b])]
    assert not overlapping


def test_time_runs_from_dark_to_light():
    for method in METHOD_STYLES:
        shades = [grey(time_colours(method)(t)) for t in np.linspace(0, 1, 20)]
        assert all(later > earlier for earlier, later in pairwise(shades))


def test_late_bloomer_shows_the_z_terms_the_switch_and_the_wipeouts():
    terms = draw_toy_3d(LATE_BLOOMER).axes[2]
    for trajectory in LATE_BLOOMER.trajectories:
        steps, sizes = line(terms, method_style(trajectory.method).label)
        assert list(steps) == list(range(1, 121))
        assert sizes == pytest.approx([abs(term[2]) for term in trajectory.update_terms], **EXACT)
    # Sec. 8.1: 30 steps of the first loss. With sums 0, t - 30 and 2t - 120 and a bound of 2, the rule
    # "behind by more than 4(120 - t)" takes x when 6t > 600 and y when 5t > 570.
    upright = [item.get_xdata()[0] for item in terms.lines if item.get_linestyle() == ":"]
    assert upright == [30, 101, 115]
    assert texts(terms) == ["loss switches", "x wiped out", "y wiped out"]
    marked = [text.get_position()[0] for text in terms.texts]
    assert marked == pytest.approx(upright, abs=2)


def test_axes_that_are_never_wiped_are_not_marked():
    terms = draw_toy_3d(replace(LATE_BLOOMER, wiped_at=(0, 0, 0))).axes[2]
    assert texts(terms) == ["loss switches"]


@pytest.mark.parametrize("problem", PLANE)
def test_plane_shows_paths_distances_and_magnitudes(problem):
    study = PLANE[problem]
    plane, distance, magnitude = draw_toy_2d(study).axes
    circles = [item for item in plane.lines if item.get_marker() == "o"]
    for trajectory in study.trajectories:
        look = method_style(trajectory.method)
        x, y = line(plane, look.label)
        assert list(zip(x, y, strict=True)) == [pytest.approx(p, **EXACT) for p in trajectory.points]
        (ends,) = [item for item in circles if item.get_color() == look.colour]
        assert ends.get_xdata() == pytest.approx([trajectory.points[0][0], trajectory.points[-1][0]])
        steps, gaps = line(distance, look.label)
        assert list(steps) == list(range(51))
        assert gaps == pytest.approx(
            [((x - 1) ** 2 + y**2) ** 0.5 for x, y in trajectory.points], **EXACT
        )
        steps, sizes = line(magnitude, look.label)
        assert list(steps) == list(range(1, 51))
        expected = [(dx**2 + dy**2) ** 0.5 for dx, dy in trajectory.update_terms]
        assert sizes == pytest.approx(expected, **EXACT)
    x, y = line(plane, "simplex")
    assert [a + b for a, b in zip(x, y, strict=True)] == [1, 1]
    assert study.loss.replace("-", "−") in plane.get_title(loc="left")


@pytest.mark.parametrize("problem", PLANE)
def test_contours_are_upright_lines_or_circles_around_the_optimum(problem):
    contours = draw_toy_2d(PLANE[problem]).axes[0].collections[0]
    pieces = [piece for level in contours.get_paths() for piece in level.to_polygons(closed_only=False)]
    assert len(pieces) > 5
    for piece in pieces:
        x, y = piece.T
        constant = np.hypot(x - 1, y) if problem == "quadratic" else x
        assert np.ptp(constant) < 1e-3  # contours are interpolated on a grid of 0.01
    assert max(np.ptp(piece[:, 1]) for piece in pieces) > 1  # and they cross the whole plane


def test_overlapping_paths_are_narrower_the_shorter_they_are():
    plane = draw_toy_2d(PLANE["balanced"]).axes[0]
    widths = {item.get_label(): item.get_linewidth() for item in plane.lines}
    order = [widths[method_style(method).label] for method in ("xnas simplex", "xnas", "gd")]
    assert order == sorted(order, reverse=True)
    assert len(set(order)) == 3


def test_attenuation_shows_the_record():
    simplex, logit = draw_attenuation(ATTENUATION).axes
    assert simplex.lines[0].get_xydata() == pytest.approx(
        np.column_stack([ATTENUATION.x, ATTENUATION.along_simplex]), **EXACT
    )
    assert logit.lines[0].get_xydata() == pytest.approx(
        np.column_stack([ATTENUATION.logit, ATTENUATION.against_logit]), **EXACT
    )


@pytest.mark.parametrize(
    ("panel", "against", "value"),
    [
        (0, "experts", "regret"),
        (1, "noise", "regret"),
        (3, "experts", "correct"),
        (4, "noise", "correct"),
    ],
)
def test_selections_are_shown_with_their_standard_errors(panel, against, value):
    axes = draw_stochastic(NOISY).axes[panel]
    assert axes.get_xscale() == "log"
    fixed = {"noise": 1.0} if against == "experts" else {"experts": 10}
    for method, drawn in zip(("xnas", "gd"), axes.containers, strict=True):
        series = NOISY.series(method, "0.1", **fixed)
        means = np.array([getattr(s, value) for s in series])
        errors = np.array([getattr(s, f"{value}_error") for s in series])
        data, _, (bars,) = drawn
        assert drawn.get_label() == method_style(method).label
        assert list(data.get_xdata()) == [getattr(s, against) for s in series]
        assert data.get_ydata() == pytest.approx(means, **EXACT)
        spans = np.array([segment[:, 1] for segment in bars.get_segments()])
        # Two standard errors each way, as the figure says and claims are judged.
        expected = np.column_stack([means - 2 * errors, means + 2 * errors])
        assert spans == pytest.approx(expected, **EXACT)
        assert errors.max() > 0


@pytest.mark.parametrize(
    ("panel", "method", "rate", "growth"),
    [(2, "xnas", "optimal", lambda n: np.sqrt(np.log(n))), (5, "gd", "1", np.sqrt)],
)
def test_growth_panels_show_the_least_squares_fit(panel, method, rate, growth):
    axes = draw_stochastic(NOISY).axes[panel]
    series = NOISY.series(method, rate, noise=1.0)
    experts = np.array([s.experts for s in series])
    regret = np.array([s.regret for s in series])
    (scale,), *_ = np.linalg.lstsq(growth(experts)[:, None], regret, rcond=None)
    (fit,) = [item for item in axes.lines if "fit" in item.get_label()]
    assert fit.get_ydata() == pytest.approx(scale * growth(fit.get_xdata()), rel=1e-9)
    assert fit.get_xdata()[[0, -1]] == pytest.approx([2, 100])
    assert f"{scale:.3g}" in fit.get_label()
    ((data, _, (bars,)),) = axes.containers
    assert data.get_ydata() == pytest.approx(regret, **EXACT)
    spans = np.ptp([segment[:, 1] for segment in bars.get_segments()], axis=1)
    assert spans == pytest.approx([4 * s.regret_error for s in series], rel=1e-9)


def test_bars_are_wider_than_markers_and_explained_and_legends_show_lines_alone():
    figure = draw_stochastic(NOISY)
    assert figure.get_supxlabel() == "Bars: 2 standard errors each way"
    for axes in figure.axes:
        for marks, caps, _ in axes.containers:
            assert all(cap.get_markersize() > marks.get_markersize() for cap in caps)
    legends = [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    assert len(legends) == 3
    for legend in legends:
        assert all(isinstance(handle, Line2D) for handle in legend.legend_handles)
        assert not legend.findobj(LineCollection)


def test_adversary_shows_curves_bound_and_a_line_of_slope_one():
    (axes,) = draw_adversary(ADVERSARY).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    for curve in ADVERSARY.curves:
        rounds, regret = line(axes, method_style(curve.method).label)
        assert tuple(rounds) == curve.rounds
        assert tuple(regret) == curve.regret
    assert tuple(line(axes, "Theorem 1, no wipeout")[1]) == ADVERSARY.bound
    rounds, linear = line(axes, "slope 1")
    assert np.diff(np.log(linear)) / np.diff(np.log(rounds)) == pytest.approx([1, 1])
    assert all(max(c.regret) < max(linear) for c in ADVERSARY.curves)
    assert texts(axes) == [item.get_label() for item in axes.lines]


def test_a_method_has_one_colour_in_every_figure():
    figures = [draw_toy_2d(PLANE["balanced"]), draw_stochastic(NOISY), draw_adversary(ADVERSARY)]
    colours = {look.label: look.colour for look in METHOD_STYLES.values()}
    for figure in figures:
        drawn = set()
        for axes in figure.axes:
            handles, labels = axes.get_legend_handles_labels()
            for handle, label in zip(handles, labels, strict=True):
                drawn.add((label, to_hex(getattr(handle, "lines", [handle])[0].get_color())))
        known = {label: colour for label, colour in drawn if label in colours}
        assert known["XNAS"] == method_style("xnas").colour
        assert len(known) > 1
        assert all(colours[label] == colour for label, colour in drawn if label in colours)


@pytest.mark.parametrize(
    "together",
    [("xnas", "xnas simplex", "gd"), ("xnas", "adam (0, 0.1)", "adam (0.5, 0.999)")],
)
def test_methods_of_one_figure_differ_in_grey_print(together):
    looks = [method_style(method) for method in together]
    for one, other in combinations(looks, 2):
        assert abs(grey(one.colour) - grey(other.colour)) > 0.1
        assert one.dashes != other.dashes
        assert one.marker != other.marker


def test_forecaster_names_its_experts_and_the_steps_of_algorithm_1():
    (axes,) = draw_forecaster(("conv", "pool", "skip")).axes
    written = texts(axes)
    assert {"conv", "pool", "skip", "$u_{1}$", "$u_{3}$", "reward", "clip", "EG step", "wipeout"} <= set(
        written
    )
    assert "$u_{4}$" not in written
    assert any("R_i = -" in text for text in written)


def test_wiped_experts_are_faded_crossed_out_and_left_out_of_the_pass():
    (whole,) = draw_forecaster().axes
    (wiped,) = draw_forecaster(wiped=["skip_connect", "sep_conv_5x5"]).axes
    faded = {text.get_text() for text in wiped.texts if (text.get_alpha() or 1) < 1}
    assert faded == {"skip_connect", "$u_{3}$", "sep_conv_5x5", "$u_{5}$"}
    at = {text.get_text(): text.get_position() for text in wiped.texts}
    for expert in ("skip_connect", "sep_conv_5x5"):
        crosses = [item for item in wiped.lines if item.get_label() == f"_wiped {expert}"]
        assert len(crosses) == 2
        for cross in crosses:
            assert np.mean(cross.get_xydata(), axis=0) == pytest.approx(at[expert])
    arrows = [sum(isinstance(p, FancyArrowPatch) for p in axes.patches) for axes in (whole, wiped)]
    assert arrows[0] - arrows[1] == 2 * 3  # to the expert, to its weight, to the mixture


def test_forecaster_stays_within_its_canvas():
    figure = draw_forecaster(wiped={"max_pool_3x3"})
    with house_style():
        boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    width, height = figure.get_size_inches() * figure.dpi
    assert all(0 < box.x0 < box.x1 < width and 0 < box.y0 < box.y1 < height for box in boxes)
    assert not [(one, other) for one, other in combinations(boxes, 2) if one.overlaps(other)], (
        "labels overlap"
    )


def test_what_cannot_be_drawn_is_refused_by_name():
    with pytest.raises(ConfigError, match=r"'sgd'.*figures know xnas"):
        method_style("sgd")
    with pytest.raises(ConfigError, match="cannot wipe out nothing: the experts are conv, pool"):
        draw_forecaster(("conv", "pool"), wiped={"nothing"})
    with pytest.raises(ConfigError, match="every expert is wiped out"):
        draw_forecaster(("conv", "pool"), wiped={"conv", "pool"})
    with pytest.raises(ConfigError, match=r"'late bloomer'.*known are balanced"):
        draw_toy_2d(LATE_BLOOMER)
    with pytest.raises(ConfigError, match="'balanced' has no three axes"):
        draw_toy_3d(PLANE["balanced"])


def test_report_draws_and_saves_without_pyplot(tmp_path):
    program = (
        "import sys, pathlib, xnas.report as r;"
        "r.save_figure(r.draw_forecaster(), pathlib.Path(sys.argv[1]), 'f');"
        "print('matplotlib.figure' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"]


def test_all_names_what_the_package_offers():
    assert sorted(xnas.report.__all__) == xnas.report.__all__
    for name in xnas.report.__all__:
        assert callable(getattr(xnas.report, name))
