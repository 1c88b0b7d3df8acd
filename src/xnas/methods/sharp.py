"""sharpDARTS's Max-W: first-order DARTS whose strongest expert always has weight 1 (Hundt et al., 2019).

Cells multiply by w_i = 1 - max_j u_j + u_i. By the chain rule ∂u_i = g_i for all but the strongest m,
and ∂u_m = g_m - Σ_j g_j.

Departure: the published cell of the paper's table comes from the plain weighting, not from Max-W.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor, nn

from xnas.methods.game import Game
from xnas.methods.logits import Edges, Softmax, WeighedLogits, one_hot_of, pull_back
from xnas.methods.protocol import Step
from xnas.methods.recipes import DARTS
from xnas.methods.registered import METHODS


class MaxW(Softmax):
    """The belief is softmax(α); cells multiply by it raised so that the strongest has weight 1."""

    def weights(self, edges: Edges, step: Step) -> Tensor:  # noqa: ARG002 - the same in both
        """1 - max u + u for the living, 0 for the dead."""
        belief = self.belief(edges)
        return (1 - belief.amax(-1, keepdim=True) + belief) * edges.alive

    def pull_back(self, edges: Edges, gradient: Tensor) -> Tensor:
        """∂L/∂α through the largest and the softmax."""
        belief, gradient = self.belief(edges), gradient * edges.alive
        total = gradient.sum(-1, keepdim=True)
        return pull_back(belief, gradient - one_hot_of(belief) * total)


def sharp(mixtures: Mapping[str, nn.Parameter], game: Game) -> WeighedLogits:
    """DARTS with Max-W."""
    return WeighedLogits("sharp", mixtures, game, relaxation=MaxW())


METHODS.add(
    "sharp",
    sharp,
    recipe=replace(DARTS, final_weights_lr=1e-4, schedule_power=2.0, schedule_warmup=5),
    summary="DARTS in which the strongest expert always has weight 1",
    paper="Hundt, Jain and Hager, 2019, arXiv:1903.09900",
    costs="W + M",
)
