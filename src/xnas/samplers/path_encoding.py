"""Path encoding: which paths from an input to the output a cell has (arXiv 1910.11858, Sec. 4).

A path is the sequence of operations on its edges. There is a bit for every sequence, shorter ones first.
The first edge is the least significant digit. A cell of NAS-Bench-201 has four paths, among 5 + 25 +
125 = 155; there `none` is an operation like the others. In spaces with two inputs or two kinds of cells
each pair of them has bits of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from xnas.space import SPACES, CellGenotype, Genotype, SearchSpace
from xnas.space.cell_genotype import NONE

MOST_BITS = 4096
"""Longer paths are left out where bits would be more than these: the paper's truncated encoding."""


class PathEncoding:
    """Maps genotypes of a space to rows of bits.

    >>> best = Genotype.from_arch("|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|"
    ...                           "+|skip_connect~0|nor_conv_3x3~1|nor_conv_1x1~2|")
    >>> PathEncoding("nasbench201").bits(best)
    [1, 18, 23, 98]
    """

    def __init__(self, space: SearchSpace | str) -> None:
        self.space = SPACES[space] if isinstance(space, str) else space
        allowed = [name for name in self.space.operations if name != NONE]
        if self.space.kept_edges is None:  # cells of every shape are written with `none`
            allowed.insert(0, NONE)
        self.digits = {name: digit for digit, name in enumerate(allowed)}
        self.longest = self._longest()
        self.bits_of_one = self._paths_up_to(self.longest)
        """Bits of one input of one kind of cell."""
        self.size = self.bits_of_one * self.space.inputs * len(self.space.kinds)

    def rows(self, genotypes: list[Genotype]) -> Tensor:
        """Return (genotypes, bits) of zeros and ones, float64."""
        rows = torch.zeros(len(genotypes), self.size, dtype=torch.float64)
        for row, genotype in zip(rows, genotypes, strict=True):
            row[self.bits(genotype)] = 1
        return rows

    def bits(self, genotype: Genotype) -> list[int]:
        """Return the bits that are one, ascending."""
        found = {
            (place * self.space.inputs + source) * self.bits_of_one + self._bit(path)
            for place, kind in enumerate(self.space.kinds)
            for source, path in self._paths(genotype.cell(kind))
            if len(path) <= self.longest
        }
        return sorted(found)

    def _paths(self, cell: CellGenotype) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Input and digits of every path to the output, a path as often as the cell has it."""
        reaching: list[list[tuple[int, tuple[int, ...]]]] = [
            [(source, ())] for source in range(self.space.inputs)
        ]
        for edges in cell.nodes:
            reaching.append(
                [
                    (start, (*path, self.digits[edge.operation]))
                    for edge in edges
                    for start, path in reaching[edge.source]
                    if len(path) < self.longest
                ]
            )
        for state in cell.concat:
            yield from ((start, path) for start, path in reaching[state] if path)

    def _bit(self, path: tuple[int, ...]) -> int:
        base = len(self.digits)
        number = 0
        for digit in reversed(path):
            number = number * base + digit
        return self._paths_up_to(len(path) - 1) + number

    def _paths_up_to(self, length: int) -> int:
        return sum(len(self.digits) ** edges for edges in range(1, length + 1))

    def _longest(self) -> int:
        """Edges of the longest path that has bits."""
        ways = self.space.inputs * len(self.space.kinds)
        fitting = [n for n in range(1, self.space.nodes + 1) if ways * self._paths_up_to(n) <= MOST_BITS]
        return max(fitting, default=1)
