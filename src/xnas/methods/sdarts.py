"""SDARTS: the weights are trained on disturbed mixtures (Chen and Hsieh, 2020).

In the weight step cells multiply by u + δ, clamped to [0, 1] and divided by its sum; an edge on which
nothing is left takes its strongest expert. |δ| ≤ ε, which grows as ε = 0.03 + 0.27 e/E. In *rs* δ is
uniform. *adv* attacks: from a random start it climbs the training loss in 7 steps of 2ε/7 along the
sign of the gradient, and the attack is kept unless the loss fell. The architecture step is that of
DARTS.

Departure: the attack computes with batch statistics, as every pass of a search does. In the authors'
code it runs in evaluation mode, on running statistics.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Generator, Tensor, nn

from xnas.methods.game import Game
from xnas.methods.learner import Schedule
from xnas.methods.logits import Edges, Softmax, WeighedLogits, one_hot_of
from xnas.methods.passes import Passes
from xnas.methods.protocol import Step
from xnas.methods.recipes import BENCHMARK, DARTS, by_space
from xnas.methods.registered import METHODS

SMALLEST, GROWTH = 0.03, 0.27
ATTACKS = 7


def radius(epochs: int) -> Schedule:
    """ε of an epoch."""
    return lambda epoch: SMALLEST + GROWTH * epoch / epochs


def disturbed(belief: Tensor, by: Tensor, alive: Tensor) -> Tensor:
    """U + δ clamped to [0, 1] and divided by its sum, (forecasters, experts)."""
    clamped = (belief + by).clamp(0, 1) * alive
    total = clamped.sum(-1, keepdim=True)
    return torch.where(total > 0, clamped / torch.where(total > 0, total, 1.0), one_hot_of(belief))


class RandomDisturbance(Softmax):
    """The belief is softmax(α); in the weight step cells multiply by it with uniform noise."""

    def draw(self, edges: Edges, generator: Generator) -> Tensor:
        """Uniform in [-1, 1), in units of ε."""
        like = edges.logits
        drawn = torch.rand(like.shape, dtype=like.dtype, device=like.device, generator=generator)
        return 2 * drawn - 1

    def weights(self, edges: Edges, step: Step) -> Tensor:
        """The disturbed belief, or in the architecture step the belief."""
        belief = self.belief(edges)
        if step == "rewards":
            return belief
        return disturbed(belief, edges.level * edges.noise, edges.alive)


class Attacked(WeighedLogits):
    """Logits whose belief is attacked before each step of the weights."""

    @torch.no_grad()
    def weights(self, step: Step, passes: Passes) -> dict[str, Tensor] | None:  # type: ignore[override]
        """The attacked beliefs, or in the architecture step the beliefs themselves."""
        if step == "rewards":
            return None
        start = super().weights(step, passes)
        every = {kind: self.edges(kind) for kind in self.mixtures}
        belief = {kind: self.relaxation.belief(edges) for kind, edges in every.items()}
        by = {kind: self.level * edges.noise for kind, edges in every.items()}
        seen, now = passes.see("train", by="nothing"), start
        for _ in range(ATTACKS):
            climbed = passes.see("train", now, by="mixtures").mixtures
            for kind, edges in every.items():
                moved = by[kind] + 2 * self.level / ATTACKS * climbed[kind].sum(0).sign()
                moved = torch.minimum(torch.maximum(moved, -self.level), self.level)
                by[kind] = (belief[kind] + moved).clamp(0, 1) - belief[kind]
                now[kind] = disturbed(belief[kind], by[kind], edges.alive)
        fell = passes.see("train", now, by="nothing").loss < seen.loss
        return {kind: torch.where(fell, belief[kind], now[kind]) for kind in belief}


def sdarts_rs(mixtures: Mapping[str, nn.Parameter], game: Game) -> WeighedLogits:
    """DARTS with uniform noise on the mixtures of the weight step."""
    return WeighedLogits(
        "sdarts-rs",
        mixtures,
        game,
        relaxation=RandomDisturbance(),
        schedule=radius(game.epochs),
    )


def sdarts_adv(mixtures: Mapping[str, nn.Parameter], game: Game) -> Attacked:
    """DARTS with an attack on the mixtures of the weight step."""
    return Attacked(
        "sdarts-adv",
        mixtures,
        game,
        relaxation=RandomDisturbance(),
        schedule=radius(game.epochs),
    )


PAPER = "Chen and Hsieh, 2020, arXiv:2002.05283"
RECIPE = by_space(DARTS, nasbench201=BENCHMARK)

METHODS.add(
    "sdarts-rs",
    sdarts_rs,
    recipe=RECIPE,
    summary="DARTS whose weights are trained on mixtures with uniform noise",
    paper=PAPER,
    costs="W + M",
)
METHODS.add(
    "sdarts-adv",
    sdarts_adv,
    recipe=RECIPE,
    summary="DARTS whose weights are trained on attacked mixtures",
    paper=PAPER,
    costs="W + 8M + 2F",
)
