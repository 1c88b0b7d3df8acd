"""NAS-Bench-201 as a table: all 15,625 cells with the accuracy that the benchmark's authors reached.

A search never sees it: it may only be asked afterwards, or beside it, what a cell is worth. The file is
a CSV with the columns `arch`, `c10_valid_200`, `c10_test_200`, `c10_valid_12`, `c10_test_12`,
`params_c10` and `mflops_c10`. It may also have accuracies on the benchmark's other data sets, CIFAR-100
(`c100_valid_200` and so on) and ImageNet16-120 (`in16_valid_200`); further columns are passed over.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Literal

from xnas.benchmarks.csv_file import number, read_rows
from xnas.errors import ConfigError, DatasetError, GenotypeError
from xnas.space import SPACES, Genotype
from xnas.space.cell_genotype import NONE
from xnas.space.parent import IDENTITY

Epochs = Literal[12, 200]
Split = Literal["valid", "test"]
EPOCHS: tuple[Epochs, Epochs] = (12, 200)
SPLITS: tuple[Split, Split] = ("valid", "test")
Data = Literal["cifar10", "cifar100", "imagenet16"]
COLUMNS_OF: dict[Data, str] = {"cifar10": "c10", "cifar100": "c100", "imagenet16": "in16"}
"""How the columns of a data set begin; `imagenet16` is the benchmark's ImageNet16-120."""

SPACE = "nasbench201"
ARCHITECTURES = 5**6
COLUMNS = ("c10_valid_200", "c10_test_200", "c10_valid_12", "c10_test_12", "params_c10", "mflops_c10")
OTHERS = tuple(
    f"{begin}_{split}_{epochs}" for begin, split, epochs in product(("c100", "in16"), SPLITS, EPOCHS)
)
"""Columns that a table may have."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the benchmark knows of one cell; accuracies in percent, on CIFAR-10 unless said."""

    arch: str
    valid_200: float
    test_200: float
    valid_12: float
    test_12: float
    parameters: int
    mflops: float
    """As the benchmark counts them."""
    others: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Accuracies on other data sets, by column (`c100_test_200`)."""

    def accuracy(self, epochs: Epochs = 200, split: Split = "test", data: Data = "cifar10") -> float:
        """In percent, after so many epochs of training."""
        if epochs not in EPOCHS or split not in SPLITS:
            raise ConfigError(
                f"the benchmark knows accuracies after {EPOCHS[0]} and {EPOCHS[1]} epochs on "
                f"{SPLITS[0]} and {SPLITS[1]}, not after {epochs!r} on {split!r}"
            )
        if data not in list(COLUMNS_OF):
            raise ConfigError(
                f"the benchmark knows the data sets {', '.join(COLUMNS_OF)}, not {data!r}; give one of "
                "these"
            )
        if data == "cifar10":
            value: float = getattr(self, f"{split}_{epochs}")
            return value
        column = f"{COLUMNS_OF[data]}_{split}_{epochs}"
        if column not in self.others:
            raise ConfigError(
                f"the table has no column {column}; beyond CIFAR-10 it has "
                f"{', '.join(self.others) or 'none'}"
            )
        return self.others[column]


class TabularBenchmark:
    """The table, by architecture; a `Genotype` of the space or its string."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        """All 15,625 of them, each once."""
        if isinstance(entries, str | Path):
            raise ConfigError(f"a table is made of entries, got the path {entries}; use .load(path)")
        self.entries: dict[str, Entry] = {}
        self._ordered: dict[tuple[Epochs, Split, Data], list[float]] = {}
        for entry in entries:
            if entry.arch in self.entries:
                raise DatasetError(f"the benchmark has {entry.arch} twice; get the file again")
            self.entries[entry.arch] = entry
        if len(self.entries) != ARCHITECTURES:
            raise DatasetError(
                f"the benchmark has {len(self.entries):,} architectures of {ARCHITECTURES:,}; get the "
                "whole file"
            )
        if len({frozenset(entry.others) for entry in self.entries.values()}) > 1:
            raise DatasetError("the entries have different columns; give all of them the same")
        for known in product(EPOCHS, SPLITS, COLUMNS_OF):
            if self.knows(*known) and (top := self.best(*known).accuracy(*known)) <= 1:
                epochs, split, data = known
                raise DatasetError(
                    f"the benchmark has accuracies as fractions: the largest on {data} ({split}, "
                    f"{epochs} epochs) is {top:g}; they are to be in percent"
                )

    @classmethod
    def load(cls, path: Path | str) -> TabularBenchmark:
        """Read a CSV; what is wrong with it is a DatasetError that names the line."""
        entries = list(_read(path))
        try:
            return cls(entries)
        except DatasetError as error:
            raise DatasetError(f"{path}: {error}") from error

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, cell: Genotype | str) -> Entry:
        """The entry of a cell."""
        return self.entries[_arch_of(cell)]

    def knows(self, epochs: Epochs = 200, split: Split = "test", data: Data = "cifar10") -> bool:
        """Whether the table has this accuracy: of CIFAR-10 always, of others if it has the column."""
        entry = next(iter(self.entries.values()))
        return data == "cifar10" or f"{COLUMNS_OF[data]}_{split}_{epochs}" in entry.others

    def accuracy(
        self,
        cell: Genotype | str,
        epochs: Epochs = 200,
        split: Split = "test",
        data: Data = "cifar10",
    ) -> float:
        """In percent."""
        return self[cell].accuracy(epochs, split, data)

    def best(self, epochs: Epochs = 200, split: Split = "test", data: Data = "cifar10") -> Entry:
        """The most accurate entry; the first in the file of equals."""
        return max(self.entries.values(), key=lambda entry: entry.accuracy(epochs, split, data))

    def regret(
        self,
        cell: Genotype | str,
        epochs: Epochs = 200,
        split: Split = "test",
        data: Data = "cifar10",
    ) -> float:
        """Points of accuracy that the best cell has more."""
        known = epochs, split, data
        return self.best(*known).accuracy(*known) - self.accuracy(cell, *known)

    def rank(
        self,
        cell: Genotype | str,
        epochs: Epochs = 200,
        split: Split = "test",
        data: Data = "cifar10",
    ) -> int:
        """Place from 1; equals share the better one."""
        values, mine = self._compared(cell, epochs, split, data)
        return len(values) - bisect_right(values, mine) + 1

    def percentile(
        self,
        cell: Genotype | str,
        epochs: Epochs = 200,
        split: Split = "test",
        data: Data = "cifar10",
    ) -> float:
        """Percent of all cells that are worse."""
        values, mine = self._compared(cell, epochs, split, data)
        return 100 * bisect_left(values, mine) / len(values)

    def isomorphic(self, cell: Genotype | str) -> tuple[str, ...]:
        """Every cell of the same class, itself among them, in the order of the file."""
        return self._classes[same_function_key(cell)]

    @property
    def classes(self) -> int:
        """Classes of isomorphic cells: 6,466."""
        return len(self._classes)

    def _compared(
        self, cell: Genotype | str, epochs: Epochs, split: Split, data: Data
    ) -> tuple[list[float], float]:
        """All accuracies in ascending order, and that of a cell."""
        mine, key = self.accuracy(cell, epochs, split, data), (epochs, split, data)
        if key not in self._ordered:
            self._ordered[key] = sorted(e.accuracy(*key) for e in self.entries.values())
        return self._ordered[key], mine

    @cached_property
    def _classes(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for arch in self.entries:
            found.setdefault(same_function_key(arch), []).append(arch)
        return {key: tuple(members) for key, members in found.items()}


def same_function_key(cell: Genotype | str) -> str:
    """What a cell computes, written so that isomorphic cells read alike, as the benchmark defines it.

    A skip connection is what it passes on; an edge that is `none`, or that leaves a node whose only edge
    is `none`, is zero; the order of a sum does not matter. Zeros stay in sums, as in the benchmark, so
    that cells of one class compute the same, and some of different classes do too.
    """
    genotype = _genotype(cell)
    zero, states = "#", ["0"]
    for edges in genotype.normal.nodes:
        terms = []
        for edge in edges:
            state = states[edge.source]
            if edge.operation == NONE or state == zero:
                terms.append(zero)
            else:
                terms.append(state if edge.operation == IDENTITY else f"({state})@{edge.operation}")
        states.append("+".join(sorted(terms)))
    return states[-1]


def _genotype(cell: Genotype | str) -> Genotype:
    if not isinstance(cell, str | Genotype):
        raise GenotypeError(f"a cell is a Genotype or its string, got {type(cell).__name__}")
    genotype = Genotype.from_arch(cell) if isinstance(cell, str) else cell
    if genotype.space != SPACE:
        raise GenotypeError(
            f"the benchmark knows cells of the space {SPACE!r}; this one is of {genotype.space!r}"
        )
    return genotype


def _arch_of(cell: Genotype | str) -> str:
    return _genotype(cell).arch


@cache
def _all_archs() -> frozenset[str]:
    """Return the strings of all cells as genotypes write them, so that most need not be read."""
    every = product((NONE, *SPACES[SPACE].operations), repeat=6)
    return frozenset(f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|" for a, b, c, d, e, f in every)


def _canonical(arch: str) -> str:
    return arch if arch in _all_archs() else Genotype.from_arch(arch).arch


def _read(path: Path | str) -> Iterator[Entry]:
    lines: dict[str, int] = {}
    last = 1
    for last, row in read_rows(path, ("arch", *COLUMNS), "the CSV of NAS-Bench-201 on CIFAR-10"):
        where = f"line {last} of {path}"
        try:
            arch = _canonical(row["arch"])
        except GenotypeError as error:
            known = ", ".join((NONE, *SPACES[SPACE].operations))
            raise DatasetError(
                f"{where} is of another space: {error}; operations of the benchmark are {known}"
            ) from error
        if arch in lines:
            raise DatasetError(f"{where} has {arch} again, after line {lines[arch]}; get the file again")
        lines[arch] = last
        *accuracies, parameters, mflops = (number(row[name], name, where) for name in COLUMNS)
        others = {name: number(row[name], name, where) for name in OTHERS if name in row}
        for name, accuracy in (*zip(COLUMNS, accuracies, strict=False), *others.items()):
            if not 0 <= accuracy <= 100:
                raise DatasetError(
                    f"{where} has {accuracy:g} as {name}, an accuracy outside 0..100; get the file again"
                )
        if parameters != int(parameters) or min(parameters, mflops) < 0:
            raise DatasetError(
                f"{where} has {parameters:g} parameters and {mflops:g} MFLOPs, which no network can "
                "have; get the file again"
            )
        valid_200, test_200, valid_12, test_12 = accuracies
        yield Entry(arch, valid_200, test_200, valid_12, test_12, int(parameters), mflops, others)
    if len(lines) < ARCHITECTURES:
        raise DatasetError(
            f"{path} has {len(lines):,} architectures of {ARCHITECTURES:,} and ends at line {last}; "
            "get the whole file"
        )
