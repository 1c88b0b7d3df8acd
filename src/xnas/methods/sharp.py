"""sharpDARTS's Max-W: first-order DARTS whose strongest expert always has weight 1 (Hundt et al., 2019).

Cells multiply by w_i = 1 - max_j u_j + u_i. By the chain rule ∂u_i = g_i for all but the strongest m,
and ∂u_m = g_m - Σ_j g_j. The rate of the weights follows a power cosine: with c = (1 + cos πx)/2 it is
above its last value by the share (2^(c+1) - 2)/2 of its fall, after a linear rise.

Its block, SharpSepConv, is the separable convolution of all spaces here, where it has neither dilation
nor more channels between its stages. `flood_conv_3x3`, `sharp_dil_conv_3x3` and `sharp_dil_conv_5x5`
are those that differ: operations for a space of your own.

Departure: images are not cut out or augmented by AutoAugment in the search, unless you ask for it.

Departure: the published cell of the paper's table comes from the plain weighting, not from Max-W.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor, nn

from xnas.methods.game import Game
from xnas.methods.logits import Edges, Softmax, WeighedLogits, one_hot_of, pull_back
from xnas.methods.protocol import Step
from xnas.methods.recipes import DARTS
from xnas.methods.registered import METHODS

WARMUP = 0.1  # of the epochs: 5 of 50


def annealing(epoch: int, epochs: int) -> float:
    """Share of the rate's fall that is still to come in an epoch, counted from 0."""
    number, rise = epoch + 1, round(WARMUP * epochs)
    if number <= rise + 1:
        return number / (rise + 1)
    left = (1 + math.cos(math.pi * (number - rise) / (epochs - rise))) / 2
    return (2 ** (left + 1) - 2) / 2


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
    recipe=replace(DARTS, final_weights_lr=1e-4, schedule=annealing),
    summary="DARTS in which the strongest expert always has weight 1",
    paper="Hundt et al., 2019, arXiv:1903.09900",
    costs="W + M",
)
