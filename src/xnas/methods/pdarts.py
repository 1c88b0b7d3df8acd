"""P-DARTS: three searches in ever deeper networks with ever fewer operations (Chen et al., 2019).

Each stage is first-order DARTS with a fresh supernet and fresh logits: 5, 11 and 17 cells, with 8, 5
and 3 operations left on each edge. The logits rest in the first 10 of a stage's 25 epochs, learn at
6e-4, and their gradients are clipped to 5. Skip connections are dropped with p0 = 0, 0.4 and 0.7 in the
three stages: p0 (E - e - 1)/E while the logits rest, then p0 exp(-0.2 (e - 10)).

At the end the weakest skip connection of the normal cell is set to 0, and the cell is chosen again,
while it has more than 2.

Departure: identities are dropped whole, for each edge, cell and step, and in the weight step alone. The
original drops single numbers of the feature map of every skip connection, in both steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.methods.game import Game
from xnas.methods.logits import Logits
from xnas.methods.passes import Passes
from xnas.methods.paths import NONE, rows_of_nodes
from xnas.methods.protocol import Step
from xnas.methods.recipe import Stage
from xnas.methods.recipes import DARTS
from xnas.methods.registered import METHODS

SKIP, NORMAL = "skip_connect", "normal"
EPOCHS, REST = 25, 10
DROPOUTS = (0.0, 0.4, 0.7)
"""p0 of the stages, as in the paper; the authors' README has 0.1 in the first."""
LEARNING_RATE = 6e-4
GRADIENT_CLIP = 5.0
MOST_SKIPS = 2


def resting(epoch: int, epochs: int) -> bool:
    """Whether the logits rest in an epoch of a stage, 10 of 25."""
    return epoch * EPOCHS < REST * epochs


def dropout(first: float, epoch: int, epochs: int) -> float:
    """The probability of dropping an identity in an epoch of a stage that begins with `first`."""
    if resting(epoch, epochs):
        return first * (epochs - epoch - 1) / epochs
    return first * math.exp(-0.2 * (epoch * EPOCHS / epochs - REST))


class Progressive(Logits):
    """DARTS's logits in one stage, with dropped identities and few skip connections at the end."""

    def learns(self, epoch: int, round_in_epoch: int) -> bool:  # noqa: ARG002 - all rounds alike
        """Whether the rest of the stage is over."""
        return not resting(epoch, self.game.epochs)

    @torch.no_grad()
    def weights(self, step: Step, passes: Passes) -> dict[str, Tensor] | None:
        """The mixtures with identities dropped in each cell, (replications, forecasters, experts)."""
        if step == "rewards" or not self.game.identities:
            return None
        weights = {}
        for kind, mixture in self.mixtures.items():
            shape = (self.game.replications[kind], len(mixture), 1)
            keep = 1 - self.level
            drawn = torch.rand(shape, dtype=mixture.dtype, device=mixture.device, generator=passes.draw)
            factors = torch.where(drawn < keep, 1 / keep, 0.0)
            weights[kind] = torch.where(self.game.identities[kind], factors * mixture, mixture)
        return weights

    def strengths(self, mixture: Tensor) -> Tensor:
        """The mixture without `none`, and in the last stage with few enough skip connections."""
        strengths = super().strengths(mixture)
        last = self.game.stage == max(0, len(self.game.stages) - 1)
        if last and self.kind_of(mixture) == NORMAL:
            return few_skips(strengths, self.game)
        return strengths


def few_skips(strengths: Tensor, game: Game, most: int = MOST_SKIPS) -> Tensor:
    """Strengths (forecasters, experts) that choose a cell with at most so many skip connections."""
    names, strengths = game.operations, strengths.clone()
    if SKIP not in names or game.kept_edges is None:
        return strengths
    skip = names.index(SKIP)
    if NONE in names:
        strengths[:, names.index(NONE)] = 0
    while True:
        skips = [row for row in _chosen_rows(strengths, game) if int(strengths[row].argmax()) == skip]
        if len(skips) <= most:
            return strengths
        weakest = min(skips, key=lambda row: float(strengths[row, skip]))
        strengths[weakest, skip] = 0


def _chosen_rows(strengths: Tensor, game: Game) -> list[int]:
    best = strengths.amax(-1).tolist()
    kept: list[int] = []
    for rows in rows_of_nodes(game):
        kept += sorted(rows, key=lambda row: -best[row])[: game.kept_edges]
    return kept


def pdarts(mixtures: Mapping[str, nn.Parameter], game: Game) -> Progressive:
    """One stage of P-DARTS."""
    first = DROPOUTS[min(game.stage, len(DROPOUTS) - 1)]
    return Progressive(
        "pdarts",
        mixtures,
        game,
        schedule=lambda epoch: dropout(first, epoch, game.epochs),
        learning_rate=LEARNING_RATE,
        gradient_clip=GRADIENT_CLIP,
    )


def stages(space: str) -> Sequence[Stage]:
    """5, 11 and 17 cells, with all, 5 and 3 operations on each edge."""
    if space == "nasbench201":
        raise ConfigError(
            "pdarts deepens the network from stage to stage, and that of nasbench201 has one depth; "
            "use --space darts"
        )
    return (
        Stage(epochs=EPOCHS, cells=5),
        Stage(epochs=EPOCHS, cells=11, experts=5),
        Stage(epochs=EPOCHS, cells=17, experts=3),
    )


METHODS.add(
    "pdarts",
    pdarts,
    recipe=replace(DARTS, epochs=3 * EPOCHS, batch_size=96, final_weights_lr=0.0),
    stages=stages,
    summary="DARTS in three stages: ever deeper networks, ever fewer operations",
    paper="Chen et al., 2019, arXiv:1904.12760",
    costs="W + M",
)
