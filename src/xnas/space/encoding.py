"""Cells as tuples of small whole numbers, for searches that draw whole cells.

    encoding = encoding_of("nasbench201")
    choices = encoding.draw(random.Random(0))        # (3, 3, 0, 4, 1, 2)
    encoding.decode(choices)                         # the genotype
    [*encoding.neighbours(choices)]                  # the 24 cells that differ in one edge

A `Position` of the tuple has a name, the node it belongs to, and the values that its numbers stand for.
Everything that a sampler needs follows from that: tokens for an LSTM, one-hot rows, categorical
distributions. The order of a node's two edges means nothing, so several tuples may stand for one cell;
`encode`, `draw`, `mutate` and `neighbours` give the canonical one, in which the edges of a node ascend
by source and operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Literal, Protocol

from xnas.errors import ConfigError, GenotypeError
from xnas.registry import Registry
from xnas.space.cell_genotype import CellGenotype, CellKind, Edge
from xnas.space.cell_rules import loose_ends
from xnas.space.edge_choices import AllSources, FreeSources, NodeChoices, PairOfSources
from xnas.space.genotype import Genotype
from xnas.space.spaces import SPACES, SearchSpace

Choices = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """What one number of an encoded cell stands for."""

    name: str
    """Like `normal.3.operation.0`: cell, node, what is chosen, and for which edge of the node."""
    kind: CellKind
    """The cell; NORMAL for both if they are tied."""
    node: int
    """State number of the node."""
    what: Literal["operation", "source", "sources"]
    edge: int | None
    """Place of the edge among those of its node; None for `sources`, which all of them share."""
    values: tuple[str | int | tuple[int, int], ...]
    """What the numbers 0, 1, ... mean: operations, states, or pairs of states."""


class Encoding(Protocol):
    """All cells of a space as tuples of whole numbers, `0 <= choices[i] < cardinalities[i]`."""

    @property
    def space(self) -> str:
        """Name of the search space."""

    @property
    def tied(self) -> bool:
        """Whether the reduction cell equals the normal one, so that one cell is encoded."""

    @property
    def positions(self) -> tuple[Position, ...]:
        """The meaning of every number: cell by cell, node by node."""

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """How many values each number has."""

    def decode(self, choices: Sequence[int]) -> Genotype:
        """Return the cell of any tuple within the cardinalities."""

    def encode(self, genotype: Genotype) -> Choices:
        """Return the canonical tuple of a cell, also of another space if its cells could be of this one.

        Of the output, only what `decode` writes is kept.
        """

    def canonical(self, choices: Sequence[int]) -> Choices:
        """Return the canonical one of the tuples that stand for the same cell."""

    def neighbours(self, choices: Sequence[int]) -> Iterator[Choices]:
        """Give all other cells in which one edge has another operation or source, each once."""

    def draw(self, draw: Random) -> Choices:
        """Return a cell of which every number was drawn uniformly."""

    def mutate(self, choices: Sequence[int], draw: Random) -> Choices:
        """Return a neighbour at random: of one edge either the source or the operation changes.

        Which of the two has even chances (Real et al., 2019, Sec. 3); where sources are given, it is the
        operation. All edges have the same chance.
        """


class CellEncoding:
    """The encoding of a space whose nodes are chosen independently of each other."""

    def __init__(
        self,
        space: SearchSpace,
        nodes: Sequence[NodeChoices],
        concat: Callable[[CellGenotype], tuple[int, ...]],
        *,
        tied: bool = False,
    ) -> None:
        """`nodes` are the choices of a cell's nodes; `concat` gives what its output joins."""
        if tied and len(space.kinds) == 1:
            raise ConfigError(
                f"cells of the space {space.name!r} have one kind; there is nothing to tie, leave it out"
            )
        self.space, self.tied = space.name, tied
        self._kinds = space.kinds
        self._encoded = space.kinds[:1] if tied else space.kinds
        self._nodes, self._concat = tuple(nodes), concat
        self.positions = tuple(self._positions())
        self.cardinalities = tuple(len(position.values) for position in self.positions)
        starts, groups = 0, []
        for node in self._nodes * len(self._encoded):
            groups.append((node, starts, starts + len(node.values)))
            starts += len(node.values)
        self._groups = tuple(groups)

    @cached_property
    def size(self) -> int:
        """How many tuples there are."""
        return math.prod(self.cardinalities)

    def decode(self, choices: Sequence[int]) -> Genotype:
        """Return the cell of any tuple within the cardinalities."""
        self._require(choices)
        edges = [node.edges(choices[start:end]) for node, start, end in self._groups]
        cells = []
        for first in range(0, len(edges), len(self._nodes)):
            cell = CellGenotype(tuple(edges[first : first + len(self._nodes)]), (0,))
            cells.append(CellGenotype(cell.nodes, self._concat(cell)))
        return Genotype(self.space, *(cells * len(self._kinds) if self.tied else cells))

    def encode(self, genotype: Genotype) -> Choices:
        """Return the canonical tuple of a cell, also of another space if its cells could be of this one.

        Of the output, only what `decode` writes is kept.
        """
        space = SPACES[self.space]
        cells = []
        for kind in self._kinds:
            cell = genotype.cell(kind)
            if genotype.space != self.space:
                space.rule(space, kind, cell)
            if len(cell.nodes) != len(self._nodes):
                raise GenotypeError(
                    f"the {kind} cell has {len(cell.nodes)} nodes; a cell of the space {self.space!r} "
                    f"that can be drawn has {len(self._nodes)}"
                )
            found = [
                number
                for node, edges in zip(self._nodes, cell.nodes, strict=True)
                for number in node.choices(edges, f"node {node.node} of the {kind} cell")
            ]
            cells.append(tuple(found))
        if not self.tied:
            return tuple(number for cell in cells for number in cell)
        if len(set(cells)) > 1:
            raise GenotypeError(
                "the reduction cell differs from the normal one, so the tied encoding cannot hold it; "
                "leave tied out"
            )
        return cells[0]

    def canonical(self, choices: Sequence[int]) -> Choices:
        """Return the canonical one of the tuples that stand for the same cell."""
        self._require(choices)
        return tuple(
            number
            for node, start, end in self._groups
            for number in node.choices(node.edges(choices[start:end]))
        )

    def neighbours(self, choices: Sequence[int]) -> Iterator[Choices]:
        """Give all other cells in which one edge has another operation or source, each once."""
        own = self.canonical(choices)
        for node, start, end in self._groups:
            edges = node.edges(own[start:end])
            changed = (
                node.choices(_replaced(edges, at, edge))
                for at in range(len(edges))
                for edge in (*node.other_operations(edges, at), *node.other_sources(edges, at))
            )
            for group in dict.fromkeys(changed):
                if group != own[start:end]:
                    yield own[:start] + group + own[end:]

    def draw(self, draw: Random) -> Choices:
        """Return a cell of which every number was drawn uniformly."""
        return self.canonical([draw.randrange(most) for most in self.cardinalities])

    def mutate(self, choices: Sequence[int], draw: Random) -> Choices:
        """Return a neighbour at random: of one edge either the source or the operation changes.

        Which of the two has even chances (Real et al., 2019, Sec. 3); where sources are given, it is the
        operation. All edges have the same chance.
        """
        own = self.canonical(choices)
        edges = [
            (node, start, end, node.edges(own[start:end]), at)
            for node, start, end in self._groups
            for at in range(node.edge_count)
        ]
        movable = [place for place in edges if place[0].other_sources(place[3], place[4])]
        moves = bool(movable) and draw.random() < 1 / 2
        node, start, end, before, at = draw.choice(movable if moves else edges)
        others = node.other_sources(before, at) if moves else node.other_operations(before, at)
        after = _replaced(before, at, draw.choice(others))
        return own[:start] + node.choices(after) + own[end:]

    def _require(self, choices: Sequence[int]) -> None:
        if len(choices) != len(self.cardinalities):
            raise GenotypeError(
                f"a cell of the space {self.space!r} is encoded by {len(self.cardinalities)} numbers, "
                f"got {len(choices)}"
            )
        for position, number in zip(self.positions, choices, strict=True):
            if not 0 <= number < len(position.values):
                raise GenotypeError(
                    f"{position.name} is {number!r}; it must be 0 to {len(position.values) - 1}"
                )

    def _positions(self) -> Iterator[Position]:
        for kind in self._encoded:
            for node in self._nodes:
                for (what, edge), values in zip(node.meanings, node.values, strict=True):
                    place = "" if edge is None else f".{edge}"
                    yield Position(
                        name=f"{kind}.{node.node}.{what}{place}",
                        kind=kind,
                        node=node.node,
                        what=what,
                        edge=edge,
                        values=values,
                    )


ENCODINGS: Registry[Callable[..., Encoding]] = Registry("encoding of a search space")
"""By space: functions of `tied` that give its encoding; add that of your space with `ENCODINGS.add`."""


def encoding_of(space: str, *, tied: bool = False) -> Encoding:
    """Return the encoding of a space; `tied` takes one cell for both kinds, as PNAS does.

    >>> encoding = encoding_of("darts")
    >>> encoding.cardinalities[:6]
    (1, 7, 7, 3, 7, 7)
    >>> encoding.positions[3].name, encoding.positions[3].values
    ('normal.3.sources', ((0, 1), (0, 2), (1, 2)))
    """
    _ = SPACES[space]  # an unknown space is named as such
    return ENCODINGS[space](tied=tied)


@ENCODINGS.register("nasbench201")
def nasbench201_encoding(*, tied: bool = False) -> CellEncoding:
    """Six edges of five operations; `none` is one, since the benchmark's table has it."""
    space = SPACES["nasbench201"].with_none()
    nodes = [AllSources(node, space.operations) for node in space.node_numbers]
    return CellEncoding(space, nodes, lambda _: space.concat, tied=tied)


@ENCODINGS.register("darts")
def darts_encoding(*, tied: bool = False) -> CellEncoding:
    """For each node the pair of its sources and two operations; none of the cells has `none`."""
    space = SPACES["darts"]
    nodes = [PairOfSources(node, space.operations) for node in space.node_numbers]
    return CellEncoding(space, nodes, lambda _: space.concat, tied=tied)


@ENCODINGS.register("nasnet")
def nasnet_encoding(*, tied: bool = False) -> CellEncoding:
    """For each of five blocks a source and an operation, twice; the output joins the loose ends."""
    space = SPACES["nasnet"]
    nodes = [FreeSources(node, space.operations) for node in space.node_numbers]
    return CellEncoding(space, nodes, lambda cell: loose_ends(space.inputs, cell), tied=tied)


def _replaced(edges: tuple[Edge, ...], at: int, edge: Edge) -> tuple[Edge, ...]:
    return (*edges[:at], edge, *edges[at + 1 :])
