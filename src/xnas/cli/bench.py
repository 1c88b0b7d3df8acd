"""`xnas bench`: speed on this machine, against the plain path, as a table."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from xnas.report.tables import round_cost_table, step_cost_table
from xnas.runs.bench_search import BenchSearchConfig, bench_search
from xnas.runs.bench_theory import BenchTheoryConfig, bench_theory

DEFAULTS = BenchTheoryConfig()
SEARCH_DEFAULTS = BenchSearchConfig()

bench = App(name="bench", help="Measure speed on this machine, against the plain path.")


@bench.command
def theory(*, config: Annotated[BenchTheoryConfig, Parameter(name="*")] = DEFAULTS) -> None:
    """Time one ExpertsOptimizer step beside a plain loop, Adam and SGD with momentum."""
    print(step_cost_table(bench_theory(config)))


@bench.command
def search(*, config: Annotated[BenchSearchConfig, Parameter(name="*")] = SEARCH_DEFAULTS) -> None:
    """Time a round of a search with all experts, with four an edge and with one."""
    print(round_cost_table(bench_search(config)))
