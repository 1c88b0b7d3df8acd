"""DARTS, second order: the architecture looks one step of the weights ahead (Liu et al., 2019).

    w' = w - ξ (μ m + ∇_w L_train(w, u) + λ w),   v = ∇_w' L_valid(w', u),   ε = 0.01/‖v‖
    ∂u = ∇_u L_valid(w', u) - ξ [∇_u L_train(w + ε v, u) - ∇_u L_train(w - ε v, u)]/(2 ε)

with the training batch of the round in all passes, and ‖v‖ over all weights together. Several public
versions multiply by ε where they should divide, or assign w' to a name of their own, so that the
network stays at w; the first shrinks the last term by ε², the second is not a step ahead.

In a network of 2 M weights ε v is some 7e-6 for each. So the method computes in fp32, never in TF32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import torch
from torch import Tensor, nn

from xnas.methods.game import Game
from xnas.methods.logits import Logits
from xnas.methods.passes import Passes
from xnas.methods.recipes import BENCHMARK, DARTS, by_space
from xnas.methods.registered import METHODS

DIFFERENCE = 0.01
"""Norm of the step by which weights are moved to and fro."""


class SecondOrder(Logits):
    """Logits that descend the validation loss behind one step of the weights."""

    @torch.no_grad()
    def learn(self, passes: Passes) -> None:
        """Take the gradients of five passes, and step."""
        for kind, gradient in ahead_gradients(passes).items():
            self.mixtures[kind].grad = gradient
        self.step()


def ahead_gradients(passes: Passes) -> dict[str, Tensor]:
    """∂u by kind of cell, (forecasters, experts), summed over its cells."""
    now = passes.see("train", by="weights")
    with passes.ahead(now.weights):
        there = passes.see("valid", by="both")
    scale = DIFFERENCE / above_zero(global_norm(there.weights))
    with passes.at(there.weights, scale):
        up = passes.see("train", by="mixtures").mixtures
    with passes.at(there.weights, -scale):
        down = passes.see("train", by="mixtures").mixtures
    factor = passes.rate / (2 * scale)
    return {
        kind: (gradient - factor * (up[kind] - down[kind])).sum(0)
        for kind, gradient in there.mixtures.items()
    }


def global_norm(tensors: Iterable[Tensor]) -> Tensor:
    """The Euclidean norm of all tensors together, ()."""
    norm: Tensor = torch.stack([t.norm() for t in tensors]).norm()
    return norm


def above_zero(norms: Tensor) -> Tensor:
    """Norms by which one may divide: for a gradient of 0 the least positive number."""
    return norms.clamp(min=torch.finfo(norms.dtype).tiny)


def darts2(mixtures: Mapping[str, nn.Parameter], game: Game) -> SecondOrder:
    """DARTS by its second-order approximation."""
    return SecondOrder("darts2", mixtures, game)


METHODS.add(
    "darts2",
    darts2,
    recipe=by_space(
        replace(DARTS, least_precision="fp32"),
        nasbench201=replace(BENCHMARK, epochs=50, least_precision="fp32"),
    ),
    summary="DARTS that looks one step of the weights ahead (second order)",
    paper="Liu et al., 2019, arXiv:1806.09055",
    costs="2W + J + 2M",
)
