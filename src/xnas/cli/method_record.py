"""What `xnas methods --json` gives: all methods, or one of them, as plain values."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from xnas.cli.method_description import (
    MEMORY,
    SHOWN_SPACES,
    needs_of,
    rule_of,
    sorted_names,
)
from xnas.errors import ConfigError
from xnas.methods import METHODS, RegisteredMethod
from xnas.methods.costs import relative_cost
from xnas.methods.measured import MEASURED
from xnas.methods.published import BENCHMARK, CIFAR10
from xnas.methods.recipe import Recipe, Stage


def method_list() -> dict[str, Any]:
    """All methods, `xnas` first."""
    return {"methods": [_summary(name) for name in sorted_names()]}


def method_record(name: str) -> dict[str, Any]:
    """Everything about one method."""
    entry = METHODS[name]
    cifar, table = CIFAR10.get(name), BENCHMARK.get(name)
    return _summary(name) | {
        "rule": rule_of(entry),
        "spaces": {space: _protocol(entry, space) for space in SHOWN_SPACES},
        "published": {
            "cifar10": None if cifar is None else asdict(cifar),
            "nasbench201": None if table is None else asdict(table),
        },
    }


def _summary(name: str) -> dict[str, Any]:
    entry, figure, measured = METHODS[name], CIFAR10.get(name), MEASURED.get(name)
    needs = needs_of(entry)
    return {
        "name": name,
        "summary": entry.summary or None,
        "paper": entry.paper or None,
        "passes": entry.costs or None,
        "round_cost": relative_cost(entry.costs.removeprefix("less than ")),
        "measured_round_cost": None if measured is None else measured.rounds,
        "measured_gib": None if measured is None else measured.gib,
        "memory": MEMORY.get(name, "as xnas"),
        "needs": [] if needs == "-" else needs.split(", "),
        "error": None if figure is None else figure.error,
        "error_source": None if figure is None else figure.source,
    }


def _protocol(entry: RegisteredMethod, space: str) -> dict[str, Any]:
    try:
        stages = entry.stages_on(space)
    except ConfigError as refusal:
        return {"refusal": str(refusal), "recipe": None, "stages": []}
    recipe = _numbers(entry.recipe_on(space))
    return {"refusal": None, "recipe": recipe, "stages": [_numbers(stage) for stage in stages]}


def _numbers(given: Recipe | Stage) -> dict[str, Any]:
    """Fields with plain values; a function of the method's own becomes `"of its own"`."""
    values = {field.name: getattr(given, field.name) for field in fields(given)}
    return {
        name: "of its own"
        if callable(value)
        else value
        if value is None or isinstance(value, bool | int | float | str)
        else str(value)
        for name, value in values.items()
    }
