"""What a benchmark knows of the cell that a search would give now, for the record alone.

The search space decides which benchmark that is: a table that has all cells (`nasbench201`), or a judge
that was fitted to some cells and estimates the others (`darts`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from xnas.benchmarks import SurrogateBenchmark, TabularBenchmark
from xnas.benchmarks.tabular import Data
from xnas.engine import Search
from xnas.errors import ConfigError, DamagedFileError, DatasetError, GenotypeError
from xnas.records import Judgement, SearchEpoch, Truth
from xnas.runs.metrics_file import REMEDY
from xnas.space import Genotype, SearchSpace
from xnas.space.cell_genotype import NONE
from xnas.space.discretize import strongest_cell
from xnas.words import printable

SAME = 1e-6
"""Points of accuracy: on another machine a judge's sums may differ in their last digits."""
DATA_OF: dict[str, Data] = {
    "cifar10": "cifar10",
    "cifar100": "cifar100",
    "imagenet16": "imagenet16",
    "imagenet16120": "imagenet16",
}
"""The benchmark's data set, by the letters and digits of the name that images have."""


class KnownCells:
    """The table of NAS-Bench-201, asked for one of its data sets."""

    def __init__(
        self, table: TabularBenchmark, source: str, data: Data = "cifar10", note: str = ""
    ) -> None:
        self.table, self.source, self.data, self.note = table, source, data, note

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the table."""
        return cls(TabularBenchmark.load(path), printable(path.name))

    @property
    def line(self) -> str:
        """Data set and file."""
        return f"true accuracy: on {self.data} after 200 epochs, from {self.source}{self.note}"

    def on(self, data: str) -> KnownCells:
        """The same for a data set of the table, or CIFAR-10 if it has no accuracies on that."""
        own = DATA_OF.get("".join(c for c in data.lower() if c.isalnum()))
        if own is not None and self.table.knows(data=own):
            return KnownCells(self.table, self.source, own)
        return KnownCells(self.table, self.source, note=f", which has none on {printable(data)}")

    def truth(self, cell: Genotype, with_none: Genotype | None = None) -> Truth:
        """Look a cell up, and the cell that it would be if `none` could be chosen."""
        table, data = self.table, self.data
        other = None if with_none is None else table[with_none]
        return Truth(
            arch=table[cell].arch,
            test_200=table.accuracy(cell, data=data),
            test_12=table.accuracy(cell, 12, data=data) if table.knows(12, data=data) else None,
            rank=table.rank(cell, data=data),
            arch_with_none=other.arch if other else None,
            test_200_with_none=other.accuracy(data=data) if other else None,
            data=data,
        )


class JudgedCells:
    """A judge of DARTS cells."""

    def __init__(self, judge: SurrogateBenchmark, source: str) -> None:
        self.judge, self.source = judge, source

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read cells and fit the judge, which takes seconds."""
        return cls(SurrogateBenchmark.load(path), printable(path.name))

    @property
    def line(self) -> str:
        """File and quality."""
        quality = self.judge.quality
        return (
            f"judged accuracy: estimated from the {quality.cells:,} cells of {self.source}; on held-out "
            f"ones the error is {quality.error:.2f} points, Kendall's tau {quality.kendall:.2f}"
        )

    def on(self, data: str) -> JudgedCells:  # noqa: ARG002 - the signature of `KnownCells`
        """The same: its cells were trained on one data set."""
        return self

    def truth(self, cell: Genotype, with_none: Genotype | None = None) -> Judgement:  # noqa: ARG002
        """Judge a cell."""
        found = self.judge.estimate(cell)
        return Judgement(accuracy=found.accuracy, error=found.error, percentile=found.percentile)


Benchmark = KnownCells | JudgedCells
"""What knows, or estimates, how good the cells of a space are."""
BENCHMARKS: dict[str, Callable[[Path], Benchmark]] = {
    "darts": JudgedCells.load,
    "nasbench201": KnownCells.load,
}
"""How the file of a space's benchmark is read."""


def require_benchmark(space: str) -> None:
    """Raise unless there are benchmarks of a space."""
    if space not in BENCHMARKS:
        raise ConfigError(
            f"no benchmark knows cells of the space {space}, only of {' and '.join(BENCHMARKS)}; leave "
            "--truth out"
        )


def load_truth(path: Path | None, space: str) -> Benchmark | None:
    """The benchmark that a search of a space is watched by; it is read before anything is written."""
    return None if path is None else load_benchmark(path, space)


def load_benchmark(path: Path, space: str) -> Benchmark:
    """Read the file of a space's benchmark."""
    require_benchmark(space)
    return BENCHMARKS[space](path)


def truth_again(path: Path | None, space: str, warn: Callable[[str], None]) -> Benchmark | None:
    """The benchmark of a run that is resumed, or none if its file is gone."""
    if path is not None and not path.exists():
        warn(f"the benchmark {path} is gone; the search continues without true accuracies")
        return None
    return load_truth(path, space)


def require_same(benchmark: Benchmark | None, records: Sequence[SearchEpoch]) -> None:
    """Raise unless the benchmark says of a cell what the last epoch with a truth recorded."""
    last = next((record for record in reversed(records) if record.truth is not None), None)
    cell = None if last is None else recorded_cell(last)
    if benchmark is None or last is None or last.truth is None or cell is None:
        return
    known = benchmark.truth(cell).accuracy
    if abs(known - last.truth.accuracy) > SAME:
        raise DatasetError(
            f"the benchmark is not the one that the run began with: it has {known:.6g} for "
            f"{cell.one_line or f'the cell of epoch {last.epoch}'}, which had "
            f"{last.truth.accuracy:.6g}; restore that file, or remove it"
        )


def recorded_cell(record: SearchEpoch, *, remedy: str = REMEDY) -> Genotype | None:
    """The cell of an epoch; None if neither it nor its string was recorded, as in earlier versions.

    `remedy` ends the message about a cell that cannot be read.
    """
    try:
        if record.cell is not None:
            return Genotype.from_json(json.dumps(record.cell))
        return Genotype.from_arch(record.truth.arch) if isinstance(record.truth, Truth) else None
    except GenotypeError as error:
        raise DamagedFileError(
            f"metrics.jsonl is damaged in epoch {record.epoch}: {error}; {remedy}"
        ) from error


def space_of(engine: Search) -> SearchSpace:
    """The space that a run's supernet was built for."""
    space = getattr(engine.supernet, "space", None)
    assert isinstance(space, SearchSpace)  # noqa: S101 - runs build their supernets from spaces
    return space


def truth_of(engine: Search, benchmark: Benchmark, cell: Genotype) -> Truth | Judgement:
    """Ask for the present cell; nothing of the answer goes back to the search."""
    space, standing = space_of(engine), engine.standing()
    with_none = None
    if NONE in space.operations and space.kept_edges is None:
        with_none = strongest_cell(standing.strengths, standing.alive, space)
    return benchmark.truth(cell, with_none)
