"""How every figure is drawn and saved: one colour per method, one style, reproducible files.

Figures are `matplotlib.figure.Figure` objects, without pyplot: no backend is selected, no window
and no list of open figures exists, and nothing needs closing. The style is laid over matplotlib's
own defaults, so a reader's matplotlibrc changes neither the look nor the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from xnas.errors import ConfigError

PNG_DPI = 150
INK = "#222831"
QUIET = "#9aa1ab"
BAR_ERRORS = 2
"""Standard errors that a bar is long, each way."""

STYLE: dict[str, object] = {
    "axes.axisbelow": True,
    "axes.edgecolor": QUIET,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "figure.constrained_layout.w_pad": 0.09,
    "font.size": 9,
    "grid.color": "#e4e7eb",
    "grid.linewidth": 0.7,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "svg.fonttype": "path",  # glyphs as outlines: the page that shows the picture needs no font
    "svg.hashsalt": "xnas",  # element ids are random without it
    "text.color": INK,
    "xtick.color": QUIET,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": QUIET,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8.5,
}


@dataclass(frozen=True, slots=True)
class MethodStyle:
    """How one method looks in every figure.

    Dashes and markers differ too, and the colours differ in lightness, so grey print loses nothing.
    """

    label: str
    colour: str
    dashes: str | tuple[float, tuple[float, ...]]
    marker: str


METHOD_STYLES = {
    "xnas": MethodStyle("XNAS", "#0f3d73", "solid", "o"),
    "xnas simplex": MethodStyle("XNAS, simplex reading", "#3a87bf", (0, (6, 1.5)), "D"),
    "gd": MethodStyle("GD with softmax", "#e8871e", (0, (3.5, 1.2)), "s"),
    "adam (0, 0.1)": MethodStyle("Adam, β = (0, 0.1)", "#c2456b", (0, (5, 1.2, 1, 1.2)), "^"),
    "adam (0.5, 0.999)": MethodStyle("Adam, β = (0.5, 0.999)", "#9aa86e", (0, (1.5, 1.2)), "v"),
}


def method_style(method: str) -> MethodStyle:
    """Look of a method, by the name that records use."""
    if method not in METHOD_STYLES:
        known = ", ".join(METHOD_STYLES)
        raise ConfigError(f"no colour is set for method {method!r}; figures know {known}")
    return METHOD_STYLES[method]


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the style of this package; also as a decorator. Restores earlier settings at the end."""
    with matplotlib.style.context(["default", STYLE]):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Empty figure, in inches, that makes room for its own labels."""
    return Figure(figsize=(width, height), layout="constrained")


def label_panel(axes: Axes, title: str, *, x: str, y: str) -> None:
    """Title and axis labels of one panel."""
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def plot_method(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    method: str,
    *,
    width: float = 1.8,
    marked: bool = False,
) -> Line2D:
    """Line of one method, in its colour and dashes, with its marker where points are few."""
    look = method_style(method)
    (line,) = axes.plot(
        x,
        y,
        color=look.colour,
        linestyle=look.dashes,
        linewidth=width,
        marker=look.marker if marked else "none",
        markersize=4.5,
        label=look.label,
    )
    return line


def plot_errors(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    errors: Sequence[float],
    method: str,
    *,
    joined: bool = True,
) -> None:
    """Means of one method, joined by its line or left to a fit, with bars of two standard errors.

    Caps are wider than markers, so that a short bar is seen too.
    """
    look = method_style(method)
    axes.errorbar(
        x,
        y,
        yerr=[BAR_ERRORS * error for error in errors],
        color=look.colour,
        linestyle=look.dashes if joined else "none",
        linewidth=1.6,
        marker=look.marker,
        markersize=3,
        elinewidth=1,
        capsize=3.5,
        capthick=1,
        label=look.label,
    )


def name_methods(axes: Axes) -> None:
    """Legend at the upper left that shows lines and markers, without their error bars."""
    handles, labels = axes.get_legend_handles_labels()
    plain = [h.lines[0] if isinstance(h, ErrorbarContainer) else h for h in handles]
    axes.legend(plain, labels, loc="upper left")


def number_log_axis(axes: Axes, values: Sequence[float]) -> None:
    """Make x logarithmic, with a tick at each value that was tried."""
    axes.set_xscale("log")
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.minorticks_off()


def time_colours(method: str) -> LinearSegmentedColormap:
    """Colours for the passing of time: the method's hue, from dark to light."""
    hue = to_rgb(method_style(method).colour)
    dark = tuple(0.45 * c for c in hue)
    light = tuple(c + 0.8 * (1 - c) for c in hue)
    return LinearSegmentedColormap.from_list(f"{method} in time", [dark, hue, light])


@house_style()
def save_figure(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Write `name.svg` and `name.png` into the folder, made if missing; return both paths.

    Neither holds a date or a version: drawn twice, the same record gives the same bytes.
    """
    _settle_layout(figure)
    folder.mkdir(parents=True, exist_ok=True)
    svg, png = folder / f"{name}.svg", folder / f"{name}.png"
    figure.savefig(svg, metadata={"Date": None, "Creator": None})
    figure.savefig(png, dpi=PNG_DPI, metadata={"Software": None})
    return svg, png


def _settle_layout(figure: Figure) -> None:
    """Lay the panels out once and round their places.

    The layout solver's last digits vary from run to run, and SVG names clips by a hash of them.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        x, y, width, height = (round(edge, 6) for edge in axes.get_position(original=True).bounds)
        axes.set_position((x, y, width, height))
