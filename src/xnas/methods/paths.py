"""Whole cells as weights of 0 and 1: for each node the edges that are kept, on each of them one expert.

Where a space keeps all edges, or a game names none, a path has an expert on every edge.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from xnas.methods.game import Game
from xnas.methods.logits import gumbel, one_hot_of

NONE = "none"


def rows_of_nodes(game: Game) -> list[list[int]]:
    """For each node, in their order, the rows of its incoming edges."""
    nodes = dict.fromkeys(node for _, node in game.edges)
    return [[row for row, (_, end) in enumerate(game.edges) if end == node] for node in nodes]


def span_of(rows: list[int]) -> slice:
    """The rows of a node, which follow one another, as a slice: a list would be copied to the device."""
    return slice(rows[0], rows[-1] + 1)


def kept_edges(scores: Tensor, game: Game) -> Tensor:
    """1 for the edges that a node keeps by their scores (forecasters,), the highest ones; 0 else."""
    if game.kept_edges is None or not game.edges:
        return torch.ones_like(scores)
    kept = torch.zeros_like(scores)
    for rows in rows_of_nodes(game):
        most = scores[span_of(rows)].topk(min(game.kept_edges, len(rows))).indices
        kept.scatter_(0, most + rows[0], 1.0)
    return kept


def uniform_path(alive: Tensor, game: Game, generator: Generator, like: Tensor) -> Tensor:
    """A cell drawn uniformly, with living experts: (forecasters, experts) of 0 and 1."""
    experts = gumbel(like, generator).masked_fill(~alive, -torch.inf)
    edges = torch.rand(len(like), dtype=like.dtype, device=like.device, generator=generator)
    return one_hot_of(experts) * kept_edges(edges, game)[:, None]


def without_none(alive: Tensor, operations: Sequence[str]) -> Tensor:
    """The living experts (forecasters, experts) without `none`, unless it lives alone."""
    if NONE not in operations:
        return alive
    choice = alive.clone()
    choice[:, operations.index(NONE)] = False
    return torch.where(choice.any(-1, keepdim=True), choice, alive)


def belief_of(path: Tensor, alive: Tensor) -> Tensor:
    """A mixture (forecasters, experts) for a path: its expert where it has one, else all the living."""
    uniform = alive / alive.sum(-1, keepdim=True)
    return torch.where(path.sum(-1, keepdim=True) > 0, path, uniform.to(path))
