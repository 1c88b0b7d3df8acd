"""Local search: evaluate all neighbours, move to the best if it is better, else start again elsewhere.

White et al. (2021) show how strong this is on small spaces. Theirs moves to the first neighbour that is
better; here all are evaluated before a move. A cell is asked once: where it comes again, its value is
known.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from random import Random

from xnas.options import Options
from xnas.samplers.book import Book
from xnas.samplers.protocol import SAMPLERS, Result, SamplerKind, Trial
from xnas.space.encoding import Choices, Encoding

FAILED = -float("inf")
MOST_DRAWS = 1000  # of starts that were all asked before: then the space is taken to be known


@dataclass(frozen=True, kw_only=True)
class LocalSettings(Options):
    """Local search has nothing to set."""


class LocalSearch:
    """Climbs from random starts."""

    def __init__(self, encoding: Encoding, seed: int, settings: LocalSettings) -> None:  # noqa: ARG002
        self.encoding, self.book = encoding, Book()
        self._draw = Random(seed)
        self._numbers: dict[Choices, int] = {}
        """The trial of every cell that was asked."""
        self._values: dict[Choices, float] = {}
        self._open: dict[int, Choices] = {}
        self._here: Choices | None = None
        """Where the search stands; a start counts once it was asked."""
        self._around: list[Choices] = []
        """The neighbours that are compared now; empty while the start is evaluated."""
        self._to_ask: deque[Choices] = deque()
        self.finished = False
        """Whether no start could be found that was not asked before."""

    def ask(self) -> Trial | None:
        """Return the next trial; None until all neighbours of the present cell are told."""
        while not self._to_ask and not self._open and not self.finished:
            self._move()
        if not self._to_ask:
            return None
        choices = self._to_ask.popleft()
        parent = None if self._here is None else self._numbers.get(self._here)
        trial = self.book.ask(self.encoding.decode(choices), parent=parent)
        self._numbers[choices] = trial.number
        self._open[trial.number] = choices
        return trial

    def tell(self, result: Result) -> None:
        """Take the result of an open trial."""
        self.book.tell(result)
        choices = self._open.pop(result.number)
        self._values[choices] = FAILED if result.value is None else result.value

    def best(self) -> Trial:
        """Return the told trial of the largest value, the earlier one of equals."""
        return self.book.best()

    def _move(self) -> None:
        """Choose what is asked next: the values of the present cell and its neighbours are known."""
        here = self._here
        if here is None or self._values[here] == FAILED:
            return self._start()
        if self._around:
            best = max(self._around, key=self._values.__getitem__)
            if self._values[best] <= self._values[here]:
                return self._start()
            here = self._here = best
        self._around = list(self.encoding.neighbours(here))
        self._draw.shuffle(self._around)
        self._to_ask.extend(cell for cell in self._around if cell not in self._values)
        if not self._around:
            self._start()
        return None

    def _start(self) -> None:
        self._here, self._around = None, []
        for _ in range(MOST_DRAWS):
            start = self.encoding.draw(self._draw)
            if start not in self._values:
                self._here = start
                self._to_ask.append(start)
                return
        self.finished = True


SAMPLERS.add("local", SamplerKind(LocalSearch, LocalSettings, "climbs from random starts"))
