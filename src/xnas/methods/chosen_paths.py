"""Methods that end with one whole cell, the best of several that were measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from xnas.methods.game import Game
from xnas.methods.learner import Learner, take_over, whole_state
from xnas.methods.passes import Looks
from xnas.methods.paths import belief_of

Path = dict[str, Tensor]
"""Weights of 0 and 1 by kind of cell, (forecasters, experts)."""


class PathChooser(Learner):
    """Mixtures that stay a belief until the last epoch, when a measured cell takes their place."""

    def __init__(self, name: str, mixtures: Mapping[str, nn.Parameter], game: Game) -> None:
        super().__init__(name, mixtures, game)
        self.last_epoch = False
        self.chosen = {kind: torch.zeros_like(m.detach()) for kind, m in mixtures.items()}
        """The cell, or zeros while there is none."""
        self.write_beliefs()

    def begin_epoch(self, epoch: int) -> None:
        """Note whether this epoch is the last."""
        super().begin_epoch(epoch)
        self.last_epoch = epoch == self.game.epochs - 1

    @torch.no_grad()
    def choose(self, path: Mapping[str, Tensor]) -> None:
        """Make this cell the result."""
        for kind, mixture in self.mixtures.items():
            self.chosen[kind].copy_(path[kind])
            mixture.copy_(belief_of(path[kind], self.masks[kind]))

    def strengths(self, mixture: Tensor) -> Tensor:
        """1 for the experts of the chosen cell; before there is one, the belief."""
        chosen = self.chosen[self.kind_of(mixture)]
        return torch.where(chosen.sum() > 0, chosen, mixture.detach()).double()

    comparable_sums = strengths

    def check(self) -> None:
        """Raise if a step left numbers that are not finite."""
        self.require_finite("weights", self.mixtures)

    def state_dict(self) -> dict[str, Any]:
        """Beliefs, and the cell if there is one."""
        return {"mixtures": whole_state(self.mixtures), "chosen": whole_state(self.chosen)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume where `state_dict` was taken."""
        take_over(self.mixtures, state_dict["mixtures"], "mixtures")
        take_over(self.chosen, state_dict["chosen"], "cells")


def best_of(paths: Iterable[Path], looks: Looks, batches: int | None, most: int = 1) -> list[Path]:
    """The cells with the highest accuracy on the same batches, best first; of equals the first."""
    measured = [(looks.accuracy(path, batches), path) for path in paths]
    return [path for _, path in sorted(measured, key=lambda found: -found[0])[:most]]
