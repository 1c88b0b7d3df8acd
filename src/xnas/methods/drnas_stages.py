"""DrNAS's progressive form: partial channels that grow, and operations that are dropped between stages.

On the DARTS space 20 cells of 36 channels are searched in two stages of 25 epochs: 1/6 of the channels
and 7 operations, then 1/4 and 4, and logits learn at 6e-4. On NAS-Bench-201 it is 1/4 and 5 operations,
then 1/2 and 3, in two stages of 50 epochs. The logits rest in the first 10 epochs of each stage. They
live on from stage to stage, without the operations that were dropped.

Departure: the second stage begins with fresh weights and a schedule of its own. The original widens the
weights by copying random channels and has one schedule over both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from torch import nn

from xnas.methods.drnas import PAPER, Dirichlet
from xnas.methods.game import Game
from xnas.methods.logits import LEARNING_RATE, PrunedLogits, WeighedLogits
from xnas.methods.recipe import Stage
from xnas.methods.recipes import BENCHMARK, DARTS, by_space
from xnas.methods.registered import METHODS

EPOCHS, BENCHMARK_EPOCHS, REST = 25, 50, 10
"""Of a stage, on the DARTS space and on NAS-Bench-201, and of its beginning in which logits rest."""
FASTER = 6e-4
"""Adam's rate on the DARTS space."""


class Resting(WeighedLogits, PrunedLogits):
    """Dirichlet samples whose concentration rests at the start of every stage."""

    def learns(self, epoch: int, round_in_epoch: int) -> bool:  # noqa: ARG002 - all rounds alike
        """Whether the rest of the stage is over; epochs of a warm-up count as rest."""
        stages = self.game.stages or (self.game.epochs,)
        epoch += sum(stages) - self.game.epochs  # as the search counts
        ends = list(accumulate(stages))
        length, end = next(both for both in zip(stages, ends, strict=True) if epoch < both[1])
        published = BENCHMARK_EPOCHS if self.game.kept_edges is None else EPOCHS
        return (epoch - (end - length)) * published >= REST * length


def drnas_progressive(mixtures: Mapping[str, nn.Parameter], game: Game) -> Resting:
    """Progressive DrNAS, all of its stages."""
    return Resting(
        "drnas-progressive",
        mixtures,
        game,
        relaxation=Dirichlet(),
        learning_rate=LEARNING_RATE if game.kept_edges is None else FASTER,
    )


def stages(space: str) -> Sequence[Stage]:
    """Two stages, by space."""
    if space == "nasbench201":
        return (
            Stage(epochs=BENCHMARK_EPOCHS, partial_channels=4),
            Stage(epochs=BENCHMARK_EPOCHS, partial_channels=2, experts=3, fresh_method=False),
        )
    return (
        Stage(epochs=EPOCHS, partial_channels=6),
        Stage(epochs=EPOCHS, partial_channels=4, experts=4, fresh_method=False),
    )


METHODS.add(
    "drnas-progressive",
    drnas_progressive,
    recipe=by_space(
        replace(
            DARTS,
            weights_lr=0.1,
            final_weights_lr=0.0,
            include_none=False,
            cells=20,
            channels=36,
            partial_channels=6,
        ),
        nasbench201=replace(BENCHMARK, partial_channels=4),
    ),
    stages=stages,
    summary="drnas in two stages: more channels, fewer operations",
    paper=PAPER,
    costs="less than W + M",
)
