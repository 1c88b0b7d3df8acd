"""DARTS, first order: logits behind a softmax, learned by Adam (Liu, Simonyan and Yang, 2019).

Its own protocol: Adam at 3e-4 with betas (0.5, 0.999) and weight decay 1e-3, logits that start at noise
of 1e-3, no wipeout.

Departure: the weights take their step before the architecture, as in the other methods; the original
takes the architecture's first. Both draw fresh batches, so the two differ by half a round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError, RoundError
from xnas.methods.game import Game
from xnas.methods.recipe import Recipe
from xnas.methods.registered import METHODS
from xnas.theory import softmax_gd_rewards

NOISE = 1e-3
LEARNING_RATE = 3e-4
BETAS = (0.5, 0.999)
WEIGHT_DECAY = 1e-3
AVERAGES = ("exp_avg", "exp_avg_sq")  # as Adam calls them


class Darts:
    """Mixtures as the softmax of logits that Adam learns."""

    def __init__(self, mixtures: Mapping[str, nn.Parameter], game: Game) -> None:
        if game.accounting != "update":
            raise ConfigError(
                f"the method darts has one step per update, not accounting {game.accounting!r}; "
                "leave accounting at update"
            )
        noise = torch.Generator().manual_seed(game.seed)
        self.mixtures = list(mixtures.values())
        self.logits = [
            nn.Parameter(NOISE * torch.randn(m.shape, generator=noise).to(m)) for m in self.mixtures
        ]
        self.adam = torch.optim.Adam(
            self.logits,
            lr=LEARNING_RATE,
            betas=BETAS,
            weight_decay=WEIGHT_DECAY,
            capturable=self.logits[0].is_cuda,  # its count of steps is also on the device
        )
        self._write_mixtures()

    @torch.no_grad()
    def step(self) -> None:
        """Descend the logits: ∂ℓ/∂α_i = u_i (∂ℓ/∂u_i - Σ_j u_j ∂ℓ/∂u_j) (eq. 37)."""
        for mixture, logits in zip(self.mixtures, self.logits, strict=True):
            if mixture.grad is None:
                logits.grad = None
                continue
            logits.grad = -softmax_gd_rewards(mixture.detach(), -mixture.grad)
        self.adam.step()
        self._write_mixtures()

    def observe(self, mixture: Tensor, rewards: Tensor) -> None:
        """Refuse: Adam steps all logits at once, and rounds that share a mixture mean nothing to it."""
        raise ConfigError(
            f"the method darts cannot observe one mixture alone, got {len(rewards)} round(s) for one of "
            f"shape {tuple(mixture.shape)}; set the gradient of every mixture and call step()"
        )

    def alive(self, mixture: Tensor) -> Tensor:
        """Everybody, always."""
        return torch.ones_like(mixture, dtype=torch.bool)

    def strengths(self, mixture: Tensor) -> Tensor:
        """The mixture itself."""
        return mixture.detach().double()

    def comparable_sums(self, mixture: Tensor) -> Tensor:
        """The logits, which rank experts as sums of rewards do."""
        index = next(i for i, m in enumerate(self.mixtures) if m is mixture)
        return self.logits[index].detach().double()

    def check(self) -> None:
        """Raise if a step left numbers that are not finite."""
        for number, logits in enumerate(self.logits):
            if not logits.isfinite().all():
                raise RoundError(
                    f"the logits of mixture {number} are not finite; lower the learning rate of the "
                    "weights, or look for a division by zero in the loss"
                )

    def state_dict(self) -> dict[str, Any]:
        """Logits and Adam's averages."""
        return {"logits": [a.detach() for a in self.logits], "adam": self.adam.state_dict()}

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        (own,), (group,) = self.adam.param_groups, state_dict["adam"]["param_groups"]
        groups = [{**own, "params": group["params"]}]  # of this device, not of the one it was saved on
        self.adam.load_state_dict(state_dict["adam"] | {"param_groups": groups})
        for logits, saved in zip(self.logits, state_dict["logits"], strict=True):
            kept = self.adam.state.get(logits)
            shapes = {saved.shape, *(kept[name].shape for name in AVERAGES if kept)}
            if shapes != {logits.shape} or (kept and kept["step"].dim() > 0):
                raise ConfigError(
                    f"logits or averages were saved for another mixture than {tuple(logits.shape)}; "
                    "load them into a search of the same space"
                )
            logits.copy_(saved)
        self._write_mixtures()

    @torch.no_grad()
    def _write_mixtures(self) -> None:
        for mixture, logits in zip(self.mixtures, self.logits, strict=True):
            mixture.copy_(logits.softmax(-1))


METHODS.add(
    "darts",
    Darts,
    recipe=Recipe(include_none=True),
    summary="logits behind a softmax, learned by Adam (first order)",
    paper="Liu, Simonyan and Yang, 2019, arXiv:1806.09055",
    costs="W + M",
)
