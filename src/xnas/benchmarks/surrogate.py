"""A judge of DARTS cells: regressors fitted to a file of cells whose accuracy is known.

The DARTS space has about 10^18 cells, so no table holds them all. `SurrogateBenchmark` reads a CSV of
some hundred cells with their validation accuracy (`normal`, `reduction` and `valid_100`; a cell is
written as `operation:source`, two edges per node) and estimates the others. A search never sees it.

The estimate is the mean of a support vector regression, counted twice, and boosted trees. Good cells are
rare in such a file, so a judge has to be right about cells that are better than those it was fitted to.
There the trees stay too low, the first spreads cells too far, and the mean has the smaller error
(`experiments/judged_cells.py` measures it). Nothing is stored: fitting takes seconds and gives the same
numbers for the same rows, in whatever order the file has them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from pathlib import Path
from reprlib import repr as brief
from typing import TYPE_CHECKING

import numpy as np

from xnas.benchmarks.cell_features import (
    EDGES,
    NODES,
    OPERATIONS,
    SPACE,
    Indices,
    Numbers,
    cell_features,
    encode,
    in_order,
)
from xnas.benchmarks.csv_file import number, read_rows
from xnas.errors import DatasetError, GenotypeError
from xnas.registry import known_names
from xnas.space import CellKind, Genotype
from xnas.space.genotype import CellGenotype, Edge

if TYPE_CHECKING:
    from sklearn.ensemble import GradientBoostingRegressor  # type: ignore[import-untyped]
    from sklearn.svm import SVR  # type: ignore[import-untyped]

ACCURACY = "valid_100"
FOLDS = 5
FEWEST_CELLS = 100
"""With fewer, a fold of the check would have less than twenty."""
RANDOM_CELLS = 2000
"""Drawn to say how many percent of random cells are worse."""
SMOOTH_WEIGHT = 2 / 3
"""Of the support vector regression; the rest is the trees'."""


@dataclass(frozen=True, slots=True)
class Quality:
    """How well a judge predicts cells that it was not fitted to, by cross-validation."""

    cells: int
    folds: int
    kendall: float
    """Kendall's tau between predicted and known accuracies, all folds together."""
    error: float
    """Root-mean-square error, in points of accuracy."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a judge says of one cell."""

    accuracy: float
    """Validation accuracy in percent."""
    error: float
    """Expected root-mean-square error of it, in points."""
    percentile: float
    """Percent of random cells that are judged worse."""


class SurrogateBenchmark:
    """Estimates the accuracy of any cell of the DARTS space; takes a `Genotype`."""

    def __init__(self, cells: Sequence[Genotype], accuracies: Sequence[float]) -> None:
        """Fit to `cells` with their validation accuracies in percent, at least 100, each once."""
        if len(cells) != len(accuracies):
            raise DatasetError(
                f"{len(cells)} cells have {len(accuracies)} accuracies; give one for each"
            )
        if len(cells) < FEWEST_CELLS:
            raise DatasetError(
                f"{len(cells)} cells are too few to fit a judge to; give at least {FEWEST_CELLS}"
            )
        known = np.array(accuracies, dtype=np.float64)
        if known.max() <= 1:
            raise DatasetError(
                f"the cells have accuracies as fractions, at most {known.max():g}; give them in percent"
            )
        if known.max() == known.min():
            raise DatasetError(
                f"all cells have the accuracy {known[0]:g}, so there is nothing to learn; give cells of "
                "different accuracies"
            )
        operations, sources = encode(cells)
        rows = np.concatenate([operations, sources], axis=-1).reshape(len(cells), -1)
        order = np.lexsort([*rows.T, known])  # the same rows in another order are the same judge
        features, known = cell_features(operations, sources)[order], known[order]
        self._check(features, known)
        self._model = _Model(features, known)

    @classmethod
    def load(cls, path: Path | str) -> SurrogateBenchmark:
        """Read a CSV and fit; what is wrong with the file is a DatasetError that names the line."""
        cells, accuracies = read_cells(path)
        try:
            return cls(cells, accuracies)
        except DatasetError as error:
            raise DatasetError(f"{path}: {error}") from error

    def accuracy(self, cell: Genotype) -> float:
        """Validation accuracy in percent."""
        return self.accuracies([cell])[0]

    def accuracies(self, cells: Sequence[Genotype]) -> list[float]:
        """Validation accuracies of many cells at once, which takes a fraction of the time."""
        found: list[float] = self.judge_encoded(*_encoded(cells)).tolist() if cells else []
        return found

    def judge_encoded(self, operations: Indices, sources: Indices) -> Numbers:
        """Validation accuracies of cells as `cell_features.encode` gives them."""
        smooth, stepped = self._model.predict(cell_features(operations, sources))
        return _mean(smooth, stepped)

    def by_regressor(self, cells: Sequence[Genotype]) -> tuple[Numbers, Numbers]:
        """What the support vector regression and the trees say of cells, each alone."""
        return self._model.predict(cell_features(*_encoded(cells)))

    def error(self, cell: Genotype) -> float:
        """Expected root-mean-square error of `accuracy`, in points.

        It grows with the difference between the two regressors, as it did in the cross-validation.
        """
        smooth, stepped = self.by_regressor([cell])
        floor, slope = self._variance
        return sqrt(floor + slope * float((smooth - stepped)[0] ** 2))

    def percentile(self, cell: Genotype) -> float:
        """Percent of random cells that are judged worse."""
        return 100 * bisect_left(self._random, self.accuracy(cell)) / len(self._random)

    def estimate(self, cell: Genotype) -> Estimate:
        """Accuracy, its error bar and percentile of a cell."""
        return Estimate(self.accuracy(cell), self.error(cell), self.percentile(cell))

    @cached_property
    def _random(self) -> list[float]:
        return sorted(self.accuracies([Genotype.random(SPACE, seed) for seed in range(RANDOM_CELLS)]))

    def _check(self, features: Numbers, known: Numbers) -> None:
        """Predict every cell by models fitted without it, and note how good that was."""
        from scipy.stats import kendalltau  # type: ignore[import-untyped]  # noqa: PLC0415 - slow
        from sklearn.model_selection import KFold  # type: ignore[import-untyped]  # noqa: PLC0415

        smooth, stepped = np.empty_like(known), np.empty_like(known)
        for fitted, held_out in KFold(FOLDS, shuffle=True, random_state=0).split(features):
            model = _Model(features[fitted], known[fitted])
            smooth[held_out], stepped[held_out] = model.predict(features[held_out])
        squares = (_mean(smooth, stepped) - known) ** 2
        self.quality = Quality(
            cells=len(known),
            folds=FOLDS,
            kendall=float(kendalltau(_mean(smooth, stepped), known).statistic),
            error=sqrt(squares.mean()),
        )
        slope = max(0.0, float(np.polyfit((smooth - stepped) ** 2, squares, 1)[0]))
        floor = float((squares - slope * (smooth - stepped) ** 2).mean())
        self._variance = (floor, slope) if floor > 0 else (float(squares.mean()), 0.0)


class _Model:
    """Both regressors, fitted to standardised features; columns that never change are left out."""

    def __init__(self, features: Numbers, known: Numbers) -> None:
        from sklearn.ensemble import GradientBoostingRegressor  # noqa: PLC0415 - slow to import
        from sklearn.svm import SVR  # noqa: PLC0415

        self.columns = features.std(0) > 0
        self.mean, self.deviation = features[:, self.columns].mean(0), features[:, self.columns].std(0)
        standard = self._standard(features)
        # A kernel this wide is nearly a polynomial of low degree, which carries on outside the data.
        width = 0.05 / standard.shape[1]
        self.smooth: SVR = SVR(C=30.0, epsilon=0.05, gamma=width).fit(standard, known)
        self.stepped: GradientBoostingRegressor = GradientBoostingRegressor(
            n_estimators=300,
            learning_rate=0.07,
            max_depth=3,
            subsample=0.7,
            max_features=0.1,
            random_state=0,
        ).fit(standard, known)

    def predict(self, features: Numbers) -> tuple[Numbers, Numbers]:
        """Accuracies by either regressor."""
        standard = self._standard(features)
        return self.smooth.predict(standard), self.stepped.predict(standard)

    def _standard(self, features: Numbers) -> Numbers:
        standard: Numbers = (features[:, self.columns] - self.mean) / self.deviation
        return standard


def _mean(smooth: Numbers, stepped: Numbers) -> Numbers:
    return SMOOTH_WEIGHT * smooth + (1 - SMOOTH_WEIGHT) * stepped


def _encoded(cells: Sequence[object]) -> tuple[Indices, Indices]:
    genotypes = []
    for cell in cells:
        if not isinstance(cell, Genotype):
            raise GenotypeError(f"a cell is a Genotype, got {type(cell).__name__}")
        genotypes.append(cell)
    return encode(genotypes)


def read_cells(path: Path | str) -> tuple[list[Genotype], list[float]]:
    """Cells of a CSV with their accuracies in percent."""
    cells: dict[Genotype, int] = {}
    accuracies = []
    wanted = f"a CSV of DARTS cells with the columns normal, reduction and {ACCURACY}"
    for line, row in read_rows(path, ("normal", "reduction", ACCURACY), wanted):
        where = f"line {line} of {path}"
        cell = _read_cell(row, where)
        if cell in cells:
            raise DatasetError(
                f"{where} has the cell of line {cells[cell]} again; keep one of the two lines"
            )
        cells[cell] = line
        accuracy = number(row[ACCURACY], ACCURACY, where)
        if not 0 <= accuracy <= 100:
            raise DatasetError(f"{where} has an accuracy outside 0..100: {accuracy}; get the file again")
        if 0 < accuracy <= 1:
            raise DatasetError(f"{where} has the accuracy {accuracy:g}, a fraction; give it in percent")
        accuracies.append(accuracy)
    return list(cells), accuracies


def _read_cell(row: dict[str, str], where: str) -> Genotype:
    """The genotype of a row, edges in the order of their sources."""
    try:
        genotype = Genotype(SPACE.name, *(_cell(row[kind], kind) for kind in SPACE.kinds))
        encode([genotype])
    except GenotypeError as error:
        raise DatasetError(
            f"{where} is no cell of the space {SPACE.name!r}: {error}; get the file again"
        ) from error
    return genotype


def _cell(text: str, kind: CellKind) -> CellGenotype:
    edges = [_read_edge(word, kind) for word in text.split()]
    if len(edges) != NODES * EDGES:
        raise GenotypeError(
            f"the {kind} cell has {len(edges)} edges; a cell has {NODES} nodes of {EDGES} each"
        )
    nodes = (edges[place : place + EDGES] for place in range(0, len(edges), EDGES))
    return CellGenotype(tuple(tuple(sorted(node, key=in_order)) for node in nodes), SPACE.concat)


def _read_edge(word: str, kind: CellKind) -> Edge:
    operation, colon, source = word.rpartition(":")
    if not colon or not source.isascii() or not source.isdigit() or len(source) > 1:
        raise GenotypeError(
            f"the {kind} cell has {word[:40]!r} as an edge; an edge is operation:source, such as "
            f"{OPERATIONS[0]}:0"
        )
    if operation not in OPERATIONS:  # the space also allows those of published cells
        raise GenotypeError(
            f"the {kind} cell has {brief(operation)}; {known_names(operation, OPERATIONS)}"
        )
    return Edge(operation, int(source))
