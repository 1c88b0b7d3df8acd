"""An encoding of the cells within limits alone: none of its draws, mutations or neighbours is beyond.

Samplers that draw, mutate or look around need not know of limits. One that composes a tuple itself may
still ask a cell beyond them, which `allows` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from xnas.space.encoding import Choices, Encoding, Position
from xnas.space.genotype import Genotype

MOST_TRIES = 1000
"""Draws that are thrown away before a cell is reached by small steps."""
STEPS = 100
"""Mutations that lead from the smallest cell to a random one."""


class LimitedEncoding:
    """Another encoding, without the cells that are not allowed."""

    def __init__(
        self, encoding: Encoding, allows: Callable[[Genotype], bool], smallest: Sequence[int]
    ) -> None:
        """`smallest` is a cell that is allowed."""
        self.encoding, self.smallest = encoding, encoding.canonical(smallest)
        self.allows_cell = allows
        """Whether a genotype is within the limits, also one that no tuple stands for."""
        self._known: dict[Choices, bool] = {}

    @property
    def space(self) -> str:
        """Name of the search space."""
        return self.encoding.space

    @property
    def tied(self) -> bool:
        """Whether the reduction cell equals the normal one."""
        return self.encoding.tied

    @property
    def positions(self) -> tuple[Position, ...]:
        """The meaning of every number."""
        return self.encoding.positions

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """How many values each number has."""
        return self.encoding.cardinalities

    def decode(self, choices: Sequence[int]) -> Genotype:
        """Return the cell of any tuple, allowed or not."""
        return self.encoding.decode(choices)

    def encode(self, genotype: Genotype) -> Choices:
        """Return the canonical tuple of a cell, allowed or not."""
        return self.encoding.encode(genotype)

    def canonical(self, choices: Sequence[int]) -> Choices:
        """Return the canonical one of the tuples that stand for the same cell."""
        return self.encoding.canonical(choices)

    def allows(self, choices: Sequence[int]) -> bool:
        """Whether a cell is within the limits."""
        own = self.canonical(choices)
        if own not in self._known:
            self._known[own] = self.allows_cell(self.decode(own))
        return self._known[own]

    def neighbours(self, choices: Sequence[int]) -> Iterator[Choices]:
        """Give the neighbours that are allowed."""
        return filter(self.allows, self.encoding.neighbours(choices))

    def draw(self, draw: Random) -> Choices:
        """Return a cell that is uniform among those allowed.

        Where so few are allowed that draws do not meet one, a random walk from the smallest cell ends
        near it instead.
        """
        for _ in range(MOST_TRIES):
            drawn = self.encoding.draw(draw)
            if self.allows(drawn):
                return drawn
        here = self.smallest
        for _ in range(STEPS):
            here = self.mutate(here, draw)
        return here

    def mutate(self, choices: Sequence[int], draw: Random) -> Choices:
        """Return a mutation that is allowed; the cell itself if none of many is."""
        for _ in range(MOST_TRIES):
            changed = self.encoding.mutate(choices, draw)
            if self.allows(changed):
                return changed
        return self.canonical(choices)


def smallest_cell(encoding: Encoding, cost: Callable[[Genotype], float]) -> Choices:
    """Return a cell of least cost, where costs of edges add up: each change only makes it dearer.

    From the cell of zeros it moves to the cheapest neighbour until none is cheaper.
    """
    here = encoding.canonical([0] * len(encoding.cardinalities))
    costs = cost(encoding.decode(here))
    while True:
        cheapest = min(
            ((cost(encoding.decode(other)), other) for other in encoding.neighbours(here)),
            default=(costs, here),
        )
        if cheapest[0] >= costs:
            return here
        costs, here = cheapest
