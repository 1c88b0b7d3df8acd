"""Figures: they show what the record says, look alike, and never differ by a byte."""

import subprocess
import sys
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from toy_studies import ADVERSARY, ATTENUATION, LATE_BLOOMER, NOISY, PLANE

from xnas.errors import ConfigError
from xnas.report.figures import METHOD_STYLES, method_style, save_figure, time_colours
from xnas.report.paper.forecaster import draw_forecaster
from xnas.report.paper.toys import (
    draw_adversary,
    draw_attenuation,
    draw_stochastic,
    draw_toy_2d,
    draw_toy_3d,
)
from xnas.space import SPACES

FIGURES = {
    "toy_3d": lambda: draw_toy_3d(LATE_BLOOMER),
    "toy_2d": lambda: draw_toy_2d(PLANE["quadratic"]),
    "attenuation": lambda: draw_attenuation(ATTENUATION),
    "stochastic": lambda: draw_stochastic(NOISY),
    "adversary": lambda: draw_adversary(ADVERSARY),
    "forecaster": lambda: draw_forecaster(SPACES["darts"].operations, wiped={"skip_connect"}),
}


def grey(colour):
    return float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114)))


@pytest.mark.slow
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


def test_time_runs_from_dark_to_light():
    for method in METHOD_STYLES:
        shades = [grey(time_colours(method)(t)) for t in np.linspace(0, 1, 20)]
        assert all(later > earlier for earlier, later in pairwise(shades))


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
        "import sys, pathlib; from xnas.report.figures import save_figure;"
        "from xnas.report.paper.forecaster import draw_forecaster;"
        "save_figure(draw_forecaster(('a', 'b')), pathlib.Path(sys.argv[1]), 'f');"
        "print('matplotlib.figure' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"]
