"""Charts for browsers: descriptions in the language of Vega-Lite, and the script that draws them.

The script comes from the package vl-convert (`pip install 'xnas[report]'`), which bundles Vega,
Vega-Lite and Vega-Embed without a network. A page without it has tables in place of the charts.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

from xnas.report.page.charts import Chart, Series, whole_ticks

HEIGHT, PANEL_HEIGHT, PANEL_WIDTH = 230, 104, 176
FEW = 12
"""Places of a line up to which each is marked."""
TICKS, PANEL_TICKS = 8, 4
"""Whole numbers on an axis at most."""
ROOM = 9
"""Between the outermost dots and the axes, in pixels."""
FLAT = 44
"""Letters of all names on an axis up to which they are not turned."""
DASH = 500
"""Size of a line in a legend: long enough to show its dashes."""
MANY = 2
"""Panels from which a chart is a grid of small ones."""


GLOBALS = "window.vegaEmbed = vegaEmbed;"
"""What the bundle leaves to the scripts of the page."""


def has_charts() -> bool:
    """Whether the package that draws charts is installed."""
    return find_spec("vl_convert") is not None


@cache
def script() -> str:
    """The script that draws charts, some 900 kB; it takes a second to bundle."""
    import vl_convert  # noqa: PLC0415 - an extra

    bundled: str = vl_convert.javascript_bundle(GLOBALS)
    return bundled


def version() -> str:
    """Of the script, as a part of a file's name."""
    from importlib.metadata import version as installed  # noqa: PLC0415

    return f"vega-{installed('vl-convert-python')}"


def data_of(chart: Chart) -> list[dict[str, Any]]:
    """The numbers of a chart, series by series; a page expands them into rows."""
    return [
        {
            "panel": panel.title,
            "series": one.name,
            "shape": one.shape,
            "x": list(one.places or chart.places),
            "y": [_rounded(value) for value in one.values],
            **({"label": list(one.labels)} if one.labels else {}),
        }
        for panel in chart.panels
        for one in panel.series
    ]


def vega_spec(chart: Chart) -> dict[str, Any]:
    """What Vega-Lite draws; `data` is named and comes from `data_of`."""
    layers = [_layer(chart, shape) for shape in _shapes(chart)]
    drawn: dict[str, Any] = {"layer": layers} if len(layers) > 1 else layers[0]
    grid = len(chart.panels) >= MANY
    spec: dict[str, Any] = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": f"{chart.title}. {chart.caption}",
        "data": {"name": "rows"},
    }
    if not grid:
        return spec | {"width": "container", "height": HEIGHT} | drawn
    order = [panel.title for panel in chart.panels]
    return spec | {
        "facet": {
            "field": "panel",
            "type": "nominal",
            "sort": order,
            "title": None,
            "header": {"labelAnchor": "start", "labelPadding": 2},
        },
        "columns": 4,
        "spacing": 14,
        "resolve": {"axis": {"x": "independent"}},  # else the columns that the last row lacks have one
        "spec": {"width": PANEL_WIDTH, "height": PANEL_HEIGHT} | drawn,
    }


def _shapes(chart: Chart) -> list[str]:
    return list(dict.fromkeys(one.shape for panel in chart.panels for one in panel.series))


MARKS: dict[str, dict[str, Any]] = {
    "line": {"type": "line", "strokeWidth": 1.8},
    "steps": {"type": "line", "strokeWidth": 1.8, "interpolate": "step-after"},
    "dots": {"type": "point", "filled": True, "size": 34, "opacity": 0.75},
    "bars": {"type": "bar"},
    "ticks": {"type": "tick", "thickness": 3, "size": 34},
}
"""How the shapes of series are drawn."""


def _layer(chart: Chart, shape: str) -> dict[str, Any]:
    """The series of one shape."""
    mark = MARKS[shape] | {"tooltip": True, "clip": chart.least is not None}
    few = shape == "line" and len(chart.panels) < MANY and _longest(chart) <= FEW
    if few or any(one.marked for one in _all(chart) if one.shape == shape):
        mark["point"] = {"size": 36}
    found: dict[str, Any] = {"mark": mark, "encoding": _axes(chart, shape) | _looks(chart, shape)}
    if len(_shapes(chart)) > 1:
        found["transform"] = [{"filter": f"datum.shape == '{shape}'"}]
    return found


def _axes(chart: Chart, shape: str) -> dict[str, Any]:
    """Both axes; a grid of panels has no room for their titles."""
    grid = len(chart.panels) >= MANY
    room = {"padding": ROOM} if "dots" in _shapes(chart) or _longest(chart) == 1 else {}
    x: dict[str, Any] = {"field": "x", "title": None if grid else chart.x}
    places = chart.all_places
    if any(isinstance(place, str) for place in places):
        letters = sum(len(str(place)) for place in places)
        x |= {"type": "nominal", "sort": None, "axis": {"labelAngle": 0 if letters < FLAT else -50}}
    else:
        x |= {"type": "quantitative", "scale": {"zero": False, "nice": False} | room}
        whole = [place for place in places if isinstance(place, int)]
        if places and len(whole) == len(places):
            ticks = whole_ticks(whole, PANEL_TICKS if grid else TICKS)
            x["axis"] = {"values": ticks, "format": "d"}
    low = {} if chart.least is None else {"domainMin": chart.least}
    scale = {"zero": chart.zero} | low | ({} if chart.zero else room)
    y = {
        "field": "y",
        "type": "quantitative",
        "title": None if grid else chart.y,
        "scale": scale,
    }
    offset = {"xOffset": {"field": "series"}} if shape == "bars" and len(chart.names) > 1 else {}
    return {"x": x, "y": y, **offset}


def _looks(chart: Chart, shape: str) -> dict[str, Any]:
    names = list(chart.names)
    colours = chart.colours
    legend: dict[str, Any] = {"orient": "top", "title": None, "symbolStrokeWidth": 3}
    if set(_shapes(chart)) <= {"line", "steps"}:  # else a line that is marked has a dashed disc
        legend |= {"symbolType": "stroke", "symbolSize": DASH}
    shown = legend if len(names) > 1 and chart.legend else None
    scale = {"domain": names, "range": [colours[name] for name in names]}
    looks: dict[str, Any] = {"color": {"field": "series", "scale": scale, "legend": shown}}
    if shape in {"line", "steps"} and len(_shapes(chart)) == 1 and len(names) > 1:
        dashes = [list(chart.dashes[name]) for name in names]
        looks["strokeDash"] = {
            "field": "series",
            "scale": {"domain": names, "range": dashes},
            "legend": shown,
        }
    tooltip = [
        {"field": "series", "title": "series"},
        {"field": "x", "title": chart.x or "place"},
        {"field": "y", "title": chart.y or "value", "format": ".4~g"},
    ]
    if any(one.labels for one in _all(chart)):
        tooltip.append({"field": "label", "title": "of"})
    return looks | {"tooltip": tooltip}


def _longest(chart: Chart) -> int:
    return max((len(one.values) for one in _all(chart)), default=0)


def _all(chart: Chart) -> list[Series]:
    return [one for panel in chart.panels for one in panel.series]


def _rounded(value: float | None) -> float | None:
    """Five digits are more than a screen shows; what is no number is left out."""
    if value is None or value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124
        return None
    return float(f"{value:.5g}")
