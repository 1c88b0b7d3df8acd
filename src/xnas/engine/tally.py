"""What an epoch adds up, on the device: losses, right answers, rewards."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from xnas.engine.restore import take_over


class Tally:
    """Sums since the start of an epoch; read once, at its end."""

    def __init__(
        self, mixtures: Mapping[str, Tensor], replications: Mapping[str, int], device: torch.device
    ) -> None:
        self.train = torch.zeros(3, dtype=torch.float64, device=device)
        self.valid = torch.zeros(3, dtype=torch.float64, device=device)
        self.rewards = {
            kind: torch.zeros(replications[kind], *u.shape, dtype=torch.float64, device=device)
            for kind, u in mixtures.items()
        }
        self.rounds = torch.zeros((), dtype=torch.int64, device=device)

    def clear(self) -> None:
        """Start again from nothing."""
        for total in (self.train, self.valid, self.rounds, *self.rewards.values()):
            total.zero_()

    def add_train(self, loss: Tensor, logits: Tensor, labels: Tensor) -> None:
        """Count one training batch."""
        self.train += _counts(loss, logits, labels)

    def add_valid(self, loss: Tensor, logits: Tensor, labels: Tensor) -> None:
        """Count one validation batch."""
        self.valid += _counts(loss, logits, labels)

    def add_rewards(self, kind: str, rewards: Tensor) -> None:
        """Count the rewards (replications, forecasters, experts) of one round."""
        self.rewards[kind] += rewards
        if kind == next(iter(self.rewards)):
            self.rounds += 1

    def state_dict(self) -> dict[str, Tensor]:
        """The sums, by name."""
        named = {"train": self.train, "valid": self.valid, "rounds": self.rounds}
        return named | {f"rewards.{kind}": value for kind, value in self.rewards.items()}

    def load_state_dict(self, state_dict: Mapping[str, Tensor]) -> None:
        """Go on adding to saved sums."""
        take_over(self.state_dict(), state_dict)


def _counts(loss: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    """Loss x images, right answers and images of one batch."""
    right = (logits.detach().argmax(-1) == labels).sum()
    images = torch.full_like(right, len(labels))
    return torch.stack([loss.detach().double() * len(labels), right.double(), images.double()])
