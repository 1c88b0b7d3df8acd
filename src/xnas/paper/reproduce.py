"""The paper's figures and tables that can be made, the numbers behind them, and its claims judged.

An item of `ITEMS` computes a study, and its numbers, figures, tables and judged claims become files.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from xnas import toys
from xnas.bench.options import BenchTheoryConfig
from xnas.bench.theory import bench_theory, essential_bytes, state_bytes
from xnas.errors import ConfigError
from xnas.paper import size_tables, tables
from xnas.paper.axes_claims import attenuation_claims, toy_2d_claims, toy_3d_claims
from xnas.paper.compared_rows import ComparedRow
from xnas.paper.entropy_claims import entropy_claims
from xnas.paper.entropy_study import entropy_study
from xnas.paper.options import LONG, ReproduceConfig
from xnas.paper.regret_claims import adversary_claims, memory_claims, stochastic_claims
from xnas.paper.table_claims import depth_claims
from xnas.paper.tightness_claims import coin_claims, speed_claims
from xnas.process.advance import Advance, unwatched
from xnas.process.folder import filled_folder, require_part_of, write_json
from xnas.process.output import explain_lost_output
from xnas.records import Claim, Table
from xnas.report.tables import claims_page, count_verdicts, table_csv, table_page
from xnas.runs.run_folder import NAMES
from xnas.space import SPACES, list_cells
from xnas.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = 2  # mixtures that a search of the paper has: of normal and of reduction cells
STEPS = 200
LATE_BLOOMER_RATES = (0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one item gives: numbers, figures and tables by name, claims."""

    numbers: object = None
    figures: dict[str, Figure] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)


def _forecaster(_: ReproduceConfig) -> Outcome:
    from xnas.report.paper.forecaster import draw_forecaster  # noqa: PLC0415 - it imports matplotlib

    return Outcome(
        figures={"forecaster": draw_forecaster(SPACES["darts"].operations, wiped=("avg_pool_3x3",))}
    )


def _toy_3d(_: ReproduceConfig) -> Outcome:
    from xnas.report.paper.toys import draw_toy_3d  # noqa: PLC0415 - it imports matplotlib

    studies = {rate: toys.toy_3d(rate) for rate in LATE_BLOOMER_RATES}
    figures = {
        "toy-3d": draw_toy_3d(studies[0.5]),
        "toy-3d-rate-0.1": draw_toy_3d(studies[0.1]),
    }
    return Outcome(list(studies.values()), figures, toy_3d_claims(studies))


def _toy_2d(_: ReproduceConfig) -> Outcome:
    from xnas.report.paper.toys import draw_toy_2d  # noqa: PLC0415 - it imports matplotlib

    studies = toys.toy_2d()
    figures = {f"toy-2d-{study.problem}": draw_toy_2d(study) for study in studies}
    return Outcome(studies, figures, toy_2d_claims(studies))


def _attenuation(_: ReproduceConfig) -> Outcome:
    from xnas.report.paper.toys import draw_attenuation  # noqa: PLC0415 - it imports matplotlib

    record = toys.attenuation()
    claims = attenuation_claims(record, toys.toy_2d())
    return Outcome(record, {"attenuation": draw_attenuation(record)}, claims)


def _stochastic(config: ReproduceConfig) -> Outcome:
    from xnas.report.paper.toys import draw_stochastic  # noqa: PLC0415 - it imports matplotlib

    study = toys.stochastic_study(runs=config.runs, rounds=config.rounds, seed=config.seed)
    return Outcome(study, {"stochastic": draw_stochastic(study)}, stochastic_claims(study))


def _adam(_: ReproduceConfig) -> Outcome:
    from xnas.report.paper.toys import draw_adversary  # noqa: PLC0415 - it imports matplotlib

    study = toys.adversary_study()
    return Outcome(study, {"adam": draw_adversary(study)}, adversary_claims(study))


def _memory(_: ReproduceConfig) -> Outcome:
    sizes = state_bytes()
    return Outcome(sizes, claims=memory_claims(sizes, essential_bytes()))


def _lower_bound(_: ReproduceConfig) -> Outcome:
    from xnas.report.paper.searched import draw_coins  # noqa: PLC0415 - it imports matplotlib

    study = toys.coin_study()
    return Outcome(study, {"lower-bound": draw_coins(study)}, coin_claims(study))


def _speed(_: ReproduceConfig) -> Outcome:
    costs = bench_theory(BenchTheoryConfig(mixtures=(KINDS,), repetitions=STEPS))
    microseconds = {cost.optimizer: cost.microseconds for cost in costs}
    return Outcome(costs, claims=speed_claims(microseconds, KINDS))


def _entropy(config: ReproduceConfig) -> Outcome:
    from xnas.report.paper.searched import draw_entropy  # noqa: PLC0415 - it imports matplotlib

    study = entropy_study(config.seed)
    return Outcome(study, {"entropy": draw_entropy(study)}, entropy_claims(study))


def _paper_table(number: int) -> Callable[[ReproduceConfig], Outcome]:
    def make(_: ReproduceConfig) -> Outcome:
        rows, table, claims = tables.table_with_claims(number)
        numbers = [row.numbers() if isinstance(row, ComparedRow) else row for row in rows]
        return Outcome(numbers, claims=claims, tables={f"table-{number}": table})

    return make


def _depth_table(_: ReproduceConfig) -> Outcome:
    rows, random = tables.depth_records()
    table = tables.depth_table(rows, random)
    numbers = {"cells": rows, "random": random}
    return Outcome(numbers, claims=depth_claims(rows, random), tables={"depth-table": table})


def _params_table(_: ReproduceConfig) -> Outcome:
    networks, variants = size_tables.size_records(list_cells()), size_tables.xnas_variants()
    made = {
        "params-table": size_tables.size_table(networks),
        "params-table-xnas": size_tables.variant_table(variants),
    }
    claims = size_tables.xnas_size_claims(variants)
    numbers = {"cells": networks, "xnas": variants}
    plain = {name: size_tables.size_numbers(counted) for name, counted in numbers.items()}
    return Outcome(plain, claims=claims, tables=made)


def _cells(_: ReproduceConfig) -> Outcome:
    return Outcome(figures=tables.cell_figures(list_cells()))


ITEMS: dict[str, Callable[[ReproduceConfig], Outcome]] = {
    "forecaster": _forecaster,
    "toy-3d": _toy_3d,
    "toy-2d": _toy_2d,
    "attenuation": _attenuation,
    "stochastic": _stochastic,
    "adam": _adam,
    "memory": _memory,
    "lower-bound": _lower_bound,
    "speed": _speed,
    "entropy": _entropy,
    "table-1": _paper_table(1),
    "table-2": _paper_table(2),
    "table-3": _paper_table(3),
    "depth-table": _depth_table,
    "params-table": _params_table,
    "cells": _cells,
}


def reproduce(
    items: tuple[str, ...],
    config: ReproduceConfig,
    report: Callable[[str], None] = print,
    *,
    advance: Advance = unwatched,
) -> list[Claim]:
    """Make the given items, or all but `LONG`, and return their claims.

    `report` is called with one line for each.
    """
    from xnas.report.figures import save_figure  # noqa: PLC0415 - it imports matplotlib

    chosen = tuple(dict.fromkeys(items)) or tuple(i for i in ITEMS if i not in LONG)
    for item in chosen:
        if item not in ITEMS:
            raise ConfigError(f"nothing called {item!r} to reproduce; there are: {', '.join(ITEMS)}")
    claims: list[Claim] = []
    figures: list[str] = []
    tables: list[str] = []
    require_part_of(config.out, "a reproduction", lambda name: name not in NAMES)
    with (
        explain_lost_output(lambda: f"nothing was written to {config.out}: begin again"),
        filled_folder(config.out, overwrite=config.overwrite) as folder,
    ):
        for done, item in enumerate(chosen, start=1):
            started = time.perf_counter()
            outcome = ITEMS[item](config)
            if outcome.numbers is not None:
                write_json(folder / f"{item}.json", outcome.numbers)
            for name, figure in outcome.figures.items():
                save_figure(figure, folder, name)
            for name, table in outcome.tables.items():
                (folder / f"{name}.md").write_text(table_page(table), encoding="utf8")
                (folder / f"{name}.csv").write_text(table_csv(table), encoding="utf8", newline="")
            figures += outcome.figures
            tables += outcome.tables
            claims += outcome.claims
            report(_line(item, outcome, time.perf_counter() - started))
            advance(done, len(chosen))
        page = claims_page(claims, figures, _how(chosen, config), tables=tables)
        (folder / "claims.md").write_text(page, encoding="utf8")
    return claims


def _line(item: str, outcome: Outcome, seconds: float) -> str:
    verdicts = count_verdicts(outcome.claims)
    made = counted(len(outcome.figures), "figure")
    if outcome.tables:
        made = counted(len(outcome.tables), "table")
    return f"{item:12} {made} in {seconds:4.1f} s" + (f"; claims: {verdicts}" if verdicts else "")


def _how(items: tuple[str, ...], config: ReproduceConfig) -> str:
    """How the page was made: no machine's name, but what numbers depend on."""
    errors = " Errors are those that the paper prints, except in rows of our own."
    return (
        f"Made by `xnas reproduce {' '.join(items)}` (stochastic study: {config.runs} runs of "
        f"{config.rounds} rounds, seed {config.seed}; torch {torch.__version__.split('+')[0]}, "
        f"Python {platform.python_version()})."
        + (errors if any(item.startswith("table-") for item in items) else "")
    )
