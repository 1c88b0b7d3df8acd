"""GDAS: one drawn expert per edge, with a straight-through gradient (Dong and Yang, 2019).

    y = softmax((ln u + G)/τ),   k = argmax y,   w = onehot(k),   ∂α = y ⊙ (ĝ - ⟨y, ĝ⟩)/τ

with G standard Gumbel noise, one draw for each step, and τ from 10 to 0.1 over the epochs. There are
three forms of ĝ. *exact* is g, which cells give for every living expert, drawn or not. *selected* is g
for the drawn expert and 0 for the others, as in the authors' later `gdas_v1`. In *published*, their
first code, the bare weight of every other expert is added to the feature map, so that ĝ is the same
sum of the node's gradient for all of them. `partial(gdas, form="selected")` is the second form. The
published one is a function only: `straight_through` computes it from such a sum, which cells do not
give, so no search can use it.

Experts that were not drawn get the gradient 0 in the weight step, and SGD still applies its decay and
momentum to them, as it did in public code before PyTorch 2.0.

Departure: the architecture's gradient has no part in the norm by which the weights' is clipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import torch
from torch import Generator, Tensor, nn

from xnas.methods.game import Game
from xnas.methods.learner import Schedule
from xnas.methods.logits import (
    Edges,
    Softmax,
    WeighedLogits,
    gumbel,
    masked_softmax,
    one_hot_of,
    pull_back,
)
from xnas.methods.protocol import Step
from xnas.methods.recipes import DARTS, by_space
from xnas.methods.registered import METHODS

HOTTEST, COLDEST = 10.0, 0.1


def straight_through(
    relaxed: Tensor, gradient: Tensor, temperature: Tensor | float, *, others: Tensor | None = None
) -> Tensor:
    """∂L/∂α of the expert drawn by argmax from `relaxed`, (forecasters, experts).

    Without `others` every expert has its own gradient. `others`, (forecasters, 1) or (forecasters,
    experts), takes its place for the experts that were not drawn.
    """
    if others is not None:
        gradient = torch.where(one_hot_of(relaxed) > 0, gradient, others)
    return pull_back(relaxed, gradient, temperature)


class HardGumbel(Softmax):
    """The belief is softmax(α); cells multiply by one expert drawn from it."""

    def __init__(self, form: Literal["exact", "selected"] = "exact") -> None:
        self.form = form

    def draw(self, edges: Edges, generator: Generator) -> Tensor:
        """Gumbel noise."""
        return gumbel(edges.logits, generator)

    def relaxed(self, edges: Edges) -> Tensor:
        """y, (forecasters, experts); softmax((ln u + G)/τ) is softmax((α + G)/τ)."""
        return masked_softmax(edges.logits + edges.noise, edges.alive, edges.level)

    def weights(self, edges: Edges, step: Step) -> Tensor:  # noqa: ARG002 - drawn anew in each
        """1 for the drawn expert of each edge."""
        return one_hot_of((edges.logits + edges.noise).masked_fill(~edges.alive, -torch.inf))

    def pull_back(self, edges: Edges, gradient: Tensor) -> Tensor:
        """∂L/∂α as if cells had multiplied by y."""
        others = torch.zeros_like(gradient) if self.form == "selected" else None
        return straight_through(self.relaxed(edges), gradient, edges.level, others=others)


def cooling(epochs: int) -> Schedule:
    """τ from 10 to 0.1, linear over the epochs."""
    return lambda epoch: HOTTEST - (HOTTEST - COLDEST) * min(1.0, epoch / max(1, epochs - 1))


def gdas(
    mixtures: Mapping[str, nn.Parameter],
    game: Game,
    *,
    form: Literal["exact", "selected"] = "exact",
) -> WeighedLogits:
    """One drawn expert per edge, with the straight-through gradient of every expert."""
    return WeighedLogits(
        "gdas", mixtures, game, relaxation=HardGumbel(form), schedule=cooling(game.epochs)
    )


RECIPE = replace(DARTS, epochs=250, batch_size=256, nesterov=True, weight_decay=5e-4)

METHODS.add(
    "gdas",
    gdas,
    recipe=by_space(RECIPE, nasbench201=replace(RECIPE, batch_size=64)),
    summary="one drawn expert per edge, with a straight-through gradient",
    paper="Dong and Yang, 2019, arXiv:1910.04465",
    costs="W + M",
)
