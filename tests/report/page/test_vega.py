"""What browsers draw of a chart."""

import json
import math

import pytest

from xnas.report.page import vega
from xnas.report.page.charts import Chart, Panel, Series, line_chart
from xnas.report.page.vega import data_of, vega_spec

LINES = line_chart(
    "loss", "Loss", "It falls.", places=range(20), series={"train": [1.0] * 20, "valid": [None] * 20}
)


def bars():
    series = tuple(Series(name=n, values=(1.0, 2.0), shape="bars") for n in ("regret", "bound"))
    panels = (Panel(title="", series=series),)
    return Chart(name="b", title="", caption="", x="", y="", places=("0", "1"), panels=panels)


def test_a_chart_says_in_words_what_it_shows():
    assert vega_spec(LINES)["description"] == "Loss. It falls."


def test_series_have_their_colours_and_dashes():
    encoding = vega_spec(LINES)["encoding"]
    assert encoding["color"]["scale"]["domain"] == ["train", "valid"]
    assert len(encoding["strokeDash"]["scale"]["range"]) == 2


def test_several_panels_become_a_grid_in_their_order():
    panels = tuple(Panel(title=name, series=LINES.panels[0].series) for name in ("z", "a"))
    grid = vega_spec(
        Chart(name="g", title="", caption="", x="", y="", places=LINES.places, panels=panels)
    )
    assert grid["facet"]["sort"] == ["z", "a"]
    assert [
        row["panel"]
        for row in data_of(
            Chart(name="g", title="", caption="", x="", y="", places=LINES.places, panels=panels)
        )
    ] == ["z", "z", "a", "a"]


def test_bars_of_several_series_stand_side_by_side():
    encoding = vega_spec(bars())["encoding"]
    assert encoding["xOffset"] == {"field": "series"}
    assert encoding["x"]["type"] == "nominal"


def test_few_points_are_marked_as_a_line_of_one_is_not_seen():
    short = line_chart("gap", "", "", places=[3], series={"cell": [1.0]})
    assert vega_spec(short)["mark"]["point"]
    assert "point" not in vega_spec(LINES)["mark"]


@pytest.mark.parametrize("count", [1, 2, 3, 8, 50, 1500])
def test_an_axis_of_epochs_has_whole_numbers_each_once(count):
    few = line_chart("loss", "", "", places=range(1, count + 1), series={"a": [1.0] * count})
    axis = vega_spec(few)["encoding"]["x"]["axis"]
    assert axis["values"] == sorted(set(axis["values"]))
    assert all(isinstance(tick, int) and 1 <= tick <= count for tick in axis["values"])
    assert 1 <= len(axis["values"]) <= vega.TICKS
    sizes = line_chart("size", "", "", places=[0.5, 1.5], series={"a": [1.0, 2.0]})
    assert "axis" not in vega_spec(sizes)["encoding"]["x"]


def test_lines_stand_in_the_legend_as_lines():
    encoding = vega_spec(LINES)["encoding"]
    assert encoding["color"]["legend"]["symbolType"] == "stroke"
    assert encoding["strokeDash"]["legend"] == encoding["color"]["legend"]
    assert "symbolType" not in vega_spec(bars())["encoding"]["color"]["legend"]


def front(*values):
    """Dots, and a front that may have one point only."""
    series = (
        Series(name="all", values=(60.0, 90.0), places=(1.0, 2.0), shape="dots"),
        Series(name="front", values=values, places=(2.0,), shape="steps", marked=True),
    )
    panels = (Panel(title="", series=series),)
    return Chart(name="f", title="", caption="", x="", y="", places=(), panels=panels, least=59.0)


def test_the_best_cell_stands_clear_of_the_axes_and_a_front_of_one_point_is_seen():
    dots, line = vega_spec(front(90.0))["layer"]
    assert dots["encoding"]["x"]["scale"]["padding"] > 0
    assert dots["encoding"]["y"]["scale"] == {"zero": False, "domainMin": 59.0, "padding": vega.ROOM}
    assert line["mark"]["point"]
    assert "padding" not in vega_spec(LINES)["encoding"]["x"]["scale"]


def test_columns_that_the_last_row_of_panels_lacks_have_no_axis():
    panels = tuple(Panel(title=str(k), series=LINES.panels[0].series) for k in range(5))
    grid = vega_spec(
        Chart(name="g", title="", caption="", x="", y="", places=LINES.places, panels=panels)
    )
    assert grid["resolve"] == {"axis": {"x": "independent"}}


def test_shapes_are_drawn_in_layers():
    series = (
        Series(name="trial", values=(1.0,), shape="dots", labels=("cell 0",)),
        Series(name="best", values=(1.0,), shape="steps", places=(4,)),
    )
    mixed = Chart(
        name="m", title="", caption="", x="", y="", places=(1,), panels=(Panel(title="", series=series),)
    )
    spec = vega_spec(mixed)
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["point", "line"]
    assert {"field": "label", "title": "of"} in spec["layer"][0]["encoding"]["tooltip"]
    assert data_of(mixed)[1]["x"] == [4]


def test_what_is_no_number_is_left_out_of_the_data():
    odd = line_chart("o", "", "", places=range(4), series={"a": [math.nan, math.inf, None, 0.1234567]})
    assert data_of(odd)[0]["y"] == [None, None, None, 0.12346]
    json.dumps(data_of(odd), allow_nan=False)


def test_the_script_defines_what_pages_call():
    pytest.importorskip("vl_convert")
    assert vega.has_charts()
    found = vega.script()
    assert "window.vegaEmbed" in found
    assert len(found) < 1_500_000  # of the 3 MB that a report may have
    assert vega.version().startswith("vega-")
