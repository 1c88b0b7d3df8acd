"""What the absence of an edge costs: the validation loss without it, less the loss with it.

A share says which expert of an edge is best, and nothing of what the edge is worth. Here each edge in
turn is cut from all cells of its kind, on the same images, with batch statistics. Weights and buffers
stay untouched.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from xnas.engine.gap import untouched_buffers
from xnas.engine.search import Search, precision


@torch.no_grad()
def absence_costs(search: Search, *, batches: int, alone: bool = False) -> dict[str, list[float]]:
    """By kind of cell, what cutting each edge adds to the mean loss of `batches` validation batches.

    With `alone` every edge has its best expert only, the one with the largest sum of rewards.
    """
    assert search.replicated is not None  # noqa: S101 - supernets of our spaces
    mixtures = dict(search.replicated.spread())
    if alone:
        sums = {kind: search.method.comparable_sums(u) for kind, u in search.mixtures.items()}
        mixtures = {
            kind: one_hot(sums[kind].argmax(-1), u.shape[-1]).to(u).expand_as(u)
            for kind, u in mixtures.items()
        }
    costs: dict[str, list[float]] = {}
    with untouched_buffers(search.supernet):
        whole = _loss(search, mixtures, batches)
        for kind, mixture in mixtures.items():
            costs[kind] = []
            for edge in range(mixture.shape[1]):
                cut = mixture.clone()
                cut[:, edge] = 0
                costs[kind].append(_loss(search, {**mixtures, kind: cut}, batches) - whole)
    return costs


def _loss(search: Search, mixtures: Mapping[str, Tensor], batches: int) -> float:
    total, count = 0.0, 0
    for images, labels in search.valid.whole(batches):
        with precision(search):
            logits = search.supernet(images, mixtures).float()
        total += float(cross_entropy(logits, labels, reduction="sum"))
        count += len(labels)
    return total / count
