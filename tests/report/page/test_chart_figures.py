"""Charts as figures for papers."""

import math
from itertools import pairwise

import pytest

from xnas.report.page.chart_figures import draw_chart, save_chart
from xnas.report.page.charts import Chart, Panel, Series, line_chart
from xnas.space import SPACES


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


@pytest.mark.parametrize("names", [("xnas", "darts"), ("sample-evolution", "a-long-entry-name", "xnas")])
def test_names_below_an_axis_are_turned_where_they_would_touch(names):
    series = (
        Series(name="mean", values=(1.0,) * len(names), places=names, shape="ticks"),
        Series(name="a seed", values=(1.0,) * len(names), places=names, shape="dots"),
    )
    panels = (Panel(title="", series=series),)
    figure = draw_chart(Chart(name="r", title="", caption="", x="", y="", places=names, panels=panels))
    figure.draw_without_rendering()
    labels = figure.axes[0].get_xticklabels()
    assert [label.get_text() for label in labels] == list(names)
    assert labels[0].get_rotation() == (0 if len(names) == 2 else 25)
    boxes = [label.get_window_extent() for label in labels]
    if len(names) == 2:
        assert boxes[0].x1 < boxes[1].x0


def test_a_single_point_is_marked():
    one = line_chart("gap", "", "", places=[3], series={"cell": [1.0]})
    assert draw_chart(one).axes[0].get_lines()[0].get_marker() == "o"


def test_epochs_are_whole_numbers():
    few = line_chart("loss", "", "", places=[1, 2], series={"a": [1.0, 2.0]})
    axes = draw_chart(few).axes[0]
    shown = [tick for tick in axes.get_xticks() if 1 <= tick <= 2]
    assert shown == [1, 2]


def test_what_begins_at_zero_ends_above_its_largest_value():
    flat = line_chart("memory", "", "", places=[1, 2], series={"a": [861.0, 862.0]}, zero=True)
    low, high = draw_chart(flat).axes[0].get_ylim()
    assert low == 0
    assert high > 900
    nothing = line_chart("memory", "", "", places=[1, 2], series={"a": [0.0, 0.0]}, zero=True)
    assert draw_chart(nothing).axes[0].get_ylim()[0] == 0


@pytest.mark.parametrize("panels", [1, 2, 6])
def test_a_legend_of_long_names_stays_inside(panels):
    series = tuple(Series(name=name, values=(1.0, 2.0)) for name in SPACES["darts"].operations)
    drawn = tuple(Panel(title=f"stage {k}", series=series) for k in range(panels))
    figure = draw_chart(Chart(name="r", title="", caption="", x="", y="", places=(1, 2), panels=drawn))
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width


def test_a_legend_names_series_that_the_first_panel_lacks():
    first = Panel(title="a", series=(Series(name="seed 0", values=(1.0,)),))
    second = Panel(title="b", series=(Series(name="seed 1", values=(1.0,)),))
    figure = draw_chart(
        Chart(name="r", title="", caption="", x="", y="", places=(1,), panels=(first, second))
    )
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["seed 0", "seed 1"]


def test_points_of_a_front_are_marked_and_a_line_beside_dots_is_solid():
    dots = Series(name="all", values=(1.0, 2.0), shape="dots")
    front = Series(name="front", values=(1.0, 2.0), shape="steps", marked=True)
    panels = (Panel(title="", series=(dots, front)),)
    chart_ = Chart(name="f", title="", caption="", x="", y="", places=(1, 2), panels=panels)
    line = draw_chart(chart_).axes[0].get_lines()[1]
    assert (line.get_marker(), line.get_linestyle()) == ("o", "-")


def test_three_files_are_written_the_same_each_time(tmp_path):
    first = [path.read_bytes() for path in save_chart(chart(), tmp_path / "a")]
    second = [path.read_bytes() for path in save_chart(chart(), tmp_path / "b")]
    assert first == second
    assert {path.suffix for path in (tmp_path / "a").iterdir()} == {".svg", ".png", ".pdf"}
