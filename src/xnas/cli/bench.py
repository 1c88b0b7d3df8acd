"""`xnas bench`: speed on this machine, against the plain path, as a table."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from xnas import runs
from xnas.report.tables import step_cost_table
from xnas.runs import BenchTheoryConfig

DEFAULTS = BenchTheoryConfig()

bench = App(name="bench", help="Measure speed on this machine, against the plain path.")


@bench.command
def theory(*, config: Annotated[BenchTheoryConfig, Parameter(name="*")] = DEFAULTS) -> None:
    """Time one ExpertsOptimizer step beside a plain loop, Adam and SGD with momentum."""
    print(step_cost_table(runs.bench_theory(config)))
