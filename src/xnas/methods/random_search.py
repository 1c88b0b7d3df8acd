"""Random search with weight sharing: no learning at all (Li and Talwalkar, 2019).

Each batch trains one cell that is drawn uniformly: different sources for each node, any operation. At
the end, n times, 1000 drawn cells are measured on 10 validation batches each, the best 10 on the whole
half, and the best of those is the result, with n = max(1, batches / 10,000). It is the control without
which no rival can claim to have learned something.

Experts that were not drawn get the gradient 0, and SGD still applies its decay and momentum to them.

Departure: cells are measured with batch statistics, all on the same batches. The original takes running
statistics, which others found much worse. Departure: a short search measures fewer cells, so that this
takes no more batches than the training did. Departure: the cells that are measured have no `none`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor, nn

from xnas.methods.chosen_paths import Path, PathChooser, best_of
from xnas.methods.game import Game
from xnas.methods.passes import Looks, Passes
from xnas.methods.paths import uniform_path, without_none
from xnas.methods.protocol import Step
from xnas.methods.recipes import DARTS
from xnas.methods.registered import METHODS

CELLS, BATCHES, FINALISTS = 1000, 10, 10
BATCHES_PER_TRIAL = 10_000


class RandomSearch(PathChooser):
    """Cells drawn uniformly; the best of many at the end."""

    @torch.no_grad()
    def weights(self, step: Step, passes: Passes) -> dict[str, Tensor]:  # noqa: ARG002 - in both
        """A cell drawn uniformly, by kind (forecasters, experts)."""
        return {
            kind: uniform_path(self.masks[kind], self.game, passes.draw, m.detach())
            for kind, m in self.mixtures.items()
        }

    def learns(self, epoch: int, round_in_epoch: int) -> bool:  # noqa: ARG002 - the protocol's
        """Never."""
        return False

    def step(self) -> None:
        """Learn nothing."""

    def close_epoch(self, looks: Looks) -> None:
        """After the last epoch, measure cells and keep the best."""
        if not self.last_epoch:
            return
        winners: list[Path] = []
        for _ in range(trials(self.game.updates)):
            drawn = [self._drawn(looks) for _ in range(cells_measured(self.game.updates))]
            finalists = best_of(drawn, looks, BATCHES, FINALISTS)
            winners += best_of(finalists, looks, None)
        self.choose(winners[0] if len(winners) == 1 else best_of(winners, looks, None)[0])

    def _drawn(self, looks: Looks) -> Path:
        return {
            kind: uniform_path(
                without_none(self.masks[kind], self.game.operations), self.game, looks.draw, m.detach()
            )
            for kind, m in self.mixtures.items()
        }


def trials(batches: int) -> int:
    """How often cells are drawn and measured after a training of so many batches."""
    return max(1, batches // BATCHES_PER_TRIAL)


def cells_measured(batches: int) -> int:
    """Cells of a trial: 1000, or fewer after a short training, but at least as many as finalists."""
    return max(FINALISTS, min(CELLS, batches // BATCHES))


def random_search(mixtures: Mapping[str, nn.Parameter], game: Game) -> RandomSearch:
    """Random search with weight sharing."""
    return RandomSearch("random", mixtures, game)


METHODS.add(
    "random",
    random_search,
    recipe=replace(DARTS, epochs=150),
    summary="trains cells drawn uniformly, and takes the best of many: no learning",
    paper="Li and Talwalkar, 2019, arXiv:1902.07638",
    costs="W, then F",
    measures=True,
)
