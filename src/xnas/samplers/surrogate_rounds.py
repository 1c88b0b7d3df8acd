"""BANANAS and NPENAS: rounds of cells that an ensemble, fitted to all results so far, expects most of.

Both begin with random cells. Then every round fits new perceptrons to the path encodings of all cells
that were told, mutates the best of them, and asks the most promising candidates. BANANAS ranks them by
independent Thompson sampling, one draw from each candidate's normal distribution (arXiv 1910.11858,
Sec. 4), NPENAS by the mean alone (arXiv 2003.12857, Sec. III). No cell is asked twice. A round follows
from the seed and from the results that were told before it.

Departure: NPENAS predicts with a graph network, here with BANANAS's ensemble on path encodings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from xnas.options import POSITIVE, Options, at_least, option
from xnas.samplers.book import Book
from xnas.samplers.ensemble import EPOCHS, LEARNING_RATE, Ensemble
from xnas.samplers.path_encoding import PathEncoding
from xnas.samplers.protocol import SAMPLERS, Result, SamplerKind, Trial
from xnas.space.encoding import Choices, Encoding

TRIES = 20
"""Draws for each cell that is wanted, before there is held to be no other."""


@dataclass(frozen=True, kw_only=True)
class NpenasSettings(Options):
    """NPENAS: mutations of the best cells, ranked by the mean prediction."""

    start: int = option(10, at_least(1))
    """Random cells of the first round."""
    round: int = option(10, at_least(1))
    """Cells of every further round."""
    parents: int = option(10, at_least(1))
    """The best cells so far, which are mutated."""
    candidates: int = option(100, at_least(1))
    """Single mutations that a round is chosen from."""
    members: int = option(5, at_least(2))
    """Perceptrons of the ensemble."""
    fit_epochs: int = option(EPOCHS, at_least(1))
    """Passes over the results in a fit."""
    fit_rate: float = option(LEARNING_RATE, POSITIVE)
    """Learning rate of a fit."""
    thompson: bool = False
    """Rank by a draw from the prediction's normal distribution instead of its mean."""


@dataclass(frozen=True, kw_only=True)
class BananasSettings(NpenasSettings):
    """BANANAS: mutations of the best cells, ranked by independent Thompson sampling."""

    thompson: bool = True
    """Rank by a draw from the prediction's normal distribution instead of its mean."""


class SurrogateRounds:
    """Asks round after round; a round begins when every trial of the one before was told."""

    def __init__(self, encoding: Encoding, seed: int, settings: NpenasSettings) -> None:
        self.encoding, self.seed, self.settings = encoding, seed, settings
        self.book = Book()
        self._paths = PathEncoding(encoding.space)
        self._choices: list[Choices] = []
        """What was asked, by number."""
        self._began = self._told = 0
        """Trials that were asked, and told, when the present round began."""
        self._round: list[tuple[Choices, int | None]] | None = None
        """Its cells with their parents; None until one of them is asked for."""
        self._first: tuple[Choices, ...] = ()

    def begin_with(self, cells: Sequence[Choices]) -> None:
        """Ask these cells, in this order, in place of as many random ones; before the first ask."""
        self._first = tuple(cells)

    def ask(self) -> Trial | None:
        """Return the next trial of the round; None while the next round waits for results."""
        if self._is_full:
            if self.book.open:
                return None
            self._begin_round()
        if self._round is None:
            self._round = self._drawn_round()
        if self.finished:
            return None
        choices, parent = self._round[self._place]
        self._choices.append(choices)
        return self.book.ask(self.encoding.decode(choices), parent=parent)

    def accept(self, trial: Trial) -> None:
        """Take `trial` as what `ask` would have returned now; its round is not computed for that."""
        if self._is_full:
            self._begin_round()
        self.book.accept(trial)
        self._choices.append(self.encoding.encode(trial.genotype))

    def tell(self, result: Result) -> None:
        """Take the result of an open trial."""
        self.book.tell(result)

    @property
    def finished(self) -> bool:
        """Whether no cell was found that had not been asked."""
        return self._round is not None and not self._is_full and self._place >= len(self._round)

    def best(self) -> Trial:
        """Return the told trial of the largest value, the earlier one of equals."""
        return self.book.best()

    @property
    def _size(self) -> int:
        return self.settings.round if self._began else max(self.settings.start, len(self._first))

    @property
    def _place(self) -> int:
        """How many cells of the round were asked."""
        return self.book.asked - self._began

    @property
    def _is_full(self) -> bool:
        return self._place >= self._size

    def _begin_round(self) -> None:
        self._began, self._told, self._round = self.book.asked, len(self.book.told), None

    def _drawn_round(self) -> list[tuple[Choices, int | None]]:
        """The cells of the round, from the seed and what was asked and told before it."""
        draw = Random(f"{self.seed}/{self._began}")
        known = set(self._choices[: self._began])
        cells: dict[Choices, int | None] = {} if self._began else dict.fromkeys(self._first)
        told = sorted(self.book.told[: self._told], key=lambda pair: pair[0].number)
        values = {trial.number: result.value for trial, result in told if result.value is not None}
        if len(values) > 1:
            candidates = self._candidates(values, known, draw)
            scores = self._scores(values, list(candidates), draw) if candidates else []
            ranked = sorted(zip(candidates.items(), scores, strict=True), key=lambda pair: -pair[1])
            cells.update(cell for cell, _ in ranked[: self._size])
        for _ in range(TRIES * self._size):
            if len(cells) == self._size:
                break
            cell = self.encoding.draw(draw)
            if cell not in known:
                cells.setdefault(cell, None)
        return list(cells.items())

    def _candidates(
        self, values: Mapping[int, float], known: set[Choices], draw: Random
    ) -> dict[Choices, int | None]:
        """Unknown cells made from the best, each with the trial that it was made from."""
        best = sorted(values, key=lambda number: (-values[number], number))[: self.settings.parents]
        found: dict[Choices, int | None] = {}
        for _ in range(TRIES * self.settings.candidates):
            if len(found) == self.settings.candidates:
                break
            parent = draw.choice(best)
            cell = self.encoding.mutate(self._choices[parent], draw)
            if cell not in known:
                found.setdefault(cell, parent)
        return found

    def _scores(
        self, values: Mapping[int, float], candidates: list[Choices], draw: Random
    ) -> list[float]:
        """What is expected of each candidate, by an ensemble fitted to `values`."""
        told = self._rows([self._choices[number] for number in values])
        ensemble = Ensemble(self._paths.size, seed=draw.getrandbits(63), members=self.settings.members)
        ensemble.fit(
            told,
            list(values.values()),
            epochs=self.settings.fit_epochs,
            learning_rate=self.settings.fit_rate,
        )
        predicted = ensemble.predict(self._rows(candidates))
        if self.settings.thompson:
            noise = torch.Generator().manual_seed(draw.getrandbits(63))
            return thompson_scores(predicted, noise).tolist()
        return predicted.mean(0).tolist()

    def _rows(self, cells: list[Choices]) -> Tensor:
        return self._paths.rows([self.encoding.decode(cell) for cell in cells])


def thompson_scores(predicted: Tensor, generator: torch.Generator) -> Tensor:
    """Draw once for each candidate from N(mean, spread) of `predicted` (members, candidates)."""
    normal = torch.randn(predicted.shape[1], dtype=predicted.dtype, generator=generator)
    return predicted.mean(0) + predicted.std(0) * normal


SAMPLERS.add(
    "bananas",
    SamplerKind(SurrogateRounds, BananasSettings, "an ensemble on paths, by Thompson sampling"),
)
SAMPLERS.add(
    "npenas",
    SamplerKind(SurrogateRounds, NpenasSettings, "mutations of the best that an ensemble ranks first"),
)
