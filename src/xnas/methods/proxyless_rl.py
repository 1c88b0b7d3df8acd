"""ProxylessNAS by REINFORCE: sampled paths are rewarded with their accuracy (Cai, Zhu and Han, 2019).

In an architecture step 10 paths are drawn by u and seen on one validation batch. With rewards r_a,
their accuracies, and a baseline b that follows b += 0.99 (mean r - b), which is nearly the last mean,

    ∂α = mean over a of (r_a - b)(u - onehot(k_a)).

The logits rest in the first epoch. Experts that were not drawn get the gradient 0 in the weight step,
and SGD still applies its decay and momentum to them.

Departure: there is no latency in the reward. A step of 10 paths comes every 10 rounds, so that a search
has as many as the original where its epochs are as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from xnas.methods.game import Game
from xnas.methods.learner import every, take_over
from xnas.methods.logits import WeighedLogits, masked_softmax
from xnas.methods.passes import Passes
from xnas.methods.proxyless import BETAS, LEARNING_RATE, PAPER, RECIPE, FullGates
from xnas.methods.registered import METHODS

PATHS = 10
FOLLOWING = 0.99


def policy_gradient(belief: Tensor, paths: Tensor, advantages: Tensor) -> Tensor:
    """∂α, (forecasters, experts), from paths (samples, forecasters, experts) and r - b (samples,)."""
    return (advantages[:, None, None] * (belief - paths)).mean(0)


class Reinforced(WeighedLogits):
    """Gates that learn from the accuracy of sampled paths."""

    def __init__(self, name: str, mixtures: Mapping[str, nn.Parameter], game: Game) -> None:
        super().__init__(
            name,
            mixtures,
            game,
            relaxation=FullGates(),
            learning_rate=LEARNING_RATE,
            betas=BETAS,
            weight_decay=0.0,
        )
        self.baseline = torch.zeros_like(self.level)

    def learns(self, epoch: int, round_in_epoch: int) -> bool:
        """Whether the paths of this round are rewarded."""
        return epoch > 0 and every(PATHS, self.game, epoch, round_in_epoch)

    @torch.no_grad()
    def learn(self, passes: Passes) -> None:
        """See the paths on the validation batch, and step."""
        paths = [self.weights("rewards", passes) for _ in range(PATHS)]
        rewards = torch.stack([passes.see("valid", path, by="nothing").accuracy for path in paths])
        rewards = rewards.to(self.baseline)
        self.baseline.add_(FOLLOWING * (rewards.mean() - self.baseline))
        for kind, mixture in self.mixtures.items():
            edges = self.edges(kind)
            drawn = torch.stack([path[kind] for path in paths])
            belief = masked_softmax(edges.logits, edges.alive)
            self.logits_of(kind).grad = policy_gradient(belief, drawn, rewards - self.baseline)
            mixture.grad = None
        self.adam.step()
        self.write_beliefs()

    def state_dict(self) -> dict[str, Any]:
        """Logits, averages and the baseline."""
        return super().state_dict() | {"baseline": {"mean": self.baseline}}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume where `state_dict` was taken."""
        take_over({"mean": self.baseline}, state_dict["baseline"], "baselines")
        super().load_state_dict(state_dict)


def proxyless_rl(mixtures: Mapping[str, nn.Parameter], game: Game) -> Reinforced:
    """Gates that learn by REINFORCE."""
    return Reinforced("proxyless-rl", mixtures, game)


METHODS.add(
    "proxyless-rl",
    proxyless_rl,
    recipe=RECIPE,
    summary="proxyless that learns from the accuracy of sampled paths (REINFORCE)",
    paper=PAPER,
    costs="W + F",
)
