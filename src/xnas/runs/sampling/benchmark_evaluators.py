"""Evaluators that look a cell up: NAS-Bench-201's table, or a judge fitted to cells that are known.

A sampler is given validation accuracies alone. Test accuracies are for the report.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import ceil
from pathlib import Path
from typing import Any

from xnas.benchmarks import SurrogateBenchmark, TabularBenchmark
from xnas.benchmarks.tabular import EPOCHS, Data, Epochs
from xnas.errors import ConfigError
from xnas.runs.recipes import NASBENCH301
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.evaluators import EVALUATORS, EvaluatorKind
from xnas.runs.train_config import TrainOptions
from xnas.runs.truth import DATA_OF, require_benchmark
from xnas.samplers import Result, Trial
from xnas.space import NETWORKS, Genotype
from xnas.space.network_size import NetworkSize, NetworkSizes
from xnas.words import counted

USED = {"epochs", "max_macs", "max_params", "out", "quiet", "report", "seed"}
UNUSED = frozenset({declared.name for declared in fields(TrainOptions)} - USED | {"weights"})
"""Options of trainings and of shared weights: a benchmark's networks and trainings are what they are."""
JUDGED_EPOCHS = 100  # of the trainings that the surrogate's cells had


@dataclass
class TableEvaluator:
    """The validation accuracy that NAS-Bench-201 has for a cell."""

    table: TabularBenchmark
    epochs: Epochs = 12
    data: Data = "cifar10"

    def __post_init__(self) -> None:
        if self.epochs not in EPOCHS:
            raise ConfigError(
                f"the table knows accuracies after {EPOCHS[0]} and {EPOCHS[1]} epochs, not after "
                f"{self.epochs}; give one of these with --epochs"
            )
        self.require_budget(None)

    @property
    def line(self) -> str:
        """Data set and epochs."""
        return f"evaluated by the table: validation accuracy on {self.data} after {self.epochs} epochs"

    def require_budget(self, budget: int | None) -> None:
        """Raise unless the table has accuracies after so many epochs; None stands for `epochs`."""
        epochs: Any = self.epochs if budget is None else budget
        if epochs not in EPOCHS:
            first, last = EPOCHS
            raise ConfigError(
                f"the sampler asks for a training of {counted(epochs, 'epoch')}, and the table knows "
                f"{first} and {last}; give --settings min_epochs={first},max_epochs={last},"
                f"eta={ceil(last / first)}, or use another --evaluator"
            )
        if not self.table.knows(epochs, "valid", self.data):
            raise ConfigError(
                f"the table has no validation accuracy on {self.data} after {epochs} epochs; choose "
                "other data, or other --epochs if it has those"
            )

    def evaluate(self, trial: Trial, folder: Path) -> Result:  # noqa: ARG002 - nothing is written
        """Look the cell up; a budget of 12 or 200 epochs takes the place of `epochs`."""
        self.require_budget(trial.budget)
        value, epochs = self.known_value(trial)
        size = self.size(trial.genotype)
        cost = {"parameters": float(size.parameters), "macs": float(size.macs)}
        return Result(number=trial.number, value=value, state="done", at=epochs, cost=cost)

    def known_value(self, trial: Trial) -> tuple[float, int]:
        """Return what the table has for a trial, and after how many epochs."""
        epochs: Any = self.epochs if trial.budget is None else trial.budget
        return self.table.accuracy(trial.genotype, epochs, "valid", self.data) / 100, epochs

    def size(self, genotype: Genotype) -> NetworkSize:
        """Return the table's own counts."""
        entry = self.table[genotype]
        return NetworkSize(entry.parameters, round(1e6 * entry.mflops))


@dataclass
class SurrogateEvaluator:
    """The validation accuracy that a judge of DARTS cells estimates."""

    judge: SurrogateBenchmark
    sizes: NetworkSizes

    @property
    def line(self) -> str:
        """Where the estimates come from, and how good they are."""
        quality = self.judge.quality
        return (
            f"evaluated by a judge fitted to {quality.cells:,} cells: error {quality.error:.2f} points, "
            f"Kendall's tau {quality.kendall:.2f} on held-out ones"
        )

    def require_budget(self, budget: int | None) -> None:
        """Raise unless the judged cells were trained for so many epochs."""
        if budget not in (None, JUDGED_EPOCHS):
            raise ConfigError(
                f"the judge estimates trainings of {JUDGED_EPOCHS} epochs, not of {budget}; use a "
                "sampler without budgets, or --evaluator train"
            )

    def evaluate(self, trial: Trial, folder: Path) -> Result:  # noqa: ARG002 - nothing is written
        """Estimate the accuracy of the cell."""
        self.require_budget(trial.budget)
        value = self.judge.estimate(trial.genotype).accuracy / 100
        size = self.size(trial.genotype)
        cost = {"parameters": float(size.parameters), "macs": float(size.macs)}
        return Result(number=trial.number, value=value, state="done", at=JUDGED_EPOCHS, cost=cost)

    def known_value(self, trial: Trial) -> tuple[float, int]:
        """Return the estimate for a trial, without its error, and the epochs that it is of."""
        return self.judge.accuracy(trial.genotype) / 100, JUDGED_EPOCHS

    def size(self, genotype: Genotype) -> NetworkSize:
        """Return the counts of NAS-Bench-301's network: 8 cells, 32 channels, CIFAR-10."""
        return self.sizes.size(genotype)


def table_evaluator(config: SampleConfig, data: object) -> TableEvaluator:
    """Return the evaluator of `--evaluator table`; `data` names the benchmark's data set."""
    path = _file(config, "table", "nasbench201")
    name = "cifar10" if data is None else "".join(c for c in str(data).lower() if c.isalnum())
    if name not in DATA_OF:
        raise ConfigError(
            f"the table knows the data sets cifar10, cifar100 and imagenet16, not {data}; give one of "
            "these, or none for cifar10"
        )
    epochs: Any = config.epochs or EPOCHS[0]
    return TableEvaluator(TabularBenchmark.load(path), epochs, DATA_OF[name])


def surrogate_evaluator(config: SampleConfig, data: object) -> SurrogateEvaluator:
    """Return the evaluator of `--evaluator surrogate`."""
    path = _file(config, "surrogate", "darts")
    if data not in (None, "cifar10"):
        raise ConfigError(f"the judge knows cells trained on cifar10, not on {data}; leave it out")
    if config.epochs not in (None, JUDGED_EPOCHS):
        raise ConfigError(
            f"the judge estimates trainings of {JUDGED_EPOCHS} epochs, not of {config.epochs}; leave "
            "--epochs out"
        )
    spec = NETWORKS["cifar"].but(channels=NASBENCH301.channels, cells=NASBENCH301.cells)
    return SurrogateEvaluator(SurrogateBenchmark.load(path), NetworkSizes(spec, (3, 32, 32)))


def _file(config: SampleConfig, evaluator: str, space: str) -> Path:
    require_benchmark(space)
    if config.space != space:
        raise ConfigError(
            f"the evaluator {evaluator} knows cells of the space {space}, not of {config.space}; use "
            f"--space {space}, or another --evaluator"
        )
    if config.truth is None:
        raise ConfigError(
            f"the evaluator {evaluator} reads the CSV of a benchmark; name it with --truth FILE"
        )
    return config.truth


for _name, _build, _summary in (
    ("table", table_evaluator, "NAS-Bench-201's table"),
    ("surrogate", surrogate_evaluator, "a judge of DARTS cells"),
):
    _kind = EvaluatorKind(
        _build,
        _summary,
        needs_images=False,
        leaves_files=False,
        whole_cells=True,
        shares=True,
        unused=UNUSED,
    )
    EVALUATORS.add(_name, _kind)
