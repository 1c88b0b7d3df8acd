"""ENAS: a controller learns which cells of a shared supernet are accurate (Pham et al., 2018).

Each batch trains one cell that `controller.py` samples. Every 10 rounds it samples 10 cells, sees them
on one validation batch, and with r = accuracy + 1e-4 · entropy and a baseline b ← b - 0.01 (b - r) it
ascends (r - b) ln p. The entropy is a constant there, as in the authors' code. Adam has a rate of
0.0035, betas (0, 0.999) and an eps of 1e-3 that is added to √v without a correction of bias, as
TensorFlow has it.

At the end 100 cells are sampled and the one with the best accuracy, all on the same batches, is the
result. The belief is a slow mean of sampled cells, and stays out of the computation.

Experts that were not drawn get the gradient 0 in the weight step, and SGD still applies its decay and
momentum to them.

Departure: the steps of the controller are spread over the rounds; the original takes 30 after each
epoch, each with 10 cells on 10 batches. Departure: the rate of the weights has no restarts, there is no
drop path, and the space is the package's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from xnas.methods.chosen_paths import Path, PathChooser, best_of
from xnas.methods.controller import Controller
from xnas.methods.game import Game
from xnas.methods.learner import every, take_over, whole_state
from xnas.methods.passes import Looks, Passes
from xnas.methods.protocol import Step
from xnas.methods.recipes import DARTS
from xnas.methods.registered import METHODS

SAMPLES = 10
BONUS = 1e-4
"""Of the entropy in the reward."""
FOLLOWING = 0.01
LEARNING_RATE, DECAY, EPS = 0.0035, 0.999, 1e-3
CANDIDATES, BATCHES = 100, 10
MEAN = 0.01
"""By which the belief follows what is sampled."""


class Enas(PathChooser):
    """Cells sampled by a controller; the best of many at the end."""

    def __init__(self, name: str, mixtures: Mapping[str, nn.Parameter], game: Game) -> None:
        super().__init__(name, mixtures, game)
        first = next(iter(mixtures.values()))
        self.controller = Controller(mixtures, game).to(first)
        self.squares = {n: torch.zeros_like(p) for n, p in self.controller.named_parameters()}
        """Adam's mean of squared gradients."""
        self.baseline, self.steps = torch.zeros_like(self.level), torch.zeros_like(self.level)

    @torch.no_grad()
    def weights(self, step: Step, passes: Passes) -> dict[str, Tensor]:  # noqa: ARG002 - in both
        """A sampled cell, by kind (forecasters, experts)."""
        cells = self.controller.sample(self.masks, passes.draw, 1)
        return {kind: path[0] for kind, path in cells.paths.items()}

    def learns(self, epoch: int, round_in_epoch: int) -> bool:
        """Whether the controller learns in this round."""
        return every(SAMPLES, self.game, epoch, round_in_epoch)

    def step(self) -> None:
        """Learn nothing: a gradient by mixtures says nothing about sampled cells."""

    def learn(self, passes: Passes) -> None:
        """Sample cells, see them on the validation batch and step."""
        with torch.enable_grad():
            cells = self.controller.sample(self.masks, passes.draw, SAMPLES)
            seen = [
                passes.see(
                    "valid", {k: p[i].detach() for k, p in cells.paths.items()}, by="nothing"
                ).accuracy
                for i in range(SAMPLES)
            ]
            advantages = self._advantages(torch.stack(seen), cells.entropy.detach())
            loss = -(advantages * cells.log_probability).mean()
            parameters = dict(self.controller.named_parameters())
            found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
        with torch.no_grad():
            self._descend(dict(zip(parameters, found, strict=True)))
            for kind, mixture in self.mixtures.items():
                drawn = cells.paths[kind].sum(0)
                count = drawn.sum(-1, keepdim=True)
                mean = torch.where(count > 0, drawn / count.clamp(min=1), mixture)
                mixture.lerp_(mean.to(mixture), MEAN)

    def _advantages(self, accuracies: Tensor, entropies: Tensor) -> Tensor:
        """R - b of each cell, the baseline following one cell after another."""
        found = []
        for reward in (accuracies.to(self.baseline) + BONUS * entropies).unbind():
            self.baseline.add_(FOLLOWING * (reward - self.baseline))
            found.append(reward - self.baseline)
        return torch.stack(found)

    def _descend(self, gradients: Mapping[str, Tensor | None]) -> None:
        """One step of Adam as TensorFlow has it."""
        self.steps += 1
        rate = LEARNING_RATE * (1 - DECAY**self.steps).sqrt()
        for name, p in self.controller.named_parameters():
            gradient = gradients[name]
            if gradient is not None:
                self.squares[name].lerp_(gradient**2, 1 - DECAY)
                p.sub_(rate * gradient / (self.squares[name].sqrt() + EPS))

    def close_epoch(self, looks: Looks) -> None:
        """After the last epoch, sample cells and keep the best."""
        if self.last_epoch:
            self.choose(best_of(self._candidates(looks), looks, BATCHES)[0])

    @torch.no_grad()
    def _candidates(self, looks: Looks) -> list[Path]:
        cells = self.controller.sample(self.masks, looks.draw, CANDIDATES)
        return [{k: p[i] for k, p in cells.paths.items()} for i in range(CANDIDATES)]

    def check(self) -> None:
        """Raise if a step left numbers that are not finite."""
        super().check()
        self.require_finite("controller's weights", dict(self.controller.named_parameters()))

    def state_dict(self) -> dict[str, Any]:
        """The controller, its averages, the baseline and the belief."""
        return super().state_dict() | {
            "controller": whole_state(dict(self.controller.named_parameters())),
            "squares": self.squares,
            "numbers": {"baseline": self.baseline, "steps": self.steps},
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume where `state_dict` was taken."""
        own = dict(self.controller.named_parameters())
        take_over(own, state_dict["controller"], "controllers")
        take_over(self.squares, state_dict["squares"], "averages")
        numbers = {"baseline": self.baseline, "steps": self.steps}
        take_over(numbers, state_dict["numbers"], "baselines")
        super().load_state_dict(state_dict)


def enas(mixtures: Mapping[str, nn.Parameter], game: Game) -> Enas:
    """Cells sampled by a controller that learns from their accuracy."""
    return Enas("enas", mixtures, game)


METHODS.add(
    "enas",
    enas,
    recipe=replace(
        DARTS,
        epochs=150,
        batch_size=160,
        weights_lr=0.05,
        final_weights_lr=5e-4,
        nesterov=True,
        weight_decay=1e-4,
        include_none=False,
    ),
    summary="a controller learns which cells of a shared supernet are accurate",
    paper="Pham et al., 2018, arXiv:1802.03268",
    costs="W + F",
    measures=True,
)
