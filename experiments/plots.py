"""Pictures of docs/results.md, drawn from result lines alone: one line per seed, one colour per variant.

Drawn twice, the same lines give the same bytes. Another release of matplotlib may draw them otherwise,
so a picture also says what it was drawn from and by which release: see `fresh`.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import cell_tables
import limited_tables
from compare_cells import CELLS, FOUND, RANDOM, SEEDS, found_genotypes
from jobs import Record
from limited_searches import SMALLEST
from result_tables import NOTHING, Results
from searches import SETS
from xnas.report.cell_figure import draw_genotype
from xnas.report.figures import INK, QUIET, house_style, label_panel, new_figure, save_figure

PREFIX = "results-"
BEST_CELL = 94.37
"""True accuracy of the best cell of NAS-Bench-201."""
COLOURS = {
    "default": "#0f3d73",
    "faithful": "#e8871e",
    "darts": "#c2456b",
    "no-wipeout": "#66707c",
    "relaxation-0.1": "#3a87bf",
    "relaxation-0.03": "#2a7f66",
    "no-skip-dropout": "#8048a8",
    "random": "#66707c",
    "published": "#c2456b",
}
DASHES: tuple[str | tuple[float, tuple[float, ...]], ...] = (
    *("solid", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5))),
)
TINT = 0.2
MARKERS = ("o", "s", "^", "D")
TICKS = (100, 200, 400, 800)
"""Thousands of parameters."""
STAMP = re.compile(rb"<!-- drawn from ([0-9a-f]{16}) by matplotlib ([^ ]+) -->\n")

Curve = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class Plot:
    """A picture, what it is drawn from, and what it says to those who do not see it."""

    data: Callable[[Results], object]
    """Plain values; empty if there is nothing to draw."""
    draw: Callable[[Results], Figure]
    says: str


def pictures(results: Results) -> dict[str, bytes]:
    """SVG files by name, of all that has data."""
    return {f"{PREFIX}{name}.svg": _svg(plot, results) for name, plot in _with_data(results)}


def picture(name: str) -> Callable[[Results], str]:
    """The place of a plot in the document."""

    def shown(results: Results) -> str:
        plot = PLOTS[name]
        return _link(name, plot) if plot.data(results) else f"No plot: {NOTHING}."

    return shown


def drawn_cells(results: Results) -> str:
    """The places of the cells that were found."""
    parts = []
    for cell in FOUND:
        plot = PLOTS[f"cell-{cell.name}"]
        shown = _link(f"cell-{cell.name}", plot) if plot.data(results) else f"N{NOTHING[1:]}."
        parts.append(f"`{cell.name}`\n\n{shown}")
    return "\n\n".join(parts)


def fresh(saved: bytes, made: bytes) -> bool:
    """Whether a saved picture is what would be made; of one by another release, whether its data is."""
    (data, release), (wanted, ours) = (_stamp(content) for content in (saved, made))
    return saved == made if release == ours else data == wanted


def _link(name: str, plot: Plot) -> str:
    return f"![{plot.says}](images/{PREFIX}{name}.svg)"


def _with_data(results: Results) -> Iterator[tuple[str, Plot]]:
    return ((name, plot) for name, plot in PLOTS.items() if plot.data(results))


def _svg(plot: Plot, results: Results) -> bytes:
    digest = hashlib.sha256(json.dumps(plot.data(results)).encode()).hexdigest()[:16]
    with tempfile.TemporaryDirectory() as folder:
        drawn = save_figure(plot.draw(results), Path(folder), "plot")[0].read_bytes()
    stamp = f"<!-- drawn from {digest} by matplotlib {mpl.__version__} -->\n"
    return drawn.rstrip(b"\n") + b"\n" + stamp.encode()


def _stamp(content: bytes) -> tuple[bytes, bytes]:
    found = STAMP.search(content)
    return (found[1], found[2]) if found else (b"", b"")


def _over_epochs(line: Record, value: Callable[[Record], float | None]) -> Curve:
    """A number of every epoch that has it."""
    points = [(e["epoch"], v) for e in line["epochs"] if (v := value(e)) is not None]
    return [x for x, _ in points], [y for _, y in points]


def _curves(name: str, *values: Callable[[Record], float | None]) -> Callable[[Results], list[object]]:
    """What a plot of a set shows, as plain values."""

    def data(results: Results) -> list[object]:
        return [
            [line["variant"], line["seed"], [_over_epochs(line, value) for value in values]]
            for line in results.measured(SETS[name])
        ]

    return data


def _plot_seeds(
    axes: Axes,
    lines: Sequence[Record],
    value: Callable[[Record], float | None],
    *,
    marked: bool = False,
    nested: bool = False,
) -> None:
    """One line a search: the colour of its variant, the dashes and the tint of its seed.

    Nested lines get narrower, so that those that coincide are all seen.
    """
    for place, line in enumerate(lines):
        seed = line["seed"] % len(DASHES)
        axes.plot(
            *_over_epochs(line, value),
            color=_tinted(COLOURS[line["variant"]], seed),
            linestyle=DASHES[seed],
            linewidth=4 - 3 * place / len(lines) if nested else 1.5,
            marker=MARKERS[seed] if marked else "none",
            markersize=4,
            label=f"{line['variant']}, seed {line['seed']}",
        )


def _tinted(colour: str, seed: int) -> tuple[float, ...]:
    """Lighter from seed to seed."""
    return tuple(c + TINT * seed * (1 - c) for c in to_rgb(colour))


def _legend(figure: Figure, axes: Axes, columns: int) -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns)


def _truth(epoch: Record) -> float | None:
    return None if epoch["truth"] is None else float(epoch["truth"]["test_200"])


def _alive(epoch: Record) -> float:
    return float(sum(epoch["experts_alive"].values()))


def _round_ms(epoch: Record) -> float:
    return 1000 * float(epoch["cost"]["seconds_per_round"])


def _lost(epoch: Record) -> float | None:
    """Points of accuracy between the mixture and the cell; None where one was not measured."""
    gap = epoch["gap"]
    return None if gap is None or gap["cell"] is None else 100 * (gap["mixture"] - gap["cell"])


def _entropy(kind: str) -> Callable[[Record], float]:
    return lambda epoch: float(epoch["entropy"][kind])


@house_style()
def _draw_full(results: Results) -> Figure:
    lines = results.measured(SETS["full"])
    variants = list(dict.fromkeys(line["variant"] for line in lines))
    figure = new_figure(2.2 + 2.6 * len(variants), 3.4)
    panels = figure.subplots(1, len(variants), squeeze=False)[0]
    for axes, variant in zip(panels, variants, strict=True):
        axes.axhline(BEST_CELL, color=QUIET, linewidth=1, linestyle=(0, (4, 3)))
        _plot_seeds(axes, [line for line in lines if line["variant"] == variant], _truth)
        label_panel(axes, variant, x="epoch", y="true accuracy, %" if axes is panels[0] else "")
        axes.legend(*_named_by_seed(axes), loc="best")
    panels[0].annotate(
        "best cell", (0, BEST_CELL), (2, 3), textcoords="offset points", color=INK, size=8
    )
    return figure


def _named_by_seed(axes: Axes) -> tuple[list[Line2D], list[str]]:
    handles, labels = axes.get_legend_handles_labels()
    return [h for h in handles if isinstance(h, Line2D)], [label.split(", ")[-1] for label in labels]


@house_style()
def _draw_wipeout(results: Results) -> Figure:
    lines = results.measured(SETS["wipeout"])
    figure = new_figure(9, 3.9)
    left, right = figure.subplots(1, 2)
    _plot_seeds(left, lines, _alive, nested=True)
    label_panel(left, "experts alive", x="epoch", y="after the epoch")
    _plot_seeds(right, lines, _round_ms)
    label_panel(right, "a round", x="epoch", y="ms, other searches in parallel")
    for axes in (left, right):
        axes.set_ylim(bottom=0)
    _legend(figure, right, 4)
    return figure


@house_style()
def _draw_darts(results: Results) -> Figure:
    lines = results.measured(SETS["darts"])
    figure = new_figure(9, 6.4)
    (gap, alive), (normal, reduction) = figure.subplots(2, 2)
    gap.axhline(0, color=QUIET, linewidth=1)
    _plot_seeds(gap, lines, _lost, marked=True)
    label_panel(gap, "discretization gap: mixture minus cell", x="epoch", y="points of accuracy")
    _plot_seeds(alive, lines, _alive, nested=True)
    label_panel(alive, "experts alive", x="epoch", y="after the epoch")
    for axes, kind in ((normal, "normal"), (reduction, "reduction")):
        _plot_seeds(axes, lines, _entropy(kind))
        label_panel(axes, f"entropy of the mixtures, {kind} cell", x="epoch", y="share of the largest")
    for axes in (alive, normal, reduction):
        axes.set_ylim(bottom=0)
    _legend(figure, normal, 3)
    return figure


def _cell_points(results: Results) -> list[tuple[str, dict[int, float]]]:
    return [(name, seeds) for name, seeds in cell_tables.accuracies(results, CELLS).items() if seeds]


@house_style()
def _draw_cells(results: Results) -> Figure:
    """One column per cell and one mark per seed; a bar at the mean, a line at that of random cells."""
    points = dict(_cell_points(results))
    shown = [cell for cell in CELLS if cell.name in points]
    figure = new_figure(1.6 + 0.62 * len(shown), 3.9)
    axes = figure.add_subplot()
    means = {name: sum(seeds.values()) / len(seeds) for name, seeds in points.items()}
    chance = [means[cell.name] for cell in RANDOM if cell.name in means]
    if chance:
        axes.axhline(sum(chance) / len(chance), color=QUIET, linewidth=1, linestyle=(0, (4, 3)))
    for place, cell in enumerate(shown):
        colour = COLOURS[cell.origin]
        axes.plot([place - 0.3, place + 0.3], [means[cell.name]] * 2, color=colour, linewidth=2)
        for seed, accuracy in points[cell.name].items():
            mark = MARKERS[seed % len(MARKERS)]
            axes.plot(place, accuracy, mark, color=colour, markersize=5, markerfacecolor="white")
    axes.set_xticks(range(len(shown)), [cell.name for cell in shown], rotation=35, ha="right")
    label_panel(axes, "a mark a training, a bar the mean of a cell", x="", y="test accuracy, %")
    marks = [
        Line2D([], [], color=INK, marker=MARKERS[s], linestyle="none", markerfacecolor="white")
        for s in SEEDS
    ]
    figure.legend(marks, [f"seed {s}" for s in SEEDS], loc="outside lower center", ncols=len(SEEDS))
    return figure


@house_style()
def _draw_sizes(results: Results) -> Figure:
    """One mark per search, filled where prices were paid, with what is possible within the limits."""
    points = limited_tables.points(results)
    figure = new_figure(7.2, 4.2)
    axes = figure.add_subplot()
    for name, dashes, label in (
        ("best", "solid", "best cell within the limit"),
        ("mean", (0, (4, 3)), "mean of all cells within the limit"),
    ):
        limits, accuracies = zip(*points[name], strict=True)
        axes.plot(
            [SMALLEST, *limits],
            [accuracies[0], *accuracies],
            color=QUIET,
            linewidth=1,
            linestyle=dashes,
            drawstyle="steps-pre",  # a limit is for all sizes down to the one before
            label=label,
        )
    for name, colour, label in (
        ("found", COLOURS["default"], "found with prices"),
        ("alone", COLOURS["faithful"], "chosen at the end alone"),
    ):
        for size, accuracy, seed in points[name]:
            face = colour if name == "found" else "none"
            mark = MARKERS[seed % len(MARKERS)]
            axes.plot(size, accuracy, mark, color=colour, markersize=7, markerfacecolor=face)
        axes.plot([], [], MARKERS[0], color=colour, markerfacecolor=face, label=label)
    title = "a mark per search: circles seed 0, squares seed 1"
    label_panel(axes, title, x="parameters of the network, thousands", y="true accuracy, %")
    axes.set_xscale("log")
    axes.set_xticks([1000 * size for size in TICKS], [str(size) for size in TICKS])
    axes.minorticks_off()
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _cell_plot(name: str) -> Plot:
    def data(results: Results) -> object:
        found = found_genotypes(results.lines).get(name)
        return None if found is None else found.to_json()

    def draw(results: Results) -> Figure:
        return draw_genotype(found_genotypes(results.lines)[name])

    return Plot(data, draw, f"The cells that the search {name} found")


PLOTS = {
    "full": Plot(_curves("full", _truth), _draw_full, "True accuracy against epoch, one line per seed"),
    "wipeout": Plot(
        _curves("wipeout", _alive, _round_ms),
        _draw_wipeout,
        "Experts alive and milliseconds of a round against epoch, one line per seed",
    ),
    "darts": Plot(
        _curves("darts", _lost, _alive, _entropy("normal"), _entropy("reduction")),
        _draw_darts,
        "Discretization gap, experts alive and entropies against epoch, one line per search",
    ),
    **{f"cell-{cell.name}": _cell_plot(cell.name) for cell in FOUND},
    "cells": Plot(_cell_points, _draw_cells, "Test accuracy of every cell and seed"),
    "accuracy-by-size": Plot(
        limited_tables.points, _draw_sizes, "True accuracy against parameters of cells within limits"
    ),
}
