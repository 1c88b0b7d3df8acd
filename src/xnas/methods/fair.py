"""FairDARTS: experts that do not compete, each behind a sigmoid (Chu, Zhou, Zhang and Li, 2020).

Cells multiply by w = σ(α). A zero-one loss -κ · mean((σ(α) - 1/2)²), over all entries of both kinds of
cells, drives the gates to 0 or 1. The belief between rounds is σ(α)/Σσ(α).

Departure: two edges are kept for each node. The original drops those with σ < 0.85, so that a node may
keep none. `discretization.json` has σ of every edge as its `strength`: the original would drop the kept
ones below 0.85.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor, nn

from xnas.methods.game import Game
from xnas.methods.learner import living
from xnas.methods.logits import Edges, Softmax, Term, WeighedLogits
from xnas.methods.protocol import Step
from xnas.methods.recipes import DARTS
from xnas.methods.registered import METHODS

ZERO_ONE = 10.0
"""κ."""
LEARNING_RATE = 3e-3
BETAS = (0.9, 0.999)


class Sigmoid(Softmax):
    """Independent gates σ(α); the belief is their share."""

    def belief(self, edges: Edges) -> Tensor:
        """σ/Σσ over the living, (forecasters, experts)."""
        return living(edges.logits.sigmoid(), edges.alive)

    def weights(self, edges: Edges, step: Step) -> Tensor:  # noqa: ARG002 - the same in both
        """The gates."""
        return edges.logits.sigmoid() * edges.alive

    def pull_back(self, edges: Edges, gradient: Tensor) -> Tensor:
        """∂L/∂α = g σ (1 - σ)."""
        gates = edges.logits.sigmoid()
        return gradient * edges.alive * gates * (1 - gates)

    def strengths(self, edges: Edges) -> Tensor:
        """The gates, which rank edges."""
        return edges.logits.sigmoid() * edges.alive


def zero_one(entries: int, strength: float = ZERO_ONE) -> Term:
    """The gradient of -κ · mean((σ - 1/2)²) by σ, with so many entries in the mean."""

    def gradient(edges: Edges) -> Tensor:
        gates: Tensor = torch.sigmoid(edges.logits)
        return -2 * strength * (gates - 0.5) / entries

    return gradient


def fair(mixtures: Mapping[str, nn.Parameter], game: Game) -> WeighedLogits:
    """Independent gates with the zero-one loss."""
    return WeighedLogits(
        "fair",
        mixtures,
        game,
        relaxation=Sigmoid(),
        weight_terms=[zero_one(sum(m.numel() for m in mixtures.values()))],
        learning_rate=LEARNING_RATE,
        betas=BETAS,
        noise=0.0,
    )


METHODS.add(
    "fair",
    fair,
    recipe=replace(DARTS, batch_size=128, weights_lr=0.005, include_none=False),
    summary="independent gates, driven to 0 or 1",
    paper="Chu et al., 2020, arXiv:1911.12126",
    costs="W + M",
)
