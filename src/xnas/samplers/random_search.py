"""Random search: every cell is drawn uniformly, with replacement.

The baseline that every search has to beat (Li and Talwalkar, 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from xnas.options import Options
from xnas.samplers.book import Book
from xnas.samplers.protocol import SAMPLERS, Result, SamplerKind, Trial
from xnas.space.encoding import Encoding


@dataclass(frozen=True, kw_only=True)
class RandomSettings(Options):
    """Random search has nothing to set."""


class RandomSearch:
    """Uniform draws."""

    def __init__(self, encoding: Encoding, seed: int, settings: RandomSettings) -> None:  # noqa: ARG002
        self.encoding, self.book = encoding, Book()
        self._draw = Random(seed)

    def ask(self) -> Trial:
        """Return the next trial."""
        return self.book.ask(self.encoding.decode(self.encoding.draw(self._draw)))

    def tell(self, result: Result) -> None:
        """Take the result of an open trial."""
        self.book.tell(result)

    @property
    def finished(self) -> bool:
        """Never."""
        return False

    def best(self) -> Trial:
        """Return the told trial of the largest value, the earlier one of equals."""
        return self.book.best()


SAMPLERS.add("random", SamplerKind(RandomSearch, RandomSettings, "uniform draws"))
