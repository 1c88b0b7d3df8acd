"""`xnas bench`: tables of speed on this machine, compared with the plain path."""

from __future__ import annotations

from typing import Any

from cyclopts import App

from xnas.bench.data import BenchDataConfig, bench_data
from xnas.bench.search import BenchSearchConfig, bench_search
from xnas.bench.theory import BenchTheoryConfig, bench_theory
from xnas.bench.train import BenchTrainConfig, bench_train
from xnas.cli.flags import takes
from xnas.cli.printing import say
from xnas.report.tables import data_cost_table, round_cost_table, step_cost_table, train_cost_table

bench = App(name="bench", help="Measure speed on this machine, compared with the plain path.")


@bench.command
@takes(BenchTheoryConfig)
def theory(**typed: Any) -> None:  # noqa: ANN401 - options
    """Time one step of ExpertsOptimizer, a plain loop, Adam and SGD with momentum."""
    say(step_cost_table(bench_theory(BenchTheoryConfig(**typed))))


@bench.command
@takes(BenchSearchConfig)
def search(**typed: Any) -> None:  # noqa: ANN401 - options
    """Time a round of a search, plain and fused, with all, some or one of the experts on each edge."""
    say(round_cost_table(bench_search(BenchSearchConfig(**typed))))


@bench.command
@takes(BenchDataConfig)
def data(**typed: Any) -> None:  # noqa: ANN401 - options
    """Time augmented batches, those of torchvision in a DataLoader, and those of a search's round."""
    say(data_cost_table(bench_data(BenchDataConfig(**typed))))


@bench.command
@takes(BenchTrainConfig)
def train(**typed: Any) -> None:  # noqa: ANN401 - options
    """Time a step of a training: plain, captured, and with compiled cells."""
    say(train_cost_table(bench_train(BenchTrainConfig(**typed))))
