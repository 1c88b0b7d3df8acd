"""Figures of the toy problems."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from toy_studies import ADVERSARY, ATTENUATION, LATE_BLOOMER, NOISY, PLANE

from xnas.report.figures import house_style, method_style
from xnas.report.paper.toys import (
    draw_adversary,
    draw_attenuation,
    draw_stochastic,
    draw_toy_2d,
    draw_toy_3d,
)
from xnas.toys import toy_3d

EXACT = {"rel": 1e-12, "abs": 1e-15}  # plotted numbers are the record's, up to one norm or product


def line(axes, label):
    """Data of the one line with this label, as x and y."""
    (found,) = [item for item in axes.lines if item.get_label() == label]
    return found.get_xdata(), found.get_ydata()


def texts(axes):
    return [text.get_text() for text in axes.texts]


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
