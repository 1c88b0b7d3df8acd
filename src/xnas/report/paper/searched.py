"""Figures of regret in the game that nobody wins, and of entropy by weight decay (Sec. 3.1, Fig. 2)."""

from __future__ import annotations

from statistics import mean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from xnas.records import CoinGame, CoinStudy, EntropyStudy
from xnas.report.figures import (
    INK,
    QUIET,
    house_style,
    label_panel,
    method_style,
    name_methods,
    new_figure,
    number_log_axis,
    plot_errors,
)

DARTS_COLOUR = "#c2456b"
DARTS_DECAY = 1e-3
ZERO_AT = 0.1
"""Where no decay at all stands on a logarithmic axis: at this share of the smallest one."""


@house_style()
def draw_coins(study: CoinStudy) -> Figure:
    """Draw regret against rounds, and its share of the upper bound against experts."""
    figure = new_figure(9, 3.4)
    against_rounds, against_experts = figure.subplots(1, 2)
    by_rounds, by_experts = _varied(study, "rounds"), _varied(study, "experts")
    for method in ("xnas", "gd"):
        games = [game for game in by_rounds if game.method == method]
        rounds = [game.rounds for game in games]
        errors = [game.regret_error for game in games]
        plot_errors(against_rounds, rounds, [game.regret for game in games], errors, method)
        games = [game for game in by_experts if game.method == method]
        experts = [game.experts for game in games]
        shares = [game.regret / game.bound for game in games]
        errors = [game.regret_error / game.bound for game in games]
        plot_errors(against_experts, experts, shares, errors, method, joined=False)
    ours = [game for game in by_rounds if game.method == "xnas"]
    against_rounds.plot(
        [g.rounds for g in ours], [g.bound for g in ours], color=INK, linewidth=1, label="Theorem 1"
    )
    against_rounds.set_yscale("log")
    ours = [game for game in by_experts if game.method == "xnas"]
    limit = [game.expected / game.bound for game in ours]
    against_experts.plot(
        [g.experts for g in ours], limit, color=QUIET, linewidth=1, label="limit for many rounds"
    )
    against_experts.axhline(1, color=INK, linewidth=1)
    against_experts.set_ylim(0, 1.1)
    number_log_axis(against_rounds, [g.rounds for g in by_rounds])
    number_log_axis(against_experts, [g.experts for g in by_experts])
    label_panel(against_rounds, f"{by_rounds[0].experts} experts", x="rounds $T$", y="regret")
    title = f"{by_experts[0].rounds} rounds"
    label_panel(against_experts, title, x="experts $N$", y="regret / bound")
    name_methods(against_rounds)
    name_methods(against_experts)
    return figure


def _varied(study: CoinStudy, name: str) -> list[CoinGame]:
    """The games in which rounds, or experts, take the most values while the other is fixed."""
    other = "experts" if name == "rounds" else "rounds"
    groups: dict[int, list[CoinGame]] = {}
    for game in study.games:
        groups.setdefault(getattr(game, other), []).append(game)
    chosen = max(groups.values(), key=len)
    return sorted(chosen, key=lambda game: int(getattr(game, name)))


@house_style()
def draw_entropy(study: EntropyStudy) -> Figure:
    """Draw mean normalised entropy, and accuracy lost, against the weight decay of logits (Fig. 2)."""
    figure = new_figure(9, 3.4)
    entropy, lost = figure.subplots(1, 2)
    smallest = min(decay for decay in study.decays if decay > 0)
    places = {decay: decay or ZERO_AT * smallest for decay in study.decays}
    _draw_decays(entropy, study, places, lost=False)
    _draw_decays(lost, study, places, lost=True)
    for axes in (entropy, lost):
        axes.set_xscale("log")
        axes.set_xticks(list(places.values()), [f"{decay:g}" for decay in places])
        axes.minorticks_off()
    label_panel(entropy, "Density of mixtures", x="weight decay of logits", y="normalised entropy")
    label_panel(lost, "Lost at discretization", x="weight decay of logits", y="points of accuracy")
    entropy.legend()
    return figure


def _draw_decays(axes: Axes, study: EntropyStudy, places: dict[float, float], *, lost: bool) -> None:
    """Draw every seed as a point, means as a line, DARTS's own setting in red, XNAS as a level."""
    values: dict[float | None, list[float]] = {}
    for point in study.points:
        loss = 100 * (point.mixture_accuracy - point.cell_accuracy)
        values.setdefault(point.weight_decay, []).append(loss if lost else point.entropy)
    colour = method_style("gd").colour
    means = [mean(values[decay]) for decay in places]
    axes.plot(list(places.values()), means, color=colour, linewidth=1.8, label="DARTS, mean")
    for decay, place in places.items():
        red = DARTS_COLOUR if decay == DARTS_DECAY else colour
        axes.plot([place] * len(values[decay]), values[decay], "o", color=red, markersize=5)
    if None in values:
        axes.axhline(mean(values[None]), color=method_style("xnas").colour, linewidth=1.2, label="XNAS")
