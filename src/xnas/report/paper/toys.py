"""The supplement's figures, drawn from the records of the toy problems (Sec. 8.1-8.3).

Every line is a record's numbers. Computed here is only what the captions ask for: distances,
magnitudes, positions in a triangle, and the two fits of one parameter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from xnas.errors import ConfigError
from xnas.records import AdversaryStudy, Attenuation, AxesStudy, Selection, SelectionStudy
from xnas.report.figures import (
    BAR_ERRORS,
    INK,
    QUIET,
    house_style,
    label_panel,
    method_style,
    name_methods,
    new_figure,
    number_log_axis,
    plot_errors,
    plot_method,
    time_colours,
)

Array = NDArray[np.float64]

AXIS_NAMES = ("x", "y", "z")
CORNERS = np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])
"""Where the corners x, y and z of the simplex lie in the flat triangle."""
PLANE_LOSSES: dict[str, Callable[[Array, Array], Array]] = {
    "balanced": lambda x, y: -x + 0 * y,
    "imbalanced": lambda x, y: -x + 0 * y,
    "quadratic": lambda x, y: 0.5 * (x - 1) ** 2 + 0.5 * y**2,
}
"""Losses of the 2D problems, for their contour lines."""
GROWTHS: dict[str, Callable[[Array], Array]] = {
    r"\sqrt{\ln N}": lambda n: np.sqrt(np.log(n)),
    r"\sqrt{N}": np.sqrt,
}
"""How regret should grow with the number of experts, as the paper has it for XNAS and for GD."""


@house_style()
def draw_toy_3d(study: AxesStudy) -> Figure:
    """Draw the late bloomer: path, path on the simplex, update term (Fig. 3).

    The paths are without wipeout; the last panel marks the rounds in which wipeout would act.
    """
    if len(study.optimum) != 3:
        raise ConfigError(f"problem {study.problem!r} has no three axes; draw_toy_2d draws the others")
    figure = new_figure(11, 3.8)
    grid = figure.add_gridspec(1, 3, width_ratios=(1.05, 1.05, 1.05))
    _draw_space(figure.add_subplot(grid[0], projection="3d"), study)
    _draw_simplex(figure.add_subplot(grid[1]), study)
    terms = figure.add_subplot(grid[2])
    _draw_late_terms(terms, study)
    figure.legend(*terms.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _draw_space(axes: Any, study: AxesStudy) -> None:  # noqa: ANN401 - mplot3d has no types
    """Draw the paths in space, over the simplex."""
    axes.plot(*np.eye(3)[[0, 1, 2, 0]].T, color=QUIET, linestyle="dashed", linewidth=1)
    # The first stage is shared: the wide line below stays visible on both sides of the narrow one.
    for row, trajectory in enumerate(study.trajectories):
        width = 3.2 / (1 + 1.3 * row)
        look = method_style(trajectory.method)
        path = np.array(trajectory.points)
        axes.plot(*path.T, color=look.colour, linewidth=width, label=look.label)
        axes.plot(*path[[0, -1]].T, "o", color=look.colour, markersize=3 + width)
    axes.set(xlim=(0, 1), ylim=(0, 1), zlim=(0, 1), xlabel="x", ylabel="y", zlabel="z")
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        # x and y end in one corner, where two numbers would collide.
        axis.set_ticks((0, 0.5, 1), ("0", "0.5", "1" if axis is axes.zaxis else ""))
        axis.labelpad = -1
    axes.tick_params(pad=0)
    axes.set_title("Trajectories", loc="left")
    axes.view_init(elev=22, azim=48)
    axes.set_box_aspect(None, zoom=0.92)  # a larger one cuts off the name of the z axis


def _draw_simplex(axes: Axes, study: AxesStudy) -> None:
    """Draw the same paths on the flat simplex, each point coloured by its step."""
    axes.plot(*CORNERS[[0, 1, 2, 0]].T, color=QUIET, linestyle="dashed", linewidth=1)
    steps = len(study.trajectories[0].points) - 1
    for row, trajectory in enumerate(study.trajectories):
        look, colours = method_style(trajectory.method), time_colours(trajectory.method)
        x, y = (np.array(trajectory.points) @ CORNERS).T
        when, size = np.arange(steps + 1), 48 / (1 + 3.4 * row)
        dots = axes.scatter(x, y, s=size, c=when, cmap=colours, marker=look.marker, linewidths=0)
        dots.set(label=look.label, zorder=3 + row)
        key = axes.inset_axes((0, 0.84 - 0.085 * row, 0.2, 0.05))
        key.imshow(when[None], cmap=colours, aspect="auto")
        key.set_axis_off()
    axes.text(0, 0.91, f"step 0 to {steps}", transform=axes.transAxes, size=8.5)
    for name, corner, shift in zip(AXIS_NAMES, CORNERS, ((-9, -3), (9, -3), (0, 9)), strict=True):
        axes.annotate(name, corner, shift, textcoords="offset points", ha="center", va="center")
    axes.set(xlim=(-0.08, 1.08), ylim=(-0.1, 1.0), aspect="equal", title="On the simplex")
    axes.set_axis_off()


def _draw_late_terms(axes: Axes, study: AxesStudy) -> None:
    """Draw the magnitude of the z axis's update term against the step."""
    for trajectory in study.trajectories:
        late = [abs(term[-1]) for term in trajectory.update_terms]
        plot_method(axes, range(1, len(late) + 1), late, trajectory.method)
    wipeouts = zip(study.wiped_at, AXIS_NAMES, strict=True)
    marks = [(_switch_step(study), "loss switches")]
    marks += [(step, f"{axis} wiped out") for step, axis in wipeouts if step]
    for step, event in marks:
        axes.axvline(step, color=INK, linewidth=0.8, linestyle="dotted")
        at = axes.get_xaxis_transform()
        axes.text(step - 1, 0.5, event, transform=at, rotation=90, ha="right", va="center", size=8.5)
    axes.set_yscale("log")
    label_panel(axes, "Update term of the z axis", x="step", y="magnitude")


def _switch_step(study: AxesStudy) -> int:
    """Find the last step before the last axis's penalties turn into rewards."""
    late = np.sign([term[-1] for term in study.trajectories[0].update_terms])
    return int(np.argmax(late != late[0]))


@house_style()
def draw_toy_2d(study: AxesStudy) -> Figure:
    """Draw paths, distances and updates in 2D (Figs. 4, 5 and 7)."""
    figure = new_figure(10.5, 3.4)
    plane, distance, magnitude = figure.subplots(1, 3, width_ratios=(0.85, 1, 1))
    _draw_plane(plane, study)
    for trajectory in study.trajectories:
        gaps = np.linalg.norm(np.array(trajectory.points) - np.array(study.optimum), axis=1)
        terms = np.linalg.norm(trajectory.update_terms, axis=1)
        plot_method(distance, range(len(gaps)), gaps.tolist(), trajectory.method)
        plot_method(magnitude, range(1, len(terms) + 1), terms.tolist(), trajectory.method)
    label_panel(distance, "Distance from the optimum", x="step", y="Euclidean distance")
    label_panel(magnitude, "Magnitude of the update terms", x="step", y="Euclidean norm")
    distance.set_ylim(bottom=0)
    magnitude.set_ylim(bottom=0)
    figure.legend(*distance.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _draw_plane(axes: Axes, study: AxesStudy) -> None:
    """Draw the paths over contour lines; all lie on the simplex, so longer ones are wider."""
    if study.problem not in PLANE_LOSSES:
        known = ", ".join(PLANE_LOSSES)
        raise ConfigError(f"no contour lines for the problem {study.problem!r}; known are {known}")
    x, y = np.meshgrid(np.linspace(-0.1, 1.1, 121), np.linspace(-0.1, 1.1, 121))
    loss = PLANE_LOSSES[study.problem](x, y)
    axes.contour(x, y, loss, levels=12, colors="#cfd5dc", linestyles="solid", linewidths=0.9)
    axes.plot((0, 1), (1, 0), color=INK, linestyle="dashed", linewidth=1, label="simplex")
    paths = {t.method: np.array(t.points) for t in study.trajectories}
    longest_first = sorted(paths, key=lambda method: -float(np.ptp(paths[method][:, 0])))
    for row, method in enumerate(longest_first):
        width = max(1.0, 6.5 - 2.6 * row)
        look = method_style(method)
        ends = paths[method][[0, -1]]
        axes.plot(*paths[method].T, color=look.colour, linewidth=width, label=look.label)
        axes.plot(*ends.T, "o", color=look.colour, markersize=width + 4, markeredgecolor="white")
    ticks, limits = (0, 0.5, 1), (-0.08, 1.08)
    axes.set(xlim=limits, ylim=limits, xticks=ticks, yticks=ticks, aspect="equal")
    axes.grid(visible=False)
    axes.set(title="Trajectories, ℓ = " + study.loss.replace("-", "−"), xlabel="x", ylabel="y")


@house_style()
def draw_attenuation(record: Attenuation) -> Figure:
    """Draw the factor by which softmax shrinks a gradient (Fig. 6)."""
    figure = new_figure(8, 3)
    simplex, logit = figure.subplots(1, 2, sharey=True)
    colour = method_style("gd").colour
    simplex.plot(record.x, record.along_simplex, color=colour, linewidth=1.8)
    logit.plot(record.logit, record.against_logit, color=colour, linewidth=1.8)
    label_panel(simplex, "Along the simplex", x="$x$", y="attenuation factor $x(1 - x)$")
    label_panel(logit, r"Against $\alpha_x$, with $\alpha_y = 0$", x=r"$\alpha_x$", y="")
    logit.set_xticks(range(-10, 11, 5))
    simplex.set_ylim(bottom=0)
    return figure


@house_style()
def draw_stochastic(study: SelectionStudy) -> Figure:
    """Draw regret and correct selection (Fig. 8), and the growth claimed for the regret.

    Bars are two standard errors each way, the difference that claims are judged by.
    """
    figure = new_figure(11, 5.6)
    (regret_n, regret_s, growth_xnas), (correct_n, correct_s, growth_gd) = figure.subplots(2, 3)
    # Each panel holds one of the two fixed, at the value that most settings share.
    noise = Counter(s.noise for s in study.selections).most_common(1)[0][0]
    experts = Counter(s.experts for s in study.selections).most_common(1)[0][0]
    for method in ("xnas", "gd"):
        by_experts = study.series(method, "0.1", noise=noise)
        by_noise = study.series(method, "0.1", experts=experts)
        _draw_selections(regret_n, correct_n, by_experts, [s.experts for s in by_experts])
        _draw_selections(regret_s, correct_s, by_noise, [s.noise for s in by_noise])
    label_panel(regret_n, rf"$\eta = 0.1$, noise $\sigma_R = {noise:g}$", x="", y="regret")
    label_panel(regret_s, rf"$\eta = 0.1$, $N = {experts}$ experts", x="", y="regret")
    label_panel(correct_n, "", x="experts $N$", y="correct selections")
    label_panel(correct_s, "", x=r"noise $\sigma_R$", y="correct selections")
    name_methods(regret_n)
    _draw_growth(growth_xnas, study.series("xnas", "optimal", noise=noise), r"\sqrt{\ln N}")
    _draw_growth(growth_gd, study.series("gd", "1", noise=noise), r"\sqrt{N}")
    at = rf"noise $\sigma_R = {noise:g}$"
    label_panel(growth_xnas, rf"Best rate $\eta^\ast$, {at}", x="", y="regret")
    label_panel(growth_gd, rf"$\eta = 1$, {at}", x="experts $N$", y="regret")
    figure.supxlabel(f"Bars: {BAR_ERRORS} standard errors each way", x=0.99, ha="right", size=8.5)
    return figure


def _draw_selections(
    regret: Axes, correct: Axes, series: Sequence[Selection], against: Sequence[float]
) -> None:
    """Draw one method's regret, and beneath it its share of correct selections."""
    method = series[0].method
    plot_errors(regret, against, [s.regret for s in series], [s.regret_error for s in series], method)
    plot_errors(correct, against, [s.correct for s in series], [s.correct_error for s in series], method)
    number_log_axis(regret, against)
    number_log_axis(correct, against)
    regret.set_yscale("log")


def _draw_growth(axes: Axes, series: Sequence[Selection], growth: str) -> None:
    """Draw regret against the number of experts, with the least-squares multiple of a growth."""
    experts = np.array([s.experts for s in series], dtype=np.float64)
    regret = [s.regret for s in series]
    shape = GROWTHS[growth](experts)
    scale = float(shape @ np.array(regret) / (shape @ shape))
    plot_errors(
        axes, experts.tolist(), regret, [s.regret_error for s in series], series[0].method, joined=False
    )
    fine = np.geomspace(experts[0], experts[-1], 100)
    label = rf"fit ${scale:.3g}\,{growth}$"
    axes.plot(fine, scale * GROWTHS[growth](fine), color=INK, linewidth=1, label=label)
    number_log_axis(axes, experts.tolist())
    axes.set_ylim(bottom=0)
    name_methods(axes)


@house_style()
def draw_adversary(study: AdversaryStudy) -> Figure:
    """Draw regret on the losses that Adam fails on, with Theorem 1 and a linear regret (Sec. 3.1)."""
    figure = new_figure(7, 3.8)
    axes = figure.subplots()
    axes.set(xscale="log", yscale="log")
    lines = [plot_method(axes, c.rounds, c.regret, c.method, marked=True) for c in study.curves]
    rounds = study.curves[0].rounds
    lines += axes.plot(rounds, study.bound, color=INK, linewidth=1, label="Theorem 1, no wipeout")
    worst = max(curve.regret[-1] / curve.rounds[-1] for curve in study.curves)
    linear = [2 * worst * t for t in rounds]  # above every curve, so that it hides none
    lines += axes.plot(rounds, linear, color=QUIET, linewidth=1, label="slope 1")
    for line in lines:
        end = (rounds[-1], np.asarray(line.get_ydata())[-1])
        text = str(line.get_label())
        axes.annotate(text, end, (7, 0), textcoords="offset points", va="center", size=8.5)
    axes.set(title="Losses " + study.loss.replace("-", "−"), xlabel="horizon T", ylabel="regret")
    return figure
