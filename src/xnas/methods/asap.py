"""ASAP: DARTS with an annealed softmax that prunes as it goes (Noy et al., 2020).

u = softmax(α/T) with T = 1.6 · 0.95^epoch. While T ≥ 1 ("grace") neither α learns nor anything is
pruned. Then an operation with u_i < θ/N leaves its edge, with θ = 0.4 and N the operations that the
edge began with. The strongest has at least 1/N and stays.

Departure: a search of other than 50 epochs stretches the schedule of T to its own number, so that it
too learns in four fifths of them.

The authors released no search. Its numbers are those of another implementation, UniNAS, but for an
error there that divides the threshold by N again on each further edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor, nn

from xnas.methods.game import Game
from xnas.methods.logits import Edges, PrunedLogits, Softmax, masked_softmax, pull_back
from xnas.methods.recipes import DARTS
from xnas.methods.registered import METHODS

TOP, FALL = 1.6, 0.95
EPOCHS = 50
THRESHOLD = 0.4


def temperature(epoch: int, epochs: int = EPOCHS) -> float:
    """T of an epoch from 0; of 50 epochs it is below 1 from epoch 10 on."""
    return float(TOP * FALL ** (epoch * EPOCHS / epochs))


class Annealed(Softmax):
    """The belief is softmax(α/T) over the living."""

    def belief(self, edges: Edges) -> Tensor:
        """softmax(α/T), (forecasters, experts)."""
        return masked_softmax(edges.logits, edges.alive, edges.level)

    def pull_back(self, edges: Edges, gradient: Tensor) -> Tensor:
        """∂L/∂α = u ⊙ (g - ⟨u, g⟩)/T."""
        return pull_back(self.belief(edges), gradient, edges.level)


class Asap(PrunedLogits):
    """Annealed mixtures that lose what falls below a share of the uniform weight."""

    def learns(self, epoch: int, round_in_epoch: int) -> bool:  # noqa: ARG002 - all rounds alike
        """Whether the grace is over."""
        return temperature(epoch, self.game.epochs) < 1

    def prune(self) -> None:
        """Take out what is below θ/N once T < 1."""
        for kind, mask in self.masks.items():
            edges = self.edges(kind)
            weak = self.relaxation.belief(edges) < THRESHOLD / mask.shape[-1]
            mask.logical_and_(~(weak & (self.level < 1)))


def asap(mixtures: Mapping[str, nn.Parameter], game: Game) -> Asap:
    """DARTS with annealing and pruning."""
    return Asap(
        "asap",
        mixtures,
        game,
        relaxation=Annealed(),
        schedule=lambda epoch: temperature(epoch, game.epochs),
    )


METHODS.add(
    "asap",
    asap,
    recipe=replace(DARTS, include_none=None),
    summary="DARTS with a cooling softmax that prunes as it goes",
    paper="Noy et al., 2020, arXiv:1904.04123",
    costs="W + M, falls",
)
