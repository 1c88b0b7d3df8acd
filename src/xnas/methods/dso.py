"""DSO-NAS: scaling factors λ ≥ 0 that a sparse penalty drives to 0 (Zhang, Huang and Wang, 2018).

Cells multiply by λ. With the soft threshold S at ηγ and gradients clipped to ±2, each step is

    z = S(λ - η g),   v ← z - λ + μ v,   λ ← max(0, z + μ v).

Experts whose λ is 0 at the end of an epoch are pruned. The belief is λ/Σλ.

Departure: two edges are kept for each node, ranked by λ, and the last expert of an edge is never
pruned. The original keeps every λ > 0. Departure: η is the authors' 0.1 whatever the rate of the
weights; there is no search for 120 epochs without λ before, and γ is not scaled by FLOPs. Departure: the
gradients of the weights are clipped to a norm of 5, as in all searches here; the original clips single
numbers to ±2. `none` is not among the experts, as an edge whose λ are small is as good as none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from xnas.methods.game import Game
from xnas.methods.learner import Learner, living, take_over, whole_state
from xnas.methods.logits import one_hot_of
from xnas.methods.passes import Looks, Passes
from xnas.methods.protocol import Step
from xnas.methods.recipes import DARTS
from xnas.methods.registered import METHODS

LEARNING_RATE = 0.1
PENALTY = 1e-3
"""γ."""
MOMENTUM = 0.9
LARGEST_GRADIENT = 2.0


def proximal_step(
    factors: Tensor,
    velocity: Tensor,
    gradient: Tensor,
    *,
    learning_rate: float,
    penalty: float,
    momentum: float,
) -> tuple[Tensor, Tensor]:
    """λ and v after one step of APG-NAG, (forecasters, experts)."""
    moved = factors - learning_rate * gradient
    shrunk = moved.sign() * (moved.abs() - learning_rate * penalty).clamp(min=0)
    velocity = shrunk - factors + momentum * velocity
    return (shrunk + momentum * velocity).clamp(min=0), velocity


class Sparse(Learner):
    """Scaling factors by kind of cell, and their velocities."""

    def __init__(
        self,
        name: str,
        mixtures: Mapping[str, nn.Parameter],
        game: Game,
        *,
        learning_rate: float = LEARNING_RATE,
        penalty: float = PENALTY,
        momentum: float = MOMENTUM,
    ) -> None:
        super().__init__(name, mixtures, game)
        self.learning_rate, self.penalty, self.momentum = learning_rate, penalty, momentum
        self.factors = {kind: mask.to(mixtures[kind].dtype) for kind, mask in self.masks.items()}
        self.velocities = {kind: torch.zeros_like(f) for kind, f in self.factors.items()}
        self.write_beliefs()

    def weights(self, step: Step, passes: Passes) -> dict[str, Tensor]:  # noqa: ARG002 - the same
        """The factors, by kind (forecasters, experts)."""
        return dict(self.factors)

    @torch.no_grad()
    def step(self) -> None:
        """Move the factors, in place, and write the beliefs."""
        for kind, mixture in self.mixtures.items():
            if mixture.grad is None:
                continue
            factors, velocity = proximal_step(
                self.factors[kind],
                self.velocities[kind],
                mixture.grad.clamp(-LARGEST_GRADIENT, LARGEST_GRADIENT),
                learning_rate=self.learning_rate,
                penalty=self.penalty,
                momentum=self.momentum,
            )
            self.factors[kind].copy_(torch.where(self.masks[kind], factors, 0.0))
            self.velocities[kind].copy_(torch.where(self.masks[kind], velocity, 0.0))
        self.write_beliefs()

    @torch.no_grad()
    def close_epoch(self, looks: Looks) -> None:  # noqa: ARG002 - nothing is measured
        """Prune what is 0; of an edge that would lose all, the strongest so far stays."""
        for kind, mask in self.masks.items():
            left = mask & (self.factors[kind] > 0)
            strongest = one_hot_of(self.factors[kind].masked_fill(~mask, -1.0)) > 0
            mask.copy_(torch.where(left.any(-1, keepdim=True), left, strongest))
            self.velocities[kind].mul_(mask)
        self.write_beliefs()

    def strengths(self, mixture: Tensor) -> Tensor:
        """The factors, which rank experts and edges, (forecasters, experts)."""
        return self.factors[self.kind_of(mixture)].double()

    comparable_sums = strengths

    def check(self) -> None:
        """Raise if a step left numbers that are not finite."""
        self.require_finite("factors", self.factors)

    def state_dict(self) -> dict[str, Any]:
        """Factors, velocities and masks of the living."""
        return {
            "factors": whole_state(self.factors),
            "velocities": whole_state(self.velocities),
            "alive": self.masks,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume where `state_dict` was taken."""
        take_over(self.factors, state_dict["factors"], "factors")
        take_over(self.velocities, state_dict["velocities"], "velocities")
        take_over(self.masks, state_dict["alive"], "masks of the living")
        self.write_beliefs()

    @torch.no_grad()
    def write_beliefs(self) -> None:
        """Bring every mixture to the shares of its factors."""
        for kind, mixture in self.mixtures.items():
            mixture.copy_(living(self.factors[kind], self.masks[kind]))


def dso(mixtures: Mapping[str, nn.Parameter], game: Game) -> Sparse:
    """Sparse scaling factors."""
    return Sparse("dso", mixtures, game)


METHODS.add(
    "dso",
    dso,
    recipe=replace(
        DARTS,
        epochs=120,
        batch_size=128,
        weights_lr=0.1,
        final_weights_lr=0.1,
        nesterov=True,
        weight_decay=1e-4,
        include_none=False,
    ),
    summary="scaling factors that a sparse penalty drives to 0, and pruning",
    paper="Zhang et al., 2018, arXiv:1811.01567",
    costs="W + M, falls",
)
