"""The parts of a search by sampling, for the terminal: each name with its line from the registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from textwrap import wrap
from typing import Any

from xnas.runs.sampling import sample  # noqa: F401 - registers all evaluators and pools
from xnas.runs.sampling.evaluators import EVALUATORS
from xnas.runs.sampling.pools import POOLS
from xnas.samplers import SAMPLERS, SamplerKind
from xnas.space import ENCODINGS

WIDTH = 100
BY_THE_RUN = {"evaluations"}
"""Settings that a run alone fills in."""


def part_lines() -> list[str]:
    """All samplers, evaluators and pools, one entry per name, and the spaces."""
    pools = {name: kind.summary for name, kind in POOLS.items()}
    evaluators = {name: kind.summary for name, kind in EVALUATORS.items()}
    samplers = {name: _sampler_text(kind) for name, kind in SAMPLERS.items()}
    return [
        *_section("samplers, for --sampler", samplers),
        "",
        *_section("evaluators, for --evaluator", evaluators),
        "",
        *_section("pools, for --pool", pools),
        "",
        f"spaces, for --space: {', '.join(ENCODINGS)}",
        "docs/sampling.md explains all of them",
    ]


def part_record() -> dict[str, Any]:
    """The same as plain values, for `--json`."""
    samplers = [
        {"name": name, "summary": kind.summary, "settings": _settings(kind)}
        for name, kind in SAMPLERS.items()
    ]
    evaluators = [{"name": name, "summary": kind.summary} for name, kind in EVALUATORS.items()]
    pools = [{"name": name, "summary": kind.summary} for name, kind in POOLS.items()]
    parts = {"samplers": samplers, "evaluators": evaluators, "pools": pools}
    return parts | {"spaces": list(ENCODINGS)}


def _settings(kind: SamplerKind) -> list[str]:
    return [declared.name for declared in fields(kind.settings) if declared.name not in BY_THE_RUN]


def _sampler_text(kind: SamplerKind) -> str:
    names = _settings(kind)
    return kind.summary + (f"; settings: {', '.join(names)}" if names else "")


def _section(title: str, texts: Mapping[str, str]) -> Iterator[str]:
    """A title and its entries; long ones continue below their own beginning."""
    yield title
    column = max(map(len, texts)) + 4
    for name, text in texts.items():
        first, *others = wrap(text, WIDTH - column, break_on_hyphens=False)
        yield f"  {name}".ljust(column) + first
        yield from (" " * column + line for line in others)
