"""How the cells of a space grow block by block, from one block to whole cells (Liu et al., 2018).

A cell of level b has b blocks, and a block is a tuple of tokens. What a level may add does not depend on
the cell that it is added to, so that the candidates of a level are all pairs of a kept cell and a block.
The two halves of a block are in ascending order: the other order is the same cell.

PNAS searches one cell for both kinds, and so do all levels here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product
from typing import Protocol

from xnas.space import SPACES, CellGenotype, Edge, Genotype
from xnas.space.cell_genotype import NONE
from xnas.space.cell_rules import loose_ends

Block = tuple[int, ...]
Blocks = tuple[Block, ...]
"""A cell, as the blocks in the order in which they were added."""


class Growth(Protocol):
    """The levels of a space, and the tokens that describe a block to a surrogate."""

    @property
    def levels(self) -> int:
        """Blocks of a whole cell."""

    @property
    def tables(self) -> tuple[int, ...]:
        """Sizes of the vocabularies, such as (sources, operations)."""

    @property
    def columns(self) -> tuple[int, ...]:
        """The vocabulary of every token of a block."""

    def blocks(self, level: int) -> list[Block]:
        """All blocks that may be added to a cell to make it one of this level, from 1."""

    def genotype(self, cell: Blocks) -> Genotype:
        """The cell of one to all levels, as it is to be trained."""

    def cell(self, genotype: Genotype, level: int) -> Blocks:
        """The blocks of what `genotype` gave for a cell of that level."""

    def key(self, cell: Blocks) -> Blocks:
        """Equal for cells that are trained as one genotype."""


@dataclass(frozen=True, slots=True)
class NodeByNode:
    """A block is a node with two inputs: (source, operation, source, operation)."""

    space: str
    distinct_sources: bool
    """Whether the two inputs come from different states, as in DARTS's cells."""

    @property
    def operations(self) -> tuple[str, ...]:
        """What an input may be; never `none`."""
        return tuple(name for name in SPACES[self.space].operations if name != NONE)

    @property
    def levels(self) -> int:
        """Nodes of a whole cell."""
        return SPACES[self.space].nodes

    @property
    def tables(self) -> tuple[int, ...]:
        """Sources and operations."""
        return SPACES[self.space].node_numbers[-1], len(self.operations)

    @property
    def columns(self) -> tuple[int, ...]:
        """Source, operation, source, operation."""
        return 0, 1, 0, 1

    def blocks(self, level: int) -> list[Block]:
        """All unordered pairs of inputs: n (n + 1) / 2 of n inputs where they may be equal."""
        sources, operations = range(level + 1), range(len(self.operations))
        if self.distinct_sources:
            return [
                (first, one, second, other)
                for first, second in combinations(sources, 2)
                for one, other in product(operations, repeat=2)
            ]
        inputs = product(sources, operations)
        return [(*one, *other) for one, other in combinations_with_replacement(inputs, 2)]

    def genotype(self, cell: Blocks) -> Genotype:
        """Both kinds of cell alike; the output joins what the space joins."""
        nodes = tuple(
            tuple(Edge(self.operations[o], s) for s, o in (block[:2], block[2:])) for block in cell
        )
        first = SPACES[self.space].inputs
        output = tuple(range(first, first + len(nodes)))
        if not self.distinct_sources:
            output = loose_ends(first, CellGenotype(nodes, output))
        whole = CellGenotype(nodes, output)
        return Genotype(self.space, whole, whole)

    def cell(self, genotype: Genotype, level: int) -> Blocks:  # noqa: ARG002 - one node, one block
        """The nodes of the normal cell."""
        numbers = {name: number for number, name in enumerate(self.operations)}
        nodes = (
            sorted((edge.source, numbers[edge.operation]) for edge in node)
            for node in genotype.normal.nodes
        )
        return tuple(tuple(token for half in node for token in half) for node in nodes)

    def key(self, cell: Blocks) -> Blocks:
        """The cell itself."""
        return cell


@dataclass(frozen=True, slots=True)
class BenchmarkNodes:
    """NAS-Bench-201 node by node: 5, 125 and 15,625 cells; edges not reached yet are `none`.

    A block is a node with its edges (from node 0, from node 1, to the output). Node 0 is the input of
    the cell, with the edge to the output alone. An edge that a node cannot have is one more token.

    Departure: PNAS has no such space. Its levels are a rehearsal of the method on the table.
    """

    space: str = "nasbench201"

    @property
    def operations(self) -> tuple[str, ...]:
        """What an edge may be, `none` first."""
        return NONE, *SPACES[self.space].operations

    @property
    def levels(self) -> int:
        """Nodes with an edge to the output."""
        return SPACES[self.space].nodes

    @property
    def tables(self) -> tuple[int, ...]:
        """Operations, and the edge that cannot be."""
        return (len(self.operations) + 1,)

    @property
    def columns(self) -> tuple[int, ...]:
        """Three edges."""
        return 0, 0, 0

    def blocks(self, level: int) -> list[Block]:
        """All operations on the edges of node `level` - 1."""
        absent = len(self.operations)
        edges = [range(len(self.operations)) if source < level - 1 else (absent,) for source in range(2)]
        return list(product(*edges, range(len(self.operations))))

    def genotype(self, cell: Blocks) -> Genotype:
        """The cell with `none` on all edges of nodes that are still to come."""
        zero, one, two = (*cell, *self._empty[len(cell) :])
        nodes = ((one[0],), (two[0], two[1]), (zero[2], one[2], two[2]))
        edges = tuple(
            tuple(Edge(self.operations[o], source) for source, o in enumerate(node)) for node in nodes
        )
        return Genotype(self.space, CellGenotype(edges, (self.levels,)))

    def cell(self, genotype: Genotype, level: int) -> Blocks:
        """The edges of the first nodes."""
        numbers = {name: number for number, name in enumerate(self.operations)}
        one, two, out = ([numbers[edge.operation] for edge in node] for node in genotype.normal.nodes)
        absent = len(numbers)
        return ((absent, absent, out[0]), (one[0], absent, out[1]), (two[0], two[1], out[2]))[:level]

    def key(self, cell: Blocks) -> Blocks:
        """The cell without last blocks that hold nothing but `none`."""
        while cell and cell[-1] == self._empty[len(cell) - 1]:
            cell = cell[:-1]
        return cell

    @property
    def _empty(self) -> Blocks:
        """A whole cell of `none`."""
        return tuple(self.blocks(level)[0] for level in range(1, self.levels + 1))


GROWTHS: Mapping[str, Growth] = {
    "darts": NodeByNode("darts", distinct_sources=True),
    "nasnet": NodeByNode("nasnet", distinct_sources=False),
    "nasbench201": BenchmarkNodes(),
}


def extended(kept: Iterable[Blocks], growth: Growth, level: int) -> Iterator[Blocks]:
    """Give every kept cell with every block that the level may add."""
    blocks = growth.blocks(level)
    return ((*cell, block) for cell in kept for block in blocks)
