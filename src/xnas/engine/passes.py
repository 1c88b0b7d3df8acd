"""Passes: what a method may look at and try in a round, besides the round's own two passes.

All of it can be part of a captured round: nothing is read on the host. Weights that were moved are put
back from a copy, as adding and subtracting the same does not give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from xnas.engine.forward import (
    accuracy,
    architecture_losses,
    forward,
    held_fixed,
    precision,
    untouched_buffers,
)
from xnas.engine.weighing import spread_weights, with_gradients
from xnas.methods import Learning, Seen
from xnas.methods.passes import By, Half, Place

if TYPE_CHECKING:
    from xnas.engine.search import Search


class SearchPasses:
    """The `Passes` of a search."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self._due = False
        """Whether the next pass over the validation batch is the round's own."""
        self._places: list[Place | None] = []

    @property
    def draw(self) -> torch.Generator:
        """The search's generator, for every random number of the method."""
        return self.search.dropout

    @property
    def rate(self) -> Tensor:
        """The learning rate of the weights in this epoch, ()."""
        return self.search.rate

    @property
    def weights(self) -> Sequence[nn.Parameter]:
        """The network's weights."""
        return self.search.weights

    @property
    def places(self) -> Sequence[Place | None]:
        """For each of `weights` the expert that it belongs to."""
        if len(self._places) == len(self.search.weights):  # they only ever get fewer
            return self._places
        found: dict[int, Place] = {}
        supernet = self.search.supernet
        for kind, mixture in self.search.mixtures.items():
            for edge in range(len(mixture)):
                for cell, forecaster in enumerate(supernet.forecasters_of(kind, edge)):  # type: ignore[operator]
                    for name, expert in forecaster.experts.items():
                        column = forecaster.names.index(name)
                        place = (kind, cell, edge, column)
                        found |= dict.fromkeys(map(id, expert.parameters()), place)
        self._places = [found.get(id(p)) for p in self.search.weights]
        return self._places

    def learn(self, method: Learning) -> None:
        """Let a method make the architecture step; the validation batch is seen at least once."""
        self._due = True
        method.learn(self)
        if self._due:
            self.see("valid", by="nothing")

    def see(
        self, half: Half, weights: Mapping[str, Tensor] | None = None, *, by: By = "mixtures"
    ) -> Seen:
        """Pass the batch of a half forward and, for the gradients that `by` asks for, backward."""
        search = self.search
        assert search.replicated is not None  # noqa: S101 - a requirement of hooks
        images, labels = search.train_batch if half == "train" else search.valid_batch
        own, by_weights = half == "valid" and self._due, by in ("weights", "both")
        mixtures = spread_weights(search.replicated, weights)
        if by in ("mixtures", "both"):
            mixtures = with_gradients(mixtures)
        with nullcontext() if own else untouched_buffers(search.supernet):
            with (
                held_fixed(() if by_weights else search.leaves),
                torch.set_grad_enabled(by != "nothing"),
                precision(search),
            ):
                logits = forward(search, images, mixtures)
                loss, paid = self._losses(half, logits, labels)
            found = self._gradients(paid, mixtures, by)  # autograd has kept the buffers as they are
        if own:
            self._due = False
            search.tally.add_valid(loss, logits, labels)
            for kind, gradient in found[0].items():
                search.tally.add_rewards(kind, -gradient)
        # Means over all processes, as gradients are: methods decide by them, everywhere alike.
        mean, right = loss.detach().clone(), accuracy(logits, labels)
        search.ranks.average([mean, right])
        return Seen(loss=mean, accuracy=right, mixtures=found[0], weights=found[1])

    def _losses(self, half: Half, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The loss, and what gradients are taken of."""
        if half == "valid":
            return architecture_losses(self.search, logits, labels)
        loss = cross_entropy(logits, labels)
        return loss, loss

    @contextmanager
    def at(self, direction: Sequence[Tensor], scale: Tensor | float) -> Iterator[None]:
        """A block in which the network's weights are w + scale · direction."""
        with self._moved(tuple(torch._foreach_mul(list(direction), scale))):
            yield

    @contextmanager
    def ahead(self, gradient: Sequence[Tensor]) -> Iterator[None]:
        """A block in which the weights have moved on: w - ξ (μ · momentum + gradient + decay · w)."""
        weights, optimizer = self._values(), self.search.weight_optimizer
        group = optimizer.param_groups[0]
        step = torch._foreach_add(list(gradient), weights, alpha=group["weight_decay"])
        for total, weight in zip(step, self.weights, strict=True):
            momentum = optimizer.state.get(weight, {}).get("momentum_buffer")
            if momentum is not None:  # there is none before the first round
                total.add_(momentum, alpha=group["momentum"])
        with self._moved(tuple(torch._foreach_mul(step, -self.rate))):
            yield

    @contextmanager
    def _moved(self, by: tuple[Tensor, ...]) -> Iterator[None]:
        weights = self._values()
        saved = [w.clone() for w in weights]
        torch._foreach_add_(weights, by)
        try:
            yield
        finally:
            torch._foreach_copy_(weights, saved)

    def _values(self) -> list[Tensor]:
        return [p.detach() for p in self.weights]

    def _gradients(
        self, loss: Tensor, mixtures: Mapping[str, Tensor], by: By
    ) -> tuple[dict[str, Tensor], list[Tensor]]:
        """Gradients by mixtures and by weights; those in `p.grad` stay as they are."""
        if by == "nothing":
            return {}, []
        inputs = list(mixtures.values()) if by in ("mixtures", "both") else []
        if by == "mixtures":
            gradients = torch.autograd.grad(loss, inputs)
            self.search.ranks.average(gradients)
            return dict(zip(mixtures, gradients, strict=True)), []
        kept = [p.grad for p in self.weights]
        for p in self.weights:
            p.grad = None
        loss.backward(inputs=[*self.search.leaves, *inputs])  # type: ignore[no-untyped-call]
        # An expert may be out of the pass: cells leave out what nothing flows through.
        weights = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.weights]
        for p, before in zip(self.weights, kept, strict=True):
            p.grad = before
        by_mixtures = {k: u.grad for k, u in mixtures.items() if inputs and u.grad is not None}
        self.search.ranks.average([*by_mixtures.values(), *weights])
        return by_mixtures, weights
