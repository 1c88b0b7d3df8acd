"""Looks: what a method may measure at the end of an epoch, before experts are deleted.

On the validation half, with the statistics of each batch. Weights and buffers stay untouched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from xnas.engine.forward import forward, precision, untouched_buffers
from xnas.engine.weighing import spread_weights

if TYPE_CHECKING:
    from xnas.engine.search import Search


class SearchLooks:
    """The `Looks` of a search."""

    def __init__(self, search: Search) -> None:
        self.search = search

    @property
    def draw(self) -> torch.Generator:
        """The search's generator, for every random number of the method."""
        return self.search.dropout

    def accuracy(self, weights: Mapping[str, Tensor] | None, batches: int | None = None) -> float:
        """Share of right answers on so many batches; None: on the whole half."""
        _, right, images = self._measured(weights, batches)
        return right / images

    def loss(self, weights: Mapping[str, Tensor] | None, batches: int | None = None) -> float:
        """Mean cross-entropy on so many batches; None: on the whole half."""
        loss, _, images = self._measured(weights, batches)
        return loss / images

    @torch.no_grad()
    def _measured(
        self, weights: Mapping[str, Tensor] | None, batches: int | None
    ) -> tuple[float, float, float]:
        """Sums of losses, right answers and images; read once, as reading each batch would wait."""
        search = self.search
        assert search.replicated is not None  # noqa: S101 - a requirement of hooks
        spread = spread_weights(search.replicated, weights)
        total = torch.zeros(3, dtype=torch.float64, device=search.device)
        with untouched_buffers(search.supernet):
            for images, labels in search.valid.whole(batches):
                with precision(search):
                    logits = forward(search, images, spread)
                loss = cross_entropy(logits, labels, reduction="sum")
                right = (logits.argmax(-1) == labels).sum()
                seen = torch.full_like(right, len(labels))
                total += torch.stack([loss.double(), right.double(), seen.double()])
        search.ranks.average([total])
        sums: tuple[float, float, float] = tuple(total.tolist())
        return sums
