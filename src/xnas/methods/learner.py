"""What all methods but XNAS share: mixtures by kind, masks of the living, a number for each epoch.

A rival plays one step per update. Between rounds each mixture holds its *belief*, a point of the
simplex. Samples and weights that do not sum to 1 exist only in what `weights` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError, RoundError
from xnas.methods.game import Game

Schedule = Callable[[int], float]
"""Epoch from 0 -> the method's number in it: a temperature, a strength or a radius."""


class Learner:
    """The part of a method that does not depend on how it learns. A subclass has `step`."""

    def __init__(
        self,
        name: str,
        mixtures: Mapping[str, nn.Parameter],
        game: Game,
        schedule: Schedule | None = None,
    ) -> None:
        if game.accounting != "update":
            raise ConfigError(
                f"the method {name} has one step per update, not accounting {game.accounting!r}; "
                "leave accounting at update"
            )
        self.name, self.game, self.mixtures = name, game, dict(mixtures)
        self.masks = {
            kind: game.alive.get(kind, torch.ones_like(m)).to(m.device, torch.bool).clone()
            for kind, m in mixtures.items()
        }
        """The living experts of each kind, (forecasters, experts)."""
        first = next(iter(mixtures.values()))
        self.level = torch.zeros((), dtype=first.dtype, device=first.device)
        """What the schedule gives for the present epoch. A tensor, which captured steps read anew."""
        self.schedule = schedule
        Learner.begin_epoch(self, 0)

    def begin_epoch(self, epoch: int) -> None:
        """Write the number of this epoch where steps read it; it depends on nothing else."""
        if self.schedule is not None:
            self.level.fill_(self.schedule(epoch))

    def observe(self, mixture: Tensor, rewards: Tensor) -> None:
        """Refuse: a rival steps all mixtures together, once per update."""
        raise ConfigError(
            f"the method {self.name} cannot observe one mixture alone, got {len(rewards)} round(s) for "
            f"one of shape {tuple(mixture.shape)}; set the gradient of every mixture and call step()"
        )

    def alive(self, mixture: Tensor) -> Tensor:
        """Mask (forecasters, experts) of the experts that are left."""
        return self.masks[self.kind_of(mixture)].clone()

    @torch.no_grad()
    def wipe(self, mixture: Tensor, experts: Tensor) -> None:
        """Take out the experts of a mask (forecasters, experts), for good."""
        self.masks[self.kind_of(mixture)].logical_and_(~experts)
        self.write_beliefs()

    @torch.no_grad()
    def write_beliefs(self) -> None:
        """Bring every mixture to what it stands for: here the shares of the living experts."""
        for kind, mixture in self.mixtures.items():
            mixture.copy_(living(mixture, self.masks[kind]))

    def kind_of(self, mixture: Tensor) -> str:
        """The kind of cell that a mixture (forecasters, experts) belongs to."""
        return next(kind for kind, m in self.mixtures.items() if m is mixture)

    def require_finite(self, what: str, tensors: Mapping[str, Tensor]) -> None:
        """Raise if a step left numbers that are not finite."""
        for number, values in enumerate(tensors.values()):
            if not values.isfinite().all():
                raise RoundError(
                    f"the {what} of mixture {number} are not finite; lower the learning rate of the "
                    "weights, or look for a division by zero in the loss"
                )


def every(count: int, game: Game, epoch: int, round_in_epoch: int) -> bool:
    """Whether a round is the last of so many; epochs that are shorter are counted through."""
    return (epoch * game.rounds_per_epoch + round_in_epoch + 1) % count == 0


def whole_state(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors by kind as a state: detached, and still the live ones."""
    return {kind: values.detach() for kind, values in tensors.items()}


@torch.no_grad()
def take_over(own: Mapping[str, Tensor], saved: Any, what: str) -> None:  # noqa: ANN401 - any state
    """Copy saved tensors into `own`; raises if they are of another search."""
    for kind, values in own.items():
        found = saved[kind]
        if not isinstance(found, Tensor) or found.shape != values.shape:
            raise ConfigError(
                f"{what} were saved for another mixture than {tuple(values.shape)}; load them into a "
                "search of the same space"
            )
        values.copy_(found)


def living(values: Tensor, alive: Tensor) -> Tensor:
    """Values (forecasters, experts) of the living divided by their sum; uniform where all are 0."""
    kept = values * alive
    total = kept.sum(-1, keepdim=True)
    uniform = alive / alive.sum(-1, keepdim=True)
    return torch.where(total > 0, kept / torch.where(total > 0, total, 1.0), uniform.to(values))
