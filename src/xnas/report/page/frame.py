"""The frame of all pages: blocks to HTML, with style, script and numbers in one file.

Templates escape every text. Numbers for scripts are JSON in which no character can end their element.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from xnas.report.colours import ink_on
from xnas.report.page.blocks import Block, Page, Picture
from xnas.report.page.charts import Chart
from xnas.report.page.graphs import CellGraph, CellGraphs, brief_name, line_width
from xnas.report.page.vega import data_of, vega_spec
from xnas.words import printable

TEMPLATES = Path(__file__).parent / "templates"
HARMFUL = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render(page: Page, *, script: str | None = None) -> str:
    """The page as one file. `script` draws the charts (`vega.script`); without it there are tables."""
    sections = [section for section in page.sections if section.blocks]
    blocks = [*page.summary, *(block for section in sections for block in section.blocks)]
    charts = [block for block in blocks if isinstance(block, Chart)]
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            sections=sections,
            payload=_payload(blocks),
            script=safe_script(script) if script and charts else None,
            drawn=bool(script),
        )
    )


def render_fragment(*blocks: Block) -> str:
    """Blocks for a notebook: no scripts, and a style that touches nothing else."""
    return _environment().get_template("fragment.html.j2").render(blocks=blocks)


def safe_json(value: object) -> Markup:
    """JSON for an element `script`, which nothing inside can close."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, default=str)
    return Markup("".join(HARMFUL.get(c, c) for c in text))  # noqa: S704 - escaped here


def safe_script(script: str) -> Markup:
    """A script of ours whose strings cannot close its element."""
    closed = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return Markup(closed)  # noqa: S704 - it is no user's


def _payload(blocks: list[Block]) -> Markup:
    """What the page's own script reads."""
    charts = {
        block.name: {"spec": vega_spec(block), "data": data_of(block)}
        for block in blocks
        if isinstance(block, Chart)
    }
    graphs = [_graphs(block) for block in blocks if isinstance(block, CellGraphs)]
    return safe_json({"charts": charts, "graphs": graphs[0] if graphs else None})


def _graphs(block: CellGraphs) -> dict[str, Any]:
    return {
        "epochs": block.epochs,
        "colours": block.colours,
        "inks": {name: ink_on(colour) for name, colour in block.colours.items()},
        "brief": {name: brief_name(name) for name in block.colours},
        "cells": [
            {
                "title": graph.title,
                "operations": graph.operations,
                "edges": [
                    {
                        "from": graph.name(e.source),
                        "to": graph.name(e.node),
                        "reason": e.reason,
                    }
                    for e in graph.edges
                ],
                "frames": [
                    {"weights": f.weights, "kept": f.kept, "chosen": f.chosen} for f in graph.frames
                ],
                "wiped": [
                    {"edge": w.edge, "expert": w.expert, "epoch": w.epoch, "round": w.round_index}
                    for w in graph.wiped
                ],
            }
            for graph in block.graphs
        ],
    }


def anchor(title: str) -> str:
    """A heading as the target of a link."""
    return "".join(c if c.isalnum() else "-" for c in title.lower()).strip("-")


def data_uri(picture: Picture) -> str:
    """A picture inside the page."""
    return f"data:{picture.media};base64,{base64.b64encode(picture.data).decode('ascii')}"


def grouped(blocks: Sequence[Block]) -> list[tuple[bool, list[Block]]]:
    """Blocks in their order, charts that follow each other together: whether they are, and which."""
    return [
        (charts, list(group)) for charts, group in groupby(blocks, lambda one: isinstance(one, Chart))
    ]


def strong_edges(graph: CellGraph) -> list[dict[str, Any]]:
    """How the edges of the last frame look: those that are kept last, so that they lie on top."""
    last = graph.frames[-1]
    return [
        {
            "index": index,
            "edge": edge,
            "path": graph.path(edge),
            "place": graph.label_place(edge),
            "expert": last.chosen[index],
            "label": brief_name(graph.operations[last.chosen[index]]) if last.chosen[index] >= 0 else "",
            "operation": graph.operations[last.chosen[index]] if last.chosen[index] >= 0 else "",
            "weight": max(last.weights[index], default=0.0) if last.weights else 1.0,
            "kept": index in last.kept,
        }
        for index, edge in enumerate(graph.edges)
    ]


def _visible(value: object) -> object:
    """Every text that a template shows, without control characters; markup of ours stays."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    found.filters |= {"anchor": anchor, "data_uri": data_uri, "grouped": grouped}
    found.filters |= {"line_width": line_width, "strong_edges": strong_edges, "ink_on": ink_on}
    found.globals |= {"raw_file": lambda name: Markup((TEMPLATES / name).read_text(encoding="utf8"))}  # noqa: S704 - files of this package
    return found
