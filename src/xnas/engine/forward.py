"""How a search computes its supernet: precision, losses, and what autograd keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from xnas.engine.temperature import best_inverse_temperature

if TYPE_CHECKING:
    from xnas.engine.search import Search


def forward(search: Search, images: Tensor, weights: Mapping[str, Tensor] | None) -> Tensor:
    """Logits (batch, classes); `weights` of all cells take the place of the mixtures."""
    told_apart = () if search.replicated is None else (weights,)
    logits: Tensor = search.supernet(images, *told_apart)
    return logits.float()


def precision(search: Search) -> torch.autocast:
    """The context in which a search computes its network."""
    return torch.autocast(search.device.type, dtype=torch.bfloat16, enabled=search.settings.autocast)


def accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """Share of right answers, ()."""
    return (logits.detach().argmax(-1) == labels).float().mean()


def architecture_losses(
    search: Search, logits: Tensor, labels: Tensor, reduction: str = "mean"
) -> tuple[Tensor, Tensor]:
    """The validation loss, and the loss that rewards are paid for."""
    loss = cross_entropy(logits, labels, reduction=reduction)
    if not search.settings.best_temperature:
        return loss, loss
    # Held fixed: at an optimum its own derivative is zero.
    inverse = best_inverse_temperature(logits, labels)
    return loss, cross_entropy(inverse * logits.float(), labels, reduction=reduction)


@contextmanager
def held_fixed(leaves: Sequence[Tensor]) -> Iterator[None]:
    """Let forward take these for constants: autograd keeps nothing for their gradients."""
    learned = [leaf for leaf in leaves if leaf.requires_grad]
    for leaf in learned:
        leaf.requires_grad = False
    try:
        yield
    finally:
        for leaf in learned:
            leaf.requires_grad = True


@contextmanager
def untouched_buffers(module: nn.Module) -> Iterator[None]:
    """Put every buffer back as it was, so that looking at a network does not train its statistics."""
    buffers = list(module.buffers())
    saved = [buffer.clone() for buffer in buffers]
    try:
        yield
    finally:
        with torch.no_grad():
            torch._foreach_copy_(buffers, saved)
