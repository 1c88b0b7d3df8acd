"""DARTS, first order: logits behind a softmax, learned by Adam (Liu, Simonyan and Yang, 2019).

Its own settings: Adam at 3e-4 with betas (0.5, 0.999) and weight decay 1e-3, logits that start at noise
of 1e-3, no wipeout. They descend ∂ℓ/∂α_i = u_i (∂ℓ/∂u_i - Σ_j u_j ∂ℓ/∂u_j) (eq. 37).

Departure: the weights take their step before the architecture, as in the other methods; the original
takes the architecture's first. Both draw fresh batches, so the two differ by half a round.

Departure: batches have up to 96 images, and each image comes once per epoch, as for all methods here;
the original has batches of 64, and draws those of the validation half independently.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import nn

from xnas.methods.game import Game
from xnas.methods.logits import Logits
from xnas.methods.recipe import Recipe
from xnas.methods.registered import METHODS


class Darts(Logits):
    """Mixtures as the softmax of logits that Adam learns."""

    def __init__(self, mixtures: Mapping[str, nn.Parameter], game: Game) -> None:
        super().__init__("darts", mixtures, game)


METHODS.add(
    "darts",
    Darts,
    recipe=Recipe(include_none=True),
    summary="logits behind a softmax, learned by Adam (first order)",
    paper="Liu et al., 2019, arXiv:1806.09055",
    costs="W + M",
)
