"""Charts as figures for papers."""

import math
from itertools import pairwise

import pytest

from xnas.report.page.chart_figures import draw_chart, save_chart
from xnas.report.page.charts import Chart, Panel, Series, line_chart


def chart(panels=1, **looks):
    series = (
        Series(name="one", values=(1.0, None, 3.0)),
        Series(name="two", values=(2.0, 2.0, 2.0), **looks),
    )
    drawn = tuple(Panel(title=f"panel {k}", series=series) for k in range(panels))
    return Chart(name="c", title="T", caption="", x="x", y="y", places=(1, 2, 3), panels=drawn)


def test_lines_have_the_colours_of_the_page_and_gaps_stay():
    drawn = chart()
    first, second = draw_chart(drawn).axes[0].get_lines()
    assert (first.get_color(), second.get_color()) == tuple(drawn.colours.values())
    assert math.isnan(first.get_ydata()[1])
    assert first.get_linestyle() != second.get_linestyle()


def test_panels_stand_in_rows_and_share_their_legend():
    figure = draw_chart(chart(panels=6))
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes if axes.axison]
    assert len(titles) == 6
    assert len(figure.legends) == 1


@pytest.mark.parametrize("shape", ["dots", "steps"])
def test_other_shapes_are_drawn(shape):
    line = draw_chart(chart(shape=shape)).axes[0].get_lines()[1]
    assert line.get_drawstyle() == ("steps-post" if shape == "steps" else "default")
    assert line.get_marker() == ("." if shape == "dots" else "None")


def test_bars_of_two_series_stand_side_by_side():
    series = tuple(Series(name=n, values=(1.0, 2.0), shape="bars") for n in ("a", "b"))
    bars = Chart(
        name="b",
        title="",
        caption="",
        x="",
        y="",
        places=("p", "q"),
        panels=(Panel(title="", series=series),),
        zero=True,
    )
    axes = draw_chart(bars).axes[0]
    edges = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches)
    assert all(right <= left + 1e-9 for (_, right), (left, _) in pairwise(edges))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["p", "q"]


def test_a_single_point_is_marked():
    one = line_chart("gap", "", "", places=[3], series={"cell": [1.0]})
    assert draw_chart(one).axes[0].get_lines()[0].get_marker() == "o"


def test_three_files_are_written_the_same_each_time(tmp_path):
    first = [path.read_bytes() for path in save_chart(chart(), tmp_path / "a")]
    second = [path.read_bytes() for path in save_chart(chart(), tmp_path / "b")]
    assert first == second
    assert {path.suffix for path in (tmp_path / "a").iterdir()} == {".svg", ".png", ".pdf"}
