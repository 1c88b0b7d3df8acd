"""How NAO's model is fitted to a pool of cells (Luo et al., 2018, Sec. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from xnas.samplers.latent_model import LatentModel
from xnas.samplers.ranks import mean_ranks

LARGEST_GRADIENT = 5.0
"""Norm to which gradients are clipped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """How long and how fast a model is fitted."""

    epochs: int = 1000
    batch: int = 50
    learning_rate: float = 0.001
    dropout: float = 0.1
    """Share of the encoder's inputs that are left out."""
    prediction_weight: float = 0.8
    """Weight of the predictor's squared error; the decoder's loss has the rest."""


def scaled(values: Sequence[float]) -> Tensor:
    """Targets in (0, 1) as the ranks of values, equal ones with equal targets; shape (cells,).

    Departure: the original scales by minimum and maximum. Accuracies have a long tail downwards (on
    NAS-Bench-201 341 cells are at chance), so that most targets would crowd near 1.
    """
    return torch.from_numpy((mean_ranks(values) + 1 / 2) / len(values))


def fit(
    model: LatentModel,
    cells: Tensor,
    targets: Tensor,
    settings: Fit,
    *,
    swaps: Sequence[Sequence[int]],
    generator: torch.Generator,
) -> None:
    """Fit to cells (batch, positions) with targets (batch,), in place.

    Where the two edges of a node can be written in either order, every cell has a copy with a random
    node's edges exchanged.
    """
    if swaps:
        drawn = torch.randint(len(swaps), (len(cells),), generator=generator)
        cells = torch.cat([cells, cells.gather(1, torch.tensor(swaps)[drawn])])
        targets = targets.repeat(2)
    adam = torch.optim.Adam(model.parameters(), lr=settings.learning_rate, fused=True)
    shape = len(model.tokens), model.embedded.embedding_dim
    for _ in range(settings.epochs):
        for chosen in torch.split(torch.randperm(len(cells), generator=generator), settings.batch):
            kept = torch.rand(len(chosen), *shape, generator=generator) >= settings.dropout
            outputs = model.outputs(cells[chosen], keep=kept / (1 - settings.dropout))
            error = (model.predicted(outputs) - targets[chosen]).square().mean()
            likelihood = model.log_likelihood(outputs, cells[chosen]).mean()
            adam.zero_grad()
            weight = settings.prediction_weight
            loss = weight * error - (1 - weight) * likelihood
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), LARGEST_GRADIENT)
            adam.step()
