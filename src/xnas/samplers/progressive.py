"""PNAS: cells grow level by level, and a surrogate says which to train (Liu et al., 2018, Algorithm 1).

All cells of one block are trained, and a surrogate is fitted to them. At every further level each kept
cell is extended by every block, the surrogate ranks all of these, the best K are trained, and the
surrogate is fitted on to them. With K = 256 on `nasnet` that is 136 + 4 x 256 = 1,160 trainings.

A search of fewer evaluations divides what is left evenly over the levels that are left. If that is not
enough for all cells of one block, random ones are trained, and the second level extends all of them.

Departure: the surrogate predicts ranks within a level, from 0 to 1, not accuracies. The mean absolute
error leads a sigmoid to the median, and where most short cells are near chance it saturates there and
learns nothing else. `targets="accuracy"` is the published loss. A fit takes `steps` updates of 32 cells;
the paper does not state how long it fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice
from random import Random
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from xnas.errors import ConfigError
from xnas.options import POSITIVE, Options, at_least, option
from xnas.samplers.block_surrogate import INITIAL_BIAS, MEMBERS, BlockEnsemble
from xnas.samplers.book import Book
from xnas.samplers.growth import GROWTHS, Blocks, NodeByNode, extended
from xnas.samplers.protocol import SAMPLERS, Result, SamplerKind, Trial
from xnas.samplers.ranks import mean_ranks, rank_correlation
from xnas.samplers.seeded import derived_seed
from xnas.space.encoding import Encoding
from xnas.space.limited_encoding import LimitedEncoding

CHUNK = 8192
"""Candidates that are ranked together."""
MOST_CHECKED = 20_000
"""Candidates of a level, the best first, of which the sizes are computed where there are limits."""


@dataclass(frozen=True, kw_only=True)
class ProgressiveSettings(Options):
    """How many cells a level trains, and the surrogate that chooses them."""

    evaluations: int | None = option(None, at_least(1))
    """Evaluations planned, divided evenly over the levels."""
    beam: int = option(256, at_least(1))
    """K, the most cells that a level after the first trains."""
    surrogate: Literal["mlp", "lstm"] = "mlp"
    """`mlp` takes the mean over blocks and extrapolates best, `lstm` reads all tokens."""
    targets: Literal["ranks", "accuracy"] = "ranks"
    """What is predicted: the rank among the cells of a level, or the accuracy as published."""
    members: int = option(MEMBERS, at_least(1))
    """Surrogates in the ensemble."""
    first_rate: float = option(0.01, POSITIVE)
    """Learning rate of the fit to cells of one block."""
    later_rate: float = option(0.002, POSITIVE)
    """Learning rate of the later fits."""
    steps: int = option(30, at_least(1))
    """Updates per fit. On some tens of cells a long fit extrapolates worse than a short one."""


@dataclass(slots=True)
class _Level:
    """One level of the search, while its cells are trained."""

    number: int
    parents: list[Blocks]
    """Kept cells of the level before."""
    size: int
    """Cells to train."""
    asked: dict[int, Blocks]
    """Cells by number of their trial."""
    values: dict[int, float]
    """Of the trials that are done."""
    told: int = 0
    chosen: list[Blocks] | None = None
    """The cells in the order of asking; None until they are needed."""

    def data(self) -> tuple[list[Blocks], list[float]]:
        """Cells with their values, in the order of asking."""
        numbers = sorted(self.values)
        return [self.asked[number] for number in numbers], [self.values[number] for number in numbers]


class Progressive:
    """Cells of one block, then of two, up to whole ones."""

    def __init__(self, encoding: Encoding, seed: int, settings: ProgressiveSettings) -> None:
        self.settings, self.book = settings, Book()
        self.growth = GROWTHS[encoding.space]
        self._seed = seed
        self._allows = encoding.allows_cell if isinstance(encoding, LimitedEncoding) else None
        self._surrogate = BlockEnsemble(
            settings.surrogate,
            self.growth.tables,
            self.growth.columns,
            members=settings.members,
            bias=INITIAL_BIAS if settings.targets == "accuracy" else 0.0,
            seed=derived_seed(seed, "weights"),
        )
        self._refused = 0
        """Trials beyond the limits, which are told as failed and are no evaluations."""
        self._keys: set[Blocks] = set()
        self._complete: list[_Level] = []
        self._fitted = 0
        self._correlations: dict[int, float | None] = {}
        self._level: _Level | None = self._next_level([()])

    def ask(self) -> Trial | None:
        """Return the next trial; None while the last results of a level are awaited."""
        level = self._level
        if level is None or len(level.asked) == level.size:
            return None
        if level.chosen is None:
            level.chosen = self._choose(level)
        cell = level.chosen[len(level.asked)]
        trial = self.book.ask(self.growth.genotype(cell))
        level.asked[trial.number] = cell
        return trial

    def accept(self, trial: Trial) -> None:
        """Take `trial` as what `ask` would have returned now; nothing is fitted or ranked for it."""
        level = self._level
        if level is None or len(level.asked) == level.size:
            raise ConfigError(
                f"trial {trial.number} cannot be accepted: nothing is to be asked now; tell open trials"
            )
        self.book.accept(trial)
        level.asked[trial.number] = self.growth.cell(trial.genotype, level.number)

    def tell(self, result: Result) -> None:
        """Take the result of an open trial; the last one of a level opens the next."""
        level, trial = self._level, self.book.tell(result)
        assert level is not None  # noqa: S101 - a trial was open
        level.told += 1
        if result.value is not None:
            level.values[trial.number] = result.value
        elif self._allows is not None and not self._allows(trial.genotype):
            self._refused += 1
        if level.told == level.size:
            self._complete.append(level)
            self._keys.update(self.growth.key(cell) for cell in level.asked.values())
            self._level = self._next_level(self._kept(level))

    @property
    def finished(self) -> bool:
        """Whether the last level is complete, or nothing is left to extend."""
        return self._level is None

    def best(self) -> Trial:
        """Return the told trial of the largest value, the earlier one of equals."""
        return self.book.best()

    def remarks(self) -> Mapping[str, float | str | None]:
        """Rank correlation of each level's predictions with what was then measured, from level 2 on."""
        self._catch_up()
        return {f"rank_correlation_{level}": value for level, value in self._correlations.items()}

    def _kept(self, level: _Level) -> list[Blocks]:
        """What the next level extends: trained cells, and of one block also those not chosen."""
        failed = {cell for number, cell in level.asked.items() if number not in level.values}
        if level.number == 1:
            return [cell for cell in extended([()], self.growth, 1) if cell not in failed]
        return level.data()[0]

    def _next_level(self, parents: list[Blocks]) -> _Level | None:
        number = len(self._complete) + 1
        levels_left = self.growth.levels - len(self._complete)
        if not levels_left:
            return None
        most = self.settings.beam if number > 1 else len(self.growth.blocks(1))
        if self.settings.evaluations is not None:
            left = self.settings.evaluations - (self.book.asked - self._refused)
            most = min(most, max(left // levels_left, min(left, 1)))
        size = sum(1 for _ in islice(self._candidates(number, parents), most))
        return _Level(number, parents, size, {}, {}) if size else None

    def _candidates(self, number: int, parents: Sequence[Blocks]) -> Iterator[Blocks]:
        """All extensions that were not trained at an earlier level."""
        cells = extended(parents, self.growth, number)
        return (cell for cell in cells if self.growth.key(cell) not in self._keys)

    def _choose(self, level: _Level) -> list[Blocks]:
        """The cells of a level: of the first at random, of the others the best by the surrogate."""
        candidates = self._candidates(level.number, level.parents)
        if level.number == 1:
            cells = list(candidates)
            if level.size < len(cells):
                Random(derived_seed(self._seed, "first")).shuffle(cells)
            return self._within_limits(cells, level.size)
        self._catch_up()
        most = level.size if self._allows is None else MOST_CHECKED
        best = nlargest(most, self._scored(candidates), key=lambda pair: pair[0])
        return self._within_limits([cell for _, cell in best], level.size)

    def _within_limits(self, ordered: Sequence[Blocks], size: int) -> list[Blocks]:
        """The first cells within the limits; where they are too few, others, which then are refused."""
        if self._allows is None:
            return list(ordered[:size])
        allowed: list[Blocks] = []
        beyond: list[Blocks] = []
        for cell in ordered:
            (allowed if self._allows(self.growth.genotype(cell)) else beyond).append(cell)
            if len(allowed) == size:
                break
        return [*allowed, *beyond][:size]

    def _scored(self, candidates: Iterator[Blocks]) -> Iterator[tuple[float, Blocks]]:
        """Candidates with their mean prediction, computed many at a time."""
        while chunk := list(islice(candidates, CHUNK)):
            means = self._surrogate.predict(_tokens(chunk)).mean(0)
            yield from zip(means.tolist(), chunk, strict=True)

    def _catch_up(self) -> None:
        """Judge and fit the surrogate on all levels that are complete; weights continue from each."""
        for level in self._complete[self._fitted :]:
            cells, values = level.data()
            self._fitted += 1
            if level.number > 1 and cells:
                predicted = self._surrogate.predict(_tokens(cells)).mean(0).tolist()
                self._correlations[level.number] = rank_correlation(predicted, values)
            if level.number < self.growth.levels and cells:
                self._fit(level.number, cells, values)

    def _fit(self, level: int, cells: Sequence[Blocks], values: Sequence[float]) -> None:
        settings = self.settings
        targets = np.asarray(values, dtype=np.float64)
        if settings.targets == "ranks":
            targets = (mean_ranks(values) + 1 / 2) / len(values)
        self._surrogate.fit(
            _tokens(cells),
            torch.from_numpy(targets),
            learning_rate=settings.first_rate if level == 1 else settings.later_rate,
            steps=settings.steps,
            seed=derived_seed(self._seed, "fit", level),
        )


def _tokens(cells: Sequence[Blocks]) -> Tensor:
    """(batch, blocks, columns) of cells of one length."""
    return torch.from_numpy(np.array(cells, dtype=np.int64))


SAMPLERS.add(
    "progressive",
    SamplerKind(
        Progressive,
        ProgressiveSettings,
        "PNAS: cells grow block by block, and a surrogate chooses which to train",
        spaces=tuple(GROWTHS),
        extendable=False,
        smaller_cells=tuple(name for name, growth in GROWTHS.items() if isinstance(growth, NodeByNode)),
    ),
)
