"""What a search lends to the hooks of a method: more passes in a round, measurements after an epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

Half = Literal["train", "valid"]
"""Whose batch of the present round: of the images for the weights, or of those for the mixtures."""
By = Literal["mixtures", "weights", "both", "nothing"]
Place = tuple[str, int, int, int]
"""Where an expert stands: kind of cell, number of the cell among its kind, forecaster, expert."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One pass over a batch. All are tensors on the device; nothing was read."""

    loss: Tensor
    """Mean cross-entropy, ()."""
    accuracy: Tensor
    """Share of right answers, ()."""
    mixtures: Mapping[str, Tensor] = field(default_factory=dict)
    """∂ℓ/∂w by kind of cell, (replications, forecasters, experts); empty if not asked for."""
    weights: Sequence[Tensor] = ()
    """Gradients of `Passes.weights`, in their order; empty if not asked for."""


class Passes(Protocol):
    """More passes in a round, for hooks that are captured.

    They leave no trace: weights, momenta, gradients and buffers are afterwards what they were. Running
    statistics move once in a round with each half, however often it is seen.
    """

    @property
    def draw(self) -> torch.Generator:
        """The search's generator, on the device, for every random number of the method."""

    @property
    def rate(self) -> Tensor:
        """The learning rate ξ of the weights in this epoch, ()."""

    @property
    def weights(self) -> Sequence[nn.Parameter]:
        """The network's weights, in the order of their gradients; fewer after a deletion."""

    @property
    def places(self) -> Sequence[Place | None]:
        """For each of `weights` the expert that it belongs to; None for weights of no expert."""

    def see(
        self, half: Half, weights: Mapping[str, Tensor] | None = None, *, by: By = "mixtures"
    ) -> Seen:
        """Pass the batch of a half forward and, for the gradients that `by` asks for, backward.

        `weights` are what cells multiply by, as the hook `weights` returns them; None: the mixtures.
        """

    def at(self, direction: Sequence[Tensor], scale: Tensor | float) -> AbstractContextManager[None]:
        """A block in which the network's weights are w + scale · direction.

        `direction` has a tensor for each of `weights`. Afterwards every bit is put back.
        """

    def ahead(self, gradient: Sequence[Tensor]) -> AbstractContextManager[None]:
        """A block in which the weights have moved on: w - ξ (μ · momentum + gradient + decay · w)."""


class Looks(Protocol):
    """Measurements on the validation half after an epoch, with batch statistics.

    Images come without augmentation, and the same ones every time. `weights` are what cells multiply
    by, as the hook `weights` returns them; None: the mixtures. `batches` limits how many batches are
    seen; None: the whole half.
    """

    @property
    def draw(self) -> torch.Generator:
        """The search's generator, on the device, for every random number of the method."""

    def accuracy(self, weights: Mapping[str, Tensor] | None, batches: int | None = None) -> float:
        """Share of right answers."""

    def loss(self, weights: Mapping[str, Tensor] | None, batches: int | None = None) -> float:
        """Mean cross-entropy."""
