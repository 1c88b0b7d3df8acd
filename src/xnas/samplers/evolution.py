"""Regularised evolution: a queue of cells, in which the oldest dies, however good it is.

The first cells are random. Then the best of a few members of the queue, drawn with replacement, is the
parent of the next cell, which is one mutation away from it (Real et al., 2019, Algorithm 1). So a cell
that was lucky in its training is forgotten, unless its children do well too. The answer is the best cell
ever evaluated. Equal cells may come again, which the paper wants: with real trainings the second result
differs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from xnas.errors import ConfigError
from xnas.options import SHARE, Options, at_least, option
from xnas.samplers.book import Book
from xnas.samplers.protocol import SAMPLERS, Result, SamplerKind, Trial
from xnas.space.encoding import Choices, Encoding

COPIES = 0.05  # Real et al., 2019: identity is among the mutations


@dataclass(frozen=True, kw_only=True)
class EvolutionSettings(Options):
    """Sizes of the queue and of a draw.

    Departure: the paper has a population of 100 and draws 25, for 20,000 evaluations. The defaults are
    for hundreds. NAS-Bench-201's authors have 10 and 3.
    """

    population: int = option(30, at_least(1))
    """Cells in the queue; so many random ones come first."""
    sample: int = option(10, at_least(1))
    """Members that are drawn; the best of them is the parent."""
    copies: float | None = option(None, SHARE)
    """Share of children that equal their parent. Default: 0.05, and 0 on nasbench201, whose authors
    have none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sample > self.population:
            raise ConfigError(
                f"a sample of {self.sample} is larger than the population of {self.population}; make it "
                "smaller, or the population larger"
            )


@dataclass(frozen=True, slots=True)
class _Member:
    number: int
    choices: Choices
    value: float


class Evolution:
    """Aging evolution."""

    def __init__(self, encoding: Encoding, seed: int, settings: EvolutionSettings) -> None:
        self.encoding, self.settings, self.book = encoding, settings, Book()
        usual = 0.0 if encoding.space == "nasbench201" else COPIES
        self.copies = usual if settings.copies is None else settings.copies
        self.queue: deque[_Member] = deque(maxlen=settings.population)
        """The living members, the oldest first; those that failed never enter."""
        self._choices: dict[int, Choices] = {}
        self._first: deque[Choices] = deque()
        self._draw = Random(seed)

    def begin_with(self, cells: Sequence[Choices]) -> None:
        """Ask these cells, in this order, in place of as many random ones; before the first ask."""
        self._first.extend(cells)

    def ask(self) -> Trial:
        """Return the next trial."""
        if self.book.asked < self.settings.population or not self.queue:
            parent = None
            choices = self._first.popleft() if self._first else self.encoding.draw(self._draw)
        else:
            drawn = [self._draw.choice(self.queue) for _ in range(self.settings.sample)]
            best = max(drawn, key=lambda member: member.value)
            parent, choices = best.number, self._child(best.choices)
        trial = self.book.ask(self.encoding.decode(choices), parent=parent)
        self._choices[trial.number] = choices
        return trial

    def tell(self, result: Result) -> None:
        """Take the result of an open trial; the oldest member of a full queue dies."""
        trial = self.book.tell(result)
        choices = self._choices.pop(trial.number)
        if result.value is not None:
            self.queue.append(_Member(trial.number, choices, result.value))

    @property
    def finished(self) -> bool:
        """Never."""
        return False

    def best(self) -> Trial:
        """Return the told trial of the largest value, the earlier one of equals."""
        return self.book.best()

    def _child(self, parent: Choices) -> Choices:
        if self.copies and self._draw.random() < self.copies:
            return parent
        return self.encoding.mutate(parent, self._draw)


SAMPLERS.add(
    "evolution", SamplerKind(Evolution, EvolutionSettings, "aging evolution, as AmoebaNet was found")
)
