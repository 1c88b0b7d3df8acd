"""The strongest cell whose operations together stay within limits.

A cell is as strong as the product of the weights u of its operations, here the sum of their logarithms:
with exponentiated gradients that is, up to a constant, η times the sum of what its experts have earned.

The choices of all edges are put together one by one. Of two partial cells the one that is not stronger
and nowhere cheaper can be forgotten, and so can one that no rest makes small enough. What is left is
exact, unless more than `MOST` partial cells are left: then the strongest of them count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from xnas.space.cell_genotype import NONE
from xnas.space.spaces import SearchSpace

Pick = tuple[str, int, int]
"""Kind of cell, edge and operation: row and column of a mixture."""
MOST = 500
"""Partial cells that are followed at a time, for one or several limits on 16 edges some tenths of a
second."""
BLOCK = 250  # partial cells that are compared at once, for the memory that takes


@dataclass(frozen=True, slots=True)
class _Partial:
    """Choices for some edges, the strongest first."""

    strengths: Tensor
    """(choices,)"""
    costs: Tensor
    """(choices, resources)"""
    picks: Sequence[tuple[Pick, ...]]

    @property
    def least(self) -> Tensor:
        """The least of each resource."""
        return self.costs.amin(0)


def strongest_on(
    edges: Iterable[tuple[str, int]],
    space: SearchSpace,
    *,
    strengths: Mapping[str, Tensor],
    costs: Mapping[str, Tensor],
    room: Tensor,
) -> tuple[Pick, ...] | None:
    """Choose an operation for each of these edges (kind, row); None if none together find room.

    `strengths` has for each kind of cell a tensor (edges, operations), `costs` one (edges, operations,
    resources), and `room` is what all operations may cost together (resources). `none` is never chosen.
    """
    return _strongest([_of_edge(space, edge, strengths, costs) for edge in edges], room)


def strongest_anywhere(
    space: SearchSpace, *, strengths: Mapping[str, Tensor], costs: Mapping[str, Tensor], room: Tensor
) -> tuple[Pick, ...] | None:
    """Choose edges and their operations, as many edges for each node as the space keeps.

    Arguments and shapes are those of `strongest_on`.
    """
    parts = []
    for kind in space.kinds:
        for node in space.node_numbers:
            rows = [row for row, (_, target) in enumerate(space.edges) if target == node]
            each = [_of_edge(space, (str(kind), row), strengths, costs) for row in rows]
            parts.append(_of_node(each, space.kept_edges or len(each)))
    return _strongest(parts, room)


def _strongest(parts: Sequence[_Partial], room: Tensor) -> tuple[Pick, ...] | None:
    """The strongest way to choose from every part within the room."""
    found = _Partial(room.new_zeros(1), room.new_zeros(1, len(room)), [()])
    rest = torch.stack([part.least for part in parts]).sum(0)
    for part in parts:
        rest = rest - part.least
        found = _joined(found, part, room - rest, most=MOST)
        if not found.picks:
            return None
    return found.picks[0]


def _of_edge(
    space: SearchSpace,
    edge: tuple[str, int],
    strengths: Mapping[str, Tensor],
    costs: Mapping[str, Tensor],
) -> _Partial:
    kind, row = edge
    able = [column for column, name in enumerate(space.operations) if name != NONE]
    own, each = strengths[kind][row, able], costs[kind][row, able]
    best = _undominated(own, each)
    return _Partial(own[best], each[best], [((kind, row, able[i]),) for i in best.tolist()])


def _of_node(edges: Sequence[_Partial], keep: int) -> _Partial:
    """Choices of so many edges, with operations for them."""
    found = []
    for kept in combinations(edges, keep):
        joined = kept[0]
        for edge in kept[1:]:
            joined = _joined(joined, edge, torch.full_like(edge.least, torch.inf))
        found.append(joined)
    strengths = torch.cat([part.strengths for part in found])
    costs = torch.cat([part.costs for part in found])
    picks = [picks for part in found for picks in part.picks]
    best = _undominated(strengths, costs)
    return _Partial(strengths[best], costs[best], [picks[i] for i in best.tolist()])


def _joined(first: _Partial, second: _Partial, room: Tensor, most: int | None = None) -> _Partial:
    """Every choice of one with every choice of the other, as far as there is room; at most so many."""
    strengths = (first.strengths[:, None] + second.strengths).flatten()
    costs = (first.costs[:, None] + second.costs).flatten(0, 1)
    fits = (costs <= room).all(-1).nonzero().flatten()
    best = fits[_undominated(strengths[fits], costs[fits], most)]
    pairs = [divmod(index, len(second.picks)) for index in best.tolist()]
    return _Partial(strengths[best], costs[best], [first.picks[i] + second.picks[j] for i, j in pairs])


def _undominated(strengths: Tensor, costs: Tensor, most: int | None = None) -> Tensor:
    """Indices of at most so many choices, the strongest first: no stronger one is as cheap."""
    order = strengths.argsort(descending=True, stable=True)
    kept = order[:0]
    for first in range(0, len(order), BLOCK):
        block = order[first : first + BLOCK]
        rivals = torch.cat([kept, block])
        cheaper = (costs[rivals] <= costs[block][:, None]).all(-1)  # (block, rivals)
        stronger = torch.ones_like(cheaper).tril(len(kept) - 1)
        kept = torch.cat([kept, block[~(cheaper & stronger).any(-1)]])
        if most is not None and len(kept) >= most:
            break
    return kept[:most]
