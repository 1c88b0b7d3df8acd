"""SNAS: mixtures drawn from a Gumbel softmax, learned in one pass with the weights (Xie et al., 2019).

    z = softmax((α + G)/τ),   w = z,   ∂α = z ⊙ (g - ⟨z, g⟩)/τ

with one draw G for each step, shared by all cells of a kind, and τ from 1 to 0.03 over the epochs.
Weights and logits learn from the same batch of all training images.

Departure: the logits learn by Adam as the paper says; the public code's path for one GPU has plain SGD.
The temperature falls over the search's own number of epochs, the public code's over 150.

Departure: two edges are kept for each node, and never `none`; the original keeps all edges. There is no
drop path on whole edges, and no resource term.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from torch import Generator, Tensor, nn

from xnas.methods.game import Game
from xnas.methods.learner import Schedule
from xnas.methods.logits import Edges, Softmax, WeighedLogits, gumbel, masked_softmax, pull_back
from xnas.methods.protocol import Step
from xnas.methods.recipes import DARTS
from xnas.methods.registered import METHODS

COLDEST = 0.03


class GumbelSoftmax(Softmax):
    """The belief is softmax(α); cells multiply by a softmax of disturbed logits."""

    def draw(self, edges: Edges, generator: Generator) -> Tensor:
        """Gumbel noise."""
        return gumbel(edges.logits, generator)

    def weights(self, edges: Edges, step: Step) -> Tensor:  # noqa: ARG002 - one pass for both
        """z, (forecasters, experts)."""
        return masked_softmax(edges.logits + edges.noise, edges.alive, edges.level)

    def pull_back(self, edges: Edges, gradient: Tensor) -> Tensor:
        """∂L/∂α of the drawn z."""
        return pull_back(self.weights(edges, "rewards"), gradient, edges.level)


def cooling(epochs: int) -> Schedule:
    """τ = (1 - e/E)(1 - 0.03) + 0.03."""
    return lambda epoch: max(0.0, 1 - epoch / epochs) * (1 - COLDEST) + COLDEST


def snas(mixtures: Mapping[str, nn.Parameter], game: Game) -> WeighedLogits:
    """Gumbel softmax, weights and logits from one pass."""
    return WeighedLogits(
        "snas",
        mixtures,
        game,
        relaxation=GumbelSoftmax(),
        schedule=cooling(game.epochs),
        start=1.0,
        noise=0.01,
        gradient_clip=10.0,
    )


METHODS.add(
    "snas",
    snas,
    recipe=replace(DARTS, epochs=150, halves=1, joint=True),
    summary="mixtures drawn from a Gumbel softmax, learned in one pass with the weights",
    paper="Xie et al., 2019, arXiv:1812.09926",
    costs="J",
)
