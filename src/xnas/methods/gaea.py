"""GAEA: mixtures that learn by exponentiated gradient (Li, Khodak, Balcan and Talwalkar, 2021).

    u ← u ⊙ exp(-η g),   u ← max(u, 1e-5),   u ← u / Σu

It is XNAS's update without clipped rewards, a rate from the horizon and wipeout: while the floor is not
reached, `ExpertsOptimizer(wipeout=False)` at the same rate plays the same mixtures.

Departure: the result is the cell of the last epoch; the authors' bilevel searches take that of the epoch
with the best validation accuracy. Departure: on the DARTS space `gaea` and `gaea-erm` have no partial
channels, which the authors' search there has; `gaea-pc` (`pc_darts.py`) has them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from xnas.methods.game import Game
from xnas.methods.learner import Learner, take_over, whole_state
from xnas.methods.recipes import DARTS, by_space
from xnas.methods.registered import METHODS

LEARNING_RATE = 0.1
FLOOR = 1e-5


def eg_step(mixture: Tensor, gradient: Tensor, *, learning_rate: float, floor: float = 0.0) -> Tensor:
    """U ⊙ exp(-η g), divided by its sum, raised to the floor and divided again, (..., experts).

    Dividing first changes nothing but where the floor is reached: numbers cannot overflow before it.
    """
    moved = (mixture.log() - learning_rate * gradient).softmax(-1)
    raised = torch.where(mixture > 0, moved.clamp(min=floor), 0.0)
    return raised / raised.sum(-1, keepdim=True)


class ExponentiatedGradient(Learner):
    """Mixtures that multiply their weights by exp(-η g) each round."""

    def __init__(
        self,
        name: str,
        mixtures: Mapping[str, nn.Parameter],
        game: Game,
        *,
        learning_rate: float = LEARNING_RATE,
        floor: float = FLOOR,
        entropy: float = 0.0,
    ) -> None:
        """`entropy` is κ of the term κ Σ u ln(N u), which the authors have and leave at 0."""
        super().__init__(name, mixtures, game)
        self.learning_rate, self.floor, self.entropy = learning_rate, floor, entropy
        self.write_beliefs()

    @torch.no_grad()
    def step(self) -> None:
        """Multiply, raise to the floor and normalise every mixture that has a gradient."""
        for mixture in self.mixtures.values():
            if mixture.grad is None:
                continue
            gradient = mixture.grad
            if self.entropy:
                gradient = gradient + self.entropy * ((mixture.shape[-1] * mixture).log() + 1)
            mixture.copy_(eg_step(mixture, gradient, learning_rate=self.learning_rate, floor=self.floor))

    def strengths(self, mixture: Tensor) -> Tensor:
        """The mixture itself, (forecasters, experts)."""
        return mixture.detach().double()

    def comparable_sums(self, mixture: Tensor) -> Tensor:
        """Ln u, which ranks experts as sums of rewards do, (forecasters, experts)."""
        return mixture.detach().double().clamp(min=torch.finfo(mixture.dtype).tiny).log()

    def check(self) -> None:
        """Raise if a step left numbers that are not finite."""
        self.require_finite("weights", self.mixtures)

    def state_dict(self) -> dict[str, Any]:
        """The mixtures, which are all that changes."""
        return {"mixtures": whole_state(self.mixtures)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume where `state_dict` was taken."""
        take_over(self.mixtures, state_dict["mixtures"], "mixtures")


def gaea(mixtures: Mapping[str, nn.Parameter], game: Game) -> ExponentiatedGradient:
    """Exponentiated gradient, weights and mixtures on separate halves (bilevel)."""
    return ExponentiatedGradient("gaea", mixtures, game)


def gaea_erm(mixtures: Mapping[str, nn.Parameter], game: Game) -> ExponentiatedGradient:
    """Exponentiated gradient, weights and mixtures both on all training images (single-level)."""
    return ExponentiatedGradient("gaea-erm", mixtures, game)


PAPER = "Li et al., 2021, arXiv:2004.07802"


def half_a_cosine(epoch: int, epochs: int) -> float:
    """Share of the rate's fall that is still to come: the search stops half-way through a cosine."""
    return (1 + math.cos(math.pi * epoch / (2 * epochs))) / 2


BENCHMARK = replace(DARTS, epochs=25, schedule=half_a_cosine, include_none=False, cells=5, channels=24)

METHODS.add(
    "gaea",
    gaea,
    recipe=by_space(DARTS, nasbench201=BENCHMARK),
    summary="exponentiated gradients at a fixed rate, without wipeout",
    paper=PAPER,
    costs="W + M",
)
METHODS.add(
    "gaea-erm",
    gaea_erm,
    recipe=by_space(replace(DARTS, halves=1), nasbench201=replace(BENCHMARK, halves=1)),
    summary="gaea with weights and mixtures both on all training images",
    paper=PAPER,
    costs="W + M",
)
