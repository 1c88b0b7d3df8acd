"""DARTS-: first-order DARTS with an auxiliary skip connection that fades (Chu et al., 2021).

Cells multiply by w = u + β·[skip] in both steps, with β from 1 to 0 over the epochs, so that skip
connections need not win to keep gradients flowing.

Departure: at stride 2 the original has a factorised reduction of its own on each edge; here it is that
of the skip connection. At stride 1 both are the identity.

Departure: β reaches 0 with the search's own number of epochs. The authors' code scales it to 50 unless
two more flags are given.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from xnas.methods.game import Game
from xnas.methods.logits import Edges, Softmax, WeighedLogits
from xnas.methods.protocol import Step
from xnas.methods.recipes import DARTS
from xnas.methods.registered import METHODS

SKIP = "skip_connect"


class AuxiliarySkip(Softmax):
    """The belief is softmax(α); cells multiply by it with β added to the skip connection."""

    def __init__(self, skips: Tensor) -> None:
        """`skips` is a mask (experts) of the skip connection."""
        self.skips = skips

    def weights(self, edges: Edges, step: Step) -> Tensor:  # noqa: ARG002 - the same in both
        """U + β·[skip], where the skip connection is alive."""
        return self.belief(edges) + edges.level * (self.skips & edges.alive)


def darts_minus(mixtures: Mapping[str, nn.Parameter], game: Game) -> WeighedLogits:
    """DARTS with the auxiliary skip connection."""
    device = next(iter(mixtures.values())).device
    skips = torch.tensor([name == SKIP for name in game.operations], device=device)
    return WeighedLogits(
        "darts-minus",
        mixtures,
        game,
        relaxation=AuxiliarySkip(skips),
        schedule=lambda epoch: max(0.0, 1 - epoch / game.epochs),
    )


METHODS.add(
    "darts-minus",
    darts_minus,
    recipe=DARTS,
    summary="DARTS with an auxiliary skip connection that fades",
    paper="Chu et al., 2021, arXiv:2009.01027",
    costs="W + M",
)
