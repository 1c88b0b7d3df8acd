"""ProxylessNAS, by gradient: one expert per edge is drawn, and gates learn (Cai, Zhu and Han, 2019).

In the form *full* an expert is drawn by u, and ∂α = u ⊙ (g - ⟨u, g⟩) with g taken at the drawn path. In
the form *two*, the paper's own, two experts are drawn by u without replacement, one of them becomes
active by q = softmax of their two logits, and the gradient is that of the pair alone. Afterwards both
logits are lowered by ln(Σ exp α_new / Σ exp α_old), so that the probabilities of all others stand
still.

Adam has a rate of 1e-3, betas (0, 0.999) and no decay. The logits rest in the first epoch and then
learn in every fifth round.

Departure: the original spares experts that were not drawn weight decay and momentum. Here SGD applies
both to them, as in every method that draws. Departure: it searches the layers of an inverted-bottleneck
network, here these are the package's cells. There is no warm-up with
another rate, and no label smoothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Generator, Tensor, nn

from xnas.methods.game import Game
from xnas.methods.learner import every
from xnas.methods.logits import Edges, Softmax, WeighedLogits, gumbel, one_hot_of, pull_back
from xnas.methods.protocol import Step
from xnas.methods.recipes import DARTS
from xnas.methods.registered import METHODS

LEARNING_RATE = 1e-3
BETAS = (0.0, 0.999)
EVERY = 5
"""Rounds from one step of the logits to the next."""


class FullGates(Softmax):
    """The belief is softmax(α); cells multiply by one expert drawn from it."""

    def draw(self, edges: Edges, generator: Generator) -> Tensor:
        """Gumbel noise: the largest of α + G is drawn by u."""
        return gumbel(edges.logits, generator)

    def weights(self, edges: Edges, step: Step) -> Tensor:  # noqa: ARG002 - drawn anew in each
        """1 for the active expert."""
        return one_hot_of(edges.logits.add(edges.noise).masked_fill(~edges.alive, -torch.inf))


class TwoGates(Softmax):
    """As `FullGates`, with the gradient of a drawn pair of which one is active."""

    def noise_shape(self, shape: torch.Size) -> torch.Size:
        """Noise for the pair, and for which of it is active."""
        return torch.Size((2, *shape))

    def draw(self, edges: Edges, generator: Generator) -> Tensor:
        """Gumbel noise, (2, forecasters, experts)."""
        return torch.stack([gumbel(edges.logits, generator) for _ in range(2)])

    def pair(self, edges: Edges) -> Tensor:
        """Mask (forecasters, experts) of the two drawn experts; of fewer where fewer live."""
        scores = (edges.logits + edges.noise[0]).masked_fill(~edges.alive, -torch.inf)
        top = scores.topk(min(2, scores.shape[-1]), dim=-1).indices
        return torch.zeros_like(edges.alive).scatter(-1, top, value=True) & edges.alive

    def weights(self, edges: Edges, step: Step) -> Tensor:  # noqa: ARG002 - drawn anew in each
        """1 for the active expert of the pair."""
        scores = edges.logits + edges.noise[1]
        return one_hot_of(scores.masked_fill(~self.pair(edges), -torch.inf))

    def pull_back(self, edges: Edges, gradient: Tensor) -> Tensor:
        """∂L/∂α of the pair."""
        within = edges.logits.masked_fill(~self.pair(edges), -torch.inf).softmax(-1)
        return pull_back(within, gradient)


class Proxyless(WeighedLogits):
    """Logits that rest in the first epoch and learn in every fifth round after it."""

    def learns(self, epoch: int, round_in_epoch: int) -> bool:
        """Whether the logits learn in this round."""
        return epoch > 0 and every(EVERY, self.game, epoch, round_in_epoch)


class ProxylessTwo(Proxyless):
    """Proxyless logits whose drawn pair keeps its summed probability in a step."""

    relaxation: TwoGates

    @torch.no_grad()
    def step(self) -> None:
        """Descend, then lower both logits of each pair by what their sum has gained."""
        pairs = {kind: self.relaxation.pair(self.edges(kind)) for kind in self.mixtures}
        before = [logits.detach().clone() for logits in self.logits]
        super().step()
        for pair, old, logits in zip(pairs.values(), before, self.logits, strict=True):
            gain = _log_sum(logits, pair) - _log_sum(old, pair)
            logits.sub_(torch.where(pair, gain, 0.0))
        self.write_beliefs()


def _log_sum(logits: Tensor, pair: Tensor) -> Tensor:
    return logits.detach().masked_fill(~pair, -torch.inf).logsumexp(-1, keepdim=True)


def proxyless(mixtures: Mapping[str, nn.Parameter], game: Game) -> Proxyless:
    """The form `full`: the gradient of all experts, taken at the drawn path."""
    return Proxyless(
        "proxyless",
        mixtures,
        game,
        relaxation=FullGates(),
        learning_rate=LEARNING_RATE,
        betas=BETAS,
        weight_decay=0.0,
    )


def proxyless_two(mixtures: Mapping[str, nn.Parameter], game: Game) -> ProxylessTwo:
    """The form `two`: the gradient of a drawn pair."""
    return ProxylessTwo(
        "proxyless-two",
        mixtures,
        game,
        relaxation=TwoGates(),
        learning_rate=LEARNING_RATE,
        betas=BETAS,
        weight_decay=0.0,
    )


PAPER = "Cai et al., 2019, arXiv:1812.00332"
RECIPE = replace(
    DARTS, epochs=120, final_weights_lr=0.0, nesterov=True, weight_decay=4e-5, include_none=None
)

METHODS.add(
    "proxyless",
    proxyless,
    recipe=RECIPE,
    summary="one drawn expert per edge, with the gradient of all at that path",
    paper=PAPER,
    costs="W + M/5",
)
METHODS.add(
    "proxyless-two",
    proxyless_two,
    recipe=RECIPE,
    summary="proxyless with the gradient of a drawn pair of experts",
    paper=PAPER,
    costs="W + M/5",
)
