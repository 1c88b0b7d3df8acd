"""What the absence of an edge costs: the validation loss without it, less the loss with it.

A share says which expert of an edge is best, and nothing of what the edge is worth: all edges of a node
could have the same shares, and one of them could carry everything. Here every edge has its best expert
alone, as the final cell will. Each edge in turn is cut from all cells of its kind, on the same images,
with batch statistics. Weights and buffers stay untouched.

Departure: the paper keeps the edges whose best expert has the largest share (Sec. 2.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from xnas.engine.forward import precision, untouched_buffers
from xnas.engine.search import Search

Batch = tuple[Tensor, Tensor]


def charge_absences(search: Search) -> None:
    """Add what the absence of each edge costs now to `search.edge_costs`.

    Each epoch takes other batches of the validation half, as many as the settings say.
    """
    count = search.settings.absence_batches
    batches = list(search.valid.whole(count, skip=search.epoch * count))
    costs = absence_costs(search, batches)
    search.ranks.average(list(costs.values()))
    for kind, cost in costs.items():
        search.edge_costs[kind] += cost


@torch.no_grad()
def absence_costs(search: Search, batches: Sequence[Batch]) -> dict[str, Tensor]:
    """By kind of cell, what cutting each edge adds to the mean loss of `batches`: (edges,), float64."""
    assert search.replicated is not None  # noqa: S101 - supernets of our spaces
    mixtures = {}
    for kind, spread in search.replicated.spread().items():
        best = search.method.comparable_sums(search.mixtures[kind]).argmax(-1)
        mixtures[kind] = one_hot(best, spread.shape[-1]).to(spread).repeat(len(spread), 1, 1)
    with untouched_buffers(search.supernet):
        whole = _loss(search, mixtures, batches)
        costs = {}
        for kind, mixture in mixtures.items():
            cut = []
            for edge in range(mixture.shape[1]):
                without = mixture.clone()
                without[:, edge] = 0
                cut.append(_loss(search, {**mixtures, kind: without}, batches) - whole)
            costs[kind] = torch.stack(cut)
    return costs


def _loss(search: Search, mixtures: Mapping[str, Tensor], batches: Sequence[Batch]) -> Tensor:
    """The mean loss, which stays on the device: reading each would wait for it."""
    total = torch.zeros((), dtype=torch.float64, device=search.device)
    for images, labels in batches:
        with precision(search):
            logits = search.supernet(images, mixtures).float()
        total += cross_entropy(logits, labels, reduction="sum")
    return total / sum(len(labels) for _, labels in batches)
