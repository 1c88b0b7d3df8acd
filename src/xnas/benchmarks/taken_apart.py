"""A cell taken apart, to see whether it is good for its operations, for its shape or for both together.

A cell is compared with cells that share one half of it: the same edges with the operations shuffled
among them, and the same operations on edges that are drawn at random. A search that has learned where
operations belong finds cells that are better than both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from xnas.benchmarks.cell_features import EDGES, INPUTS, NODES, Indices, Numbers, encode
from xnas.space import Genotype

DRAWS = 300


class Judge(Protocol):
    """What judges many encoded cells at once."""

    def judge_encoded(self, operations: Indices, sources: Indices) -> Numbers:
        """Accuracies in percent."""


@dataclass(frozen=True, slots=True)
class TakenApart:
    """Judged accuracies in percent of a cell and of cells that share one half of it."""

    found: float
    shuffled: float
    """Mean of the same shape with the operations of each cell shuffled."""
    drawn: float
    """Mean of the same operations with shape and places drawn."""
    better_than_shuffled: float
    """Percent of those that the cell is better than."""
    better_than_drawn: float


def take_apart(judge: Judge, cell: Genotype, *, draws: int = DRAWS, seed: int = 0) -> TakenApart:
    """Compare a cell with `draws` cells of its shape, and as many of its operations."""
    draw = np.random.default_rng(seed)
    operations, sources = encode([cell])
    found = float(judge.judge_encoded(operations, sources)[0])
    shuffled = judge.judge_encoded(
        shuffled_operations(operations, draws, draw), np.repeat(sources, draws, axis=0)
    )
    drawn = judge.judge_encoded(
        shuffled_operations(operations, draws, draw), drawn_sources((draws, sources.shape[1]), draw)
    )
    return TakenApart(
        found=found,
        shuffled=float(shuffled.mean()),
        drawn=float(drawn.mean()),
        better_than_shuffled=float(100 * (shuffled < found).mean()),
        better_than_drawn=float(100 * (drawn < found).mean()),
    )


def shuffled_operations(operations: Indices, draws: int, draw: np.random.Generator) -> Indices:
    """Operations (1, kinds, nodes, edges) of a cell in other orders, each kind by itself."""
    flat = np.repeat(operations.reshape(1, operations.shape[1], -1), draws, axis=0)
    return draw.permuted(flat, axis=-1).reshape(draws, *operations.shape[1:])


def drawn_sources(shape: tuple[int, int], draw: np.random.Generator) -> Indices:
    """Two different sources for every node, (*shape, nodes, edges), all pairs equally likely."""
    nodes = []
    for node in range(NODES):
        ranks = draw.random((*shape, INPUTS + node)).argsort(-1)
        nodes.append(np.sort(ranks[..., :EDGES], axis=-1))
    return np.stack(nodes, axis=-2)
