"""NAO: cells are moved along a gradient in a learned latent space (Luo et al., 2018, Algorithm 1).

A pool of random cells is evaluated, and a model is fitted to it (`latent_model`). The codes of the best
cells of the pool are moved along the gradient of the predicted value, and decoded to new cells. These
are evaluated and replace the worst of the pool, and the next round begins.

The published search evaluates 1,000 cells: 600 at random, then 200 in each of two rounds, from the best
100. A search of another number keeps these shares, so that 100 evaluations are 60, 20 and 20.

NAO-WS is this sampler with the evaluator `shared`. Departure: there the weights are trained on the cells
of the pool, which is judged again and again meanwhile. Here they were trained before, on cells drawn
uniformly, because a sampler knows no weights, so that evaluations can run anywhere and be replayed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from random import Random

import torch

from xnas.errors import ConfigError
from xnas.options import POSITIVE, SHARE, Options, at_least, option
from xnas.samplers.book import Book
from xnas.samplers.latent_fit import Fit, fit, scaled
from xnas.samplers.latent_model import EMBEDDING, HIDDEN, LatentModel, swaps_of, tokens_of
from xnas.samplers.protocol import SAMPLERS, Result, SamplerKind, Trial
from xnas.samplers.ranks import pairwise_accuracy
from xnas.samplers.seeded import derived_seed, seeded
from xnas.space.encoding import Choices, Encoding
from xnas.space.limited_encoding import LimitedEncoding

PUBLISHED_EVALUATIONS = 1000
RANDOM_SHARE = 0.6
SEEDS_SHARE = 1 / 6
"""Of the pool: cells from which new ones are made."""
LONGEST_STEP = 50
"""Steps along the gradient are 1, 2, 3, ... until there are enough new cells, as in the later code."""
MOST_DRAWS = 100
"""Random draws per cell that is to be a new one; in a small space all cells may be known."""


@dataclass(frozen=True, kw_only=True)
class LatentSettings(Options):
    """How many cells are evaluated when, and how the model is fitted."""

    evaluations: int | None = option(None, at_least(1))
    """Evaluations planned; 1,000 if it is not given."""
    rounds: int = option(2, at_least(1))
    """Times that new cells are made."""
    random_share: float = option(RANDOM_SHARE, POSITIVE, SHARE)
    """Of all evaluations, the share of the first, random pool."""
    epochs: int | None = option(None, at_least(1))
    """Passes over the pool per fit: 1,000 as published, or 100 in searches of fewer evaluations."""
    learning_rate: float | None = option(None, POSITIVE)
    """Of Adam: 0.001 as published, or 0.01 in searches of fewer evaluations."""
    embedding: int = option(EMBEDDING, at_least(1))
    """Numbers per token."""
    hidden: int = option(HIDDEN, at_least(1))
    """Units of encoder and decoder."""


class Latent:
    """Random cells, then cells that a fitted model expects to be better."""

    def __init__(self, encoding: Encoding, seed: int, settings: LatentSettings) -> None:
        self.encoding, self.settings, self.book = encoding, settings, Book()
        self.sizes = round_sizes(settings)
        self.model: LatentModel | None = None
        """The one of the last fit."""
        self._seed = seed
        self._known: set[Choices] = set()
        self._round = 0
        self._asked: dict[int, Choices] = {}
        """Cells of this round, by number of their trial."""
        self._told = 0
        self._valued: list[tuple[float, int, Choices]] = []
        """Value, number and cell of all trials that are done."""
        self._pool: list[tuple[float, int, Choices]] = []
        """The best of these when this round began, as many as the first round had."""
        self._queue: list[Choices] | None = None
        """The cells of this round in the order of asking; None until they are needed."""
        self._remarks: dict[str, float | str | None] = {}

    def ask(self) -> Trial | None:
        """Return the next trial; None while the last results of a round are awaited."""
        if self._round_is_asked():
            return None
        if self._queue is None:
            self._queue = list(islice(self._new_cells(), self.sizes[self._round]))
        cell = self._queue[len(self._asked)]
        trial = self.book.ask(self.encoding.decode(cell))
        self._asked[trial.number] = cell
        return trial

    def accept(self, trial: Trial) -> None:
        """Take `trial` as what `ask` would have returned now; nothing is fitted for it."""
        if self._round_is_asked():
            raise ConfigError(
                f"trial {trial.number} cannot be accepted: nothing is to be asked now; tell open trials"
            )
        self.book.accept(trial)
        self._asked[trial.number] = self.encoding.encode(trial.genotype)

    def tell(self, result: Result) -> None:
        """Take the result of an open trial; the last one of a round opens the next."""
        number = self.book.tell(result).number
        self._told += 1
        if result.value is not None:
            self._valued.append((result.value, number, self._asked[number]))
        if self._told == self.sizes[self._round]:
            self._known.update(self._asked.values())
            ordered = sorted(self._valued, key=lambda known: (-known[0], known[1]))
            self._pool = ordered[: self.sizes[0]]
            self._round, self._asked, self._told, self._queue = self._round + 1, {}, 0, None

    @property
    def finished(self) -> bool:
        """Whether all rounds are over."""
        return self._round == len(self.sizes)

    def best(self) -> Trial:
        """Return the told trial of the largest value, the earlier one of equals."""
        return self.book.best()

    def remarks(self) -> Mapping[str, float | str | None]:
        """Of every fit here: how well it orders and gives back its pool, and cells it did not find."""
        return dict(self._remarks)

    def _round_is_asked(self) -> bool:
        return self.finished or len(self._asked) == self.sizes[self._round]

    def _new_cells(self) -> Iterator[Choices]:
        """Give cells of this round that are not known yet, each once: decoded ones, then random ones."""
        found = set(self._known)
        decoded = self._decoded() if self._pool else iter(())
        for cell in decoded:
            if cell not in found and self._allows(cell):
                found.add(cell)
                yield cell
        if self._round:
            lacking = self.sizes[self._round] - (len(found) - len(self._known))
            self._remarks[f"random_{self._round}"] = lacking
        draw = Random(derived_seed(self._seed, "draws", self._round))
        tries = MOST_DRAWS * self.sizes[self._round]
        while True:
            cell, tries = self.encoding.draw(draw), tries - 1
            if cell not in found or tries < 0:
                found.add(cell)
                yield cell

    def _allows(self, cell: Choices) -> bool:
        """Whether a decoded cell is within the limits; draws always are."""
        return not isinstance(self.encoding, LimitedEncoding) or self.encoding.allows(cell)

    def _decoded(self) -> Iterator[Choices]:
        """Fit to the pool; give the cells decoded from its best after steps of growing length."""
        cells = torch.tensor([cell for *_, cell in self._pool])
        values = [value for value, *_ in self._pool]
        model = self._fitted(cells, values)
        with torch.no_grad():
            outputs = model.outputs(cells)
            self._remarks |= {
                f"pairwise_accuracy_{self._round}": pairwise_accuracy(
                    model.predicted(outputs).tolist(), values
                ),
                f"reconstructed_{self._round}": float(
                    (model.decode(outputs) == cells).all(1).double().mean()
                ),
            }
        best = outputs[: math.ceil(SEEDS_SHARE * len(cells))]
        for step in range(1, LONGEST_STEP + 1):
            for choices in model.decode(model.moved(best, step)).tolist():
                yield self.encoding.canonical(choices)

    def _fitted(self, cells: torch.Tensor, values: list[float]) -> LatentModel:
        """A model fitted from the start, to what was told alone."""
        s = self.settings
        generator = torch.Generator().manual_seed(derived_seed(self._seed, "fit", self._round))
        short = sum(self.sizes) < PUBLISHED_EVALUATIONS
        how = Fit(
            epochs=s.epochs or (100 if short else 1000),
            learning_rate=s.learning_rate or (0.01 if short else 0.001),
        )
        self.model = seeded(
            lambda: LatentModel(tokens_of(self.encoding), embedding=s.embedding, hidden=s.hidden),
            generator,
            bound=1 / math.sqrt(s.hidden),
        )
        fit(self.model, cells, scaled(values), how, swaps=swaps_of(self.encoding), generator=generator)
        return self.model


def round_sizes(settings: LatentSettings) -> list[int]:
    """Cells of the random pool and of each round; none is empty.

    >>> round_sizes(LatentSettings())
    [600, 200, 200]
    """
    evaluations = settings.evaluations or PUBLISHED_EVALUATIONS
    pool = min(evaluations, max(1, round(settings.random_share * evaluations)))
    left = evaluations - pool
    ends = [round(left * number / settings.rounds) for number in range(settings.rounds + 1)]
    sizes = [pool, *(end - start for start, end in pairwise(ends))]
    return [size for size in sizes if size]


SAMPLERS.add(
    "latent",
    SamplerKind(
        Latent,
        LatentSettings,
        "NAO: the gradient of a predicted value in a learned latent space",
        extendable=False,
    ),
)
