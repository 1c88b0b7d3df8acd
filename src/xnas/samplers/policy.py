"""Policies: distributions over the choices of an encoding, and the losses that improve them.

A policy gives one softmax per position. The probability of an architecture is the product over its
positions, so that its logarithm is a sum (Zoph et al., 2018, appendix A). `RecurrentPolicy` lets each
choice depend on all choices before it, `LogitsPolicy` keeps the positions independent.

Shapes: a batch of architectures is (batch, positions), whole numbers below the cardinalities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from xnas.samplers.seeded import seeded

HIDDEN = 100
INITIAL_RANGE = 0.1
INITIAL_NOISE = 1e-3

State = tuple[Tensor, Tensor] | None


class Policy(Protocol):
    """One softmax per position, asked from the first position to the last."""

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """How many choices each position has."""

    def logits(self, position: int, previous: Tensor, state: State) -> tuple[Tensor, State]:
        """Logits (batch, choices) of a position, given the choice (batch,) made just before it."""


class LogitsPolicy(nn.Module):
    """One row of logits per position, in float64, starting at noise of 1e-3."""

    def __init__(self, cardinalities: Sequence[int], generator: torch.Generator) -> None:
        super().__init__()
        self.cardinalities = tuple(cardinalities)
        self.rows = nn.ParameterList(
            INITIAL_NOISE * torch.randn(choices, generator=generator, dtype=torch.float64)
            for choices in self.cardinalities
        )

    def logits(self, position: int, previous: Tensor, state: State) -> tuple[Tensor, State]:
        """The row of the position for the whole batch: shapes (batch,) -> (batch, choices)."""
        return self.rows[position].expand(len(previous), -1), state


class RecurrentPolicy(nn.Module):
    """One LSTM layer: the embedding of each decision is the next input.

    `recurrent_policy` makes one with the weights that it starts from.
    """

    def __init__(self, cardinalities: Sequence[int], *, hidden: int = HIDDEN) -> None:
        super().__init__()
        self.cardinalities = tuple(cardinalities)
        self.first_input = nn.Parameter(torch.empty(hidden))
        self.decisions = nn.ModuleList(nn.Embedding(n, hidden) for n in self.cardinalities)
        self.lstm = nn.LSTMCell(hidden, hidden)
        self.heads = nn.ModuleList(nn.Linear(hidden, n) for n in self.cardinalities)

    def logits(self, position: int, previous: Tensor, state: State) -> tuple[Tensor, State]:
        """One step of the LSTM: shapes (batch,) -> (batch, choices)."""
        if position == 0:
            value = self.first_input.expand(len(previous), -1)
        else:
            value = self.decisions[position - 1](previous)
        state = self.lstm(value, state)
        return self.heads[position](state[0]), state


def recurrent_policy(
    cardinalities: Sequence[int], generator: torch.Generator, *, hidden: int = HIDDEN
) -> RecurrentPolicy:
    """A policy with weights drawn uniformly from ±0.1, in float64."""
    return seeded(lambda: RecurrentPolicy(cardinalities, hidden=hidden), generator, bound=INITIAL_RANGE)


@dataclass(frozen=True, slots=True)
class Judged:
    """Architectures with what a policy thinks of them."""

    choices: Tensor
    """(batch, positions)"""
    log_probability: Tensor
    """(batch,), the sum over positions."""
    entropy: Tensor
    """(batch,), the sum over positions of the softmaxes that were met."""


def draw(policy: Policy, generator: torch.Generator, *, batch: int = 1) -> Judged:
    """Architectures drawn from the policy, with their log-probabilities; no gradients."""

    def choose(position: int, logs: Tensor) -> Tensor:  # noqa: ARG001 - as `_unroll` calls it
        return logs.exp().multinomial(1, generator=generator).squeeze(1)

    with torch.no_grad():
        return _unroll(policy, batch, choose)


def judge(policy: Policy, choices: Tensor) -> Judged:
    """What the policy thinks of given architectures, shapes (batch, positions); for gradients."""
    return _unroll(policy, len(choices), lambda position, _: choices[:, position])


def _unroll(policy: Policy, batch: int, choose: Callable[[int, Tensor], Tensor]) -> Judged:
    """Go through the positions; `choose` gets the log-probabilities (batch, choices) of each."""
    state: State = None
    choice = torch.zeros(batch, dtype=torch.long)
    chosen, total, entropy = [], torch.zeros(batch).double(), torch.zeros(batch).double()
    for position in range(len(policy.cardinalities)):
        logits, state = policy.logits(position, choice, state)
        logs = logits.log_softmax(-1)
        choice = choose(position, logs)
        chosen.append(choice)
        total = total + logs.gather(1, choice[:, None]).squeeze(1)
        entropy = entropy - (logs.exp() * logs).sum(1)
    return Judged(torch.stack(chosen, 1), total, entropy)


def ppo_loss(
    log_probability: Tensor,
    asked_log_probability: Tensor,
    advantage: Tensor,
    entropy: Tensor,
    *,
    clip: float,
    entropy_weight: float,
) -> Tensor:
    """Clipped surrogate loss of PPO with an entropy bonus (Schulman et al., 2017, eq. 7 and 9).

    The ratio r compares the policy with that from which an architecture was asked. Shapes: (batch,).
    """
    ratio = (log_probability - asked_log_probability).exp()
    clipped = ratio.clamp(1 - clip, 1 + clip)
    gain = torch.minimum(ratio * advantage, clipped * advantage)
    return -gain.mean() - entropy_weight * entropy.mean()


def reinforce_loss(log_probability: Tensor, advantage: Tensor) -> Tensor:
    """Loss of REINFORCE (Williams, 1992), -log π(a) · A on average. Shapes: (batch,)."""
    return -(log_probability * advantage).mean()


class MovingAverage:
    """A baseline b that starts at the first reward: b <- m b + (1 - m) R."""

    def __init__(self, momentum: float) -> None:
        self.momentum = momentum
        self.value: float | None = None

    def advantage(self, reward: float) -> float:
        """Reward minus the baseline of the rewards before it; 0 at first. Then the baseline moves."""
        before = reward if self.value is None else self.value
        self.value = self.momentum * before + (1 - self.momentum) * reward
        return reward - before


class CorrectedAverage:
    """A moving average from 0 whose bias is divided out, and which counts the present reward.

    >>> baseline = CorrectedAverage(0.9)
    >>> [round(reward - baseline.advantage(reward), 3) for reward in (80.0, 90.0)]
    [80.0, 85.263]
    """

    def __init__(self, momentum: float) -> None:
        self.momentum = momentum
        self.total = 0.0
        self.weight = 0.0

    def advantage(self, reward: float) -> float:
        """Reward minus the average of all rewards so far, this one included."""
        self.total = self.momentum * self.total + (1 - self.momentum) * reward
        self.weight = self.momentum * self.weight + (1 - self.momentum)
        return reward - self.total / self.weight
