"""`xnas bench`: speed on this machine, against the plain path, as a table."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from xnas.bench.data import BenchDataConfig, bench_data
from xnas.bench.search import BenchSearchConfig, bench_search
from xnas.bench.theory import BenchTheoryConfig, bench_theory
from xnas.bench.train import BenchTrainConfig, bench_train
from xnas.cli.printing import say
from xnas.report.tables import data_cost_table, round_cost_table, step_cost_table, train_cost_table

DEFAULTS = BenchTheoryConfig()
SEARCH_DEFAULTS = BenchSearchConfig()
DATA_DEFAULTS = BenchDataConfig()
TRAIN_DEFAULTS = BenchTrainConfig()

bench = App(name="bench", help="Measure speed on this machine, against the plain path.")


@bench.command
def theory(*, config: Annotated[BenchTheoryConfig, Parameter(name="*")] = DEFAULTS) -> None:
    """Time one ExpertsOptimizer step beside a plain loop, Adam and SGD with momentum."""
    say(step_cost_table(bench_theory(config)))


@bench.command
def search(*, config: Annotated[BenchSearchConfig, Parameter(name="*")] = SEARCH_DEFAULTS) -> None:
    """Time a round of a search, plain and fused, with all experts, with some an edge and with one."""
    say(round_cost_table(bench_search(config)))


@bench.command
def data(*, config: Annotated[BenchDataConfig, Parameter(name="*")] = DATA_DEFAULTS) -> None:
    """Time augmented batches beside torchvision's in a DataLoader, and those of a search's round."""
    say(data_cost_table(bench_data(config)))


@bench.command
def train(*, config: Annotated[BenchTrainConfig, Parameter(name="*")] = TRAIN_DEFAULTS) -> None:
    """Time a step of a training: plain, captured, and with compiled cells."""
    say(train_cost_table(bench_train(config)))
