"""`xnas bench`: tables of speed on this machine, compared with the plain path."""

from __future__ import annotations

from typing import Any

from cyclopts import App

from xnas.bench.options import (
    BenchDataConfig,
    BenchMethodsConfig,
    BenchSearchConfig,
    BenchTheoryConfig,
    BenchTrainConfig,
)
from xnas.cli.flags import takes
from xnas.cli.printing import say, watched
from xnas.report.tables import (
    data_cost_table,
    method_cost_table,
    round_cost_table,
    step_cost_table,
    train_cost_table,
)

bench = App(name="bench", help="Measure speed on this machine, compared with the plain path.")


@bench.command
@takes(BenchTheoryConfig)
def theory(**typed: Any) -> None:  # noqa: ANN401 - options
    """Time one step of ExpertsOptimizer, a plain loop, Adam and SGD with momentum."""
    from xnas.bench.theory import bench_theory  # noqa: PLC0415 - imports torch

    config = BenchTheoryConfig(**typed)
    with watched("step") as advance:
        costs = bench_theory(config, advance=advance)
    say(step_cost_table(costs))


@bench.command
@takes(BenchSearchConfig)
def search(**typed: Any) -> None:  # noqa: ANN401 - options
    """Time a round of a search, plain and fused, with all, some or one of the experts on each edge."""
    from xnas.bench.search import bench_search  # noqa: PLC0415 - imports torch

    config = BenchSearchConfig(**typed)
    with watched("case") as advance:
        costs = bench_search(config, advance=advance)
    say(round_cost_table(costs))


@bench.command
@takes(BenchMethodsConfig)
def methods(**typed: Any) -> None:  # noqa: ANN401 - options
    """Time a round of every method of a search, by its own recipe, compared with xnas."""
    from xnas.bench.methods import bench_methods  # noqa: PLC0415 - imports torch

    config = BenchMethodsConfig(**typed)
    with watched("method") as advance:
        costs = bench_methods(config, advance=advance)
    say(method_cost_table(costs))


@bench.command
@takes(BenchDataConfig)
def data(**typed: Any) -> None:  # noqa: ANN401 - options
    """Time augmented batches, those of torchvision in a DataLoader, and those of a search's round."""
    from xnas.bench.data import bench_data  # noqa: PLC0415 - imports torch

    config = BenchDataConfig(**typed)
    with watched("case") as advance:
        costs = bench_data(config, advance=advance)
    say(data_cost_table(costs))


@bench.command
@takes(BenchTrainConfig)
def train(**typed: Any) -> None:  # noqa: ANN401 - options
    """Time a step of a training: plain, captured, and with compiled cells."""
    from xnas.bench.train import bench_train  # noqa: PLC0415 - imports torch

    config = BenchTrainConfig(**typed)
    with watched("case") as advance:
        costs = bench_train(config, advance=advance)
    say(train_cost_table(costs))
