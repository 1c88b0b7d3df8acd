"""Descriptions of methods, for the terminal. A method's rule and departures head its module."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Iterator
from dataclasses import fields
from functools import partial

from xnas.errors import ConfigError
from xnas.methods import METHODS, RegisteredMethod
from xnas.methods.costs import relative_cost
from xnas.methods.measured import MEASURED
from xnas.methods.published import BENCHMARK, CIFAR10, SOURCES
from xnas.methods.recipe import NO_RECIPE, Recipe, Stage

SHOWN_SPACES = ("darts", "nasbench201")
MEMORY = {
    "darts2": "+ copies of weights",
    "lambda": "+ copies of weights",
    "oles": "+ copies of weights",
    "pc-darts": "less",
    "gaea-pc": "less",
    "drnas-progressive": "less",
    "asap": "falls",
    "dso": "falls",
    "xnas": "falls",
    "xnas-pt": "falls",
}
"""Compared with a round of XNAS that has all experts; of the others "as xnas"."""


ORDER = (
    "order of a round: first the weights' step, then the architecture's, as Algorithm 1 has it; most "
    "originals of other methods begin with the architecture (Departure)"
)


def method_table() -> list[str]:
    """All methods, one line per method, and what the columns mean."""
    rows: list[tuple[str, ...]] = [("name", "round", "memory", "needs", "error", "paper")]
    rows += [_row(name, METHODS[name]) for name in sorted_names()]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    return [
        *(line.rstrip() for line in lines),
        "",
        "round: cost in rounds of xnas, and memory, as measured on one H200 on the DARTS space;",
        "  ~ and < are estimates from the number of passes; their memory is compared with that of xnas",
        "error: of the published cell on CIFAR-10 in percent, with its source:",
        "  " + ", ".join(f"{source[0]} {words}" for source, words in SOURCES.items()),
        "xnas methods NAME prints rule, recipe and departures of one; docs/methods.md helps to choose",
    ]


def sorted_names() -> list[str]:
    """All methods, `xnas` first."""
    return sorted(METHODS, key=lambda name: (name != "xnas", name))


def method_lines(name: str) -> list[str]:
    """Everything about one method."""
    entry = METHODS[name]
    lines = [f"{name}: {entry.summary}" if entry.summary else name]
    lines += [entry.paper] if entry.paper else []
    if entry.costs:
        lines.append(
            f"a round: {entry.costs} (passes by the weights W, mixtures M, both J, forward F), "
            f"{_times(entry.costs)} rounds of xnas"
        )
    if measured := MEASURED.get(name):
        lines.append(f"measured on one H200: {measured.rounds:.2f} rounds of xnas, {measured.gib} GiB")
    lines += ["", *rule_of(entry).splitlines(), "", ORDER]
    for space in SHOWN_SPACES:
        lines += list(_protocol(entry, space))
    return lines + list(_figures(name))


def rule_of(entry: RegisteredMethod) -> str:
    """The text at the head of the module that a method comes from, or its own docstring."""
    factory = entry.factory
    while isinstance(factory, partial):
        factory = factory.func
    module = sys.modules.get(getattr(factory, "__module__", ""))
    own = module is not None and module.__name__.startswith("xnas.")
    return inspect.getdoc(module if own else factory) or "no description"


def recipe_words(recipe: Recipe) -> str:
    """The numbers that a recipe fixes, or that the package decides."""
    usual = Recipe()
    given = [
        f"{field.name.replace('_', ' ')} {_value(getattr(recipe, field.name))}"
        for field in fields(recipe)
        if getattr(recipe, field.name) != getattr(usual, field.name)
    ]
    return ", ".join(given) if recipe != NO_RECIPE else "the package's own numbers"


def stage_words(stage: Stage) -> str:
    """What a stage changes."""
    given = [
        f"{field.name.replace('_', ' ')} {_value(getattr(stage, field.name))}"
        for field in fields(stage)
        if field.name not in ("fresh_weights", "fresh_method") and getattr(stage, field.name) is not None
    ]
    kept = [] if stage.fresh_weights else ["keeps the weights"]
    kept += [] if stage.fresh_method else ["keeps the method"]
    return ", ".join(given + kept)


def needs_of(entry: RegisteredMethod) -> str:
    """What a search has to give to this method alone."""
    recipe = entry.recipe_on("darts")
    needs = []
    if recipe.halves == 1:
        needs.append("single level")
    if recipe.least_precision == "fp32":
        needs.append("fp32")
    if _stages(entry):
        needs.append("stages")
    if entry.measures:
        needs.append("measurements")
    parts = [recipe.partial_channels, *(stage.partial_channels for stage in _stages(entry))]
    if (divisor := math.lcm(*(part or 1 for part in parts))) > 1:
        needs.append(f"multiples of {divisor} channels")
    return ", ".join(needs) or "-"


def _row(name: str, entry: RegisteredMethod) -> tuple[str, ...]:
    figure, measured = CIFAR10.get(name), MEASURED.get(name)
    return (
        name,
        f"{measured.rounds:.2f}" if measured else _times(entry.costs),
        f"{measured.gib} GiB" if measured else MEMORY.get(name, "as xnas"),
        needs_of(entry),
        "-" if figure is None else f"{figure} {figure.source[0]}",
        entry.paper or "-",
    )


def _stages(entry: RegisteredMethod) -> tuple[Stage, ...]:
    return entry.stages_on(SHOWN_SPACES[0])


def _protocol(entry: RegisteredMethod, space: str) -> Iterator[str]:
    """The recipe on a space, and its stages, or why there is none."""
    try:
        stages = entry.stages_on(space)
    except ConfigError as refusal:
        yield f"on {space}: {refusal}"
        return
    yield f"recipe on {space}: {recipe_words(entry.recipe_on(space))}"
    for number, stage in enumerate(stages, start=1):
        yield f"  stage {number}: {stage_words(stage)}"


def _times(costs: str) -> str:
    less = costs.removeprefix("less than ")
    times = relative_cost(less)
    return "-" if times is None else f"{'<' if less != costs else '~'}{times:.1f}"


def _figures(name: str) -> Iterator[str]:
    cifar, table = CIFAR10.get(name), BENCHMARK.get(name)
    if cifar is not None:
        size = "" if cifar.parameters is None else f", {cifar.parameters:g} M parameters"
        days = "" if cifar.days is None else f", {cifar.days:g} GPU-days of search"
        note = f"; {cifar.note}" if cifar.note else ""
        yield f"published: CIFAR-10 error {cifar} %{size}{days} ({SOURCES[cifar.source]}{note})"
    if table is not None:
        note = f"; {table.note}" if table.note else ""
        yield (
            f"published: NAS-Bench-201 accuracy {table} % on CIFAR-10 / CIFAR-100 / ImageNet16-120 "
            f"({SOURCES[table.source]}{note})"
        )
    if cifar is None and table is None:
        yield "published: no figures are known here"


def _value(value: object) -> str:
    if callable(value):
        return "of its own"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
