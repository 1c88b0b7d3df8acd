"""Algorithm 1 for rewards that are already known: the paper's loop, with its lemmas and its bound.

A search reveals rewards round by round; here they are given, so what the lemmas speak of (the best
expert in hindsight, counterfactual rewards of wiped experts) can be looked up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from reprlib import repr as brief

import torch
from torch import Tensor

from xnas.errors import ConfigError
from xnas.theory.mixture import mixture_of
from xnas.theory.regret import linearized_regret, log_wipeout_factor, regret_bound
from xnas.theory.updates import clip_rewards, eg_update
from xnas.theory.wipeout import surviving_experts


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Replay:
    """The rounds of a replayed game. Leading dimensions are those of the rewards."""

    mixture: Tensor
    """(..., rounds, experts): the u that each round predicted with."""
    alive: Tensor
    """(..., rounds + 1, experts): I_0 to I_T as masks."""
    wiped_at: Tensor
    """(..., experts): the round, from 1, in which an expert was wiped out; 0 for never."""
    cumulative_rewards: Tensor
    """(..., experts): each expert's sum of clipped rewards, frozen when it is wiped."""
    wipeout_factors: Tensor
    """(..., rounds): Γ_1 to Γ_T."""
    aggregated_wipeout_factor: Tensor
    """(...): γ_T, their product."""
    regret: Tensor
    """(...): linearised, against the best expert of the full clipped array."""
    regret_bound: Tensor
    """(...): Theorem 1 for the rounds played, with the γ term."""


def replay(
    rewards: Tensor | Sequence[object],
    *,
    learning_rate: float,
    reward_bound: float = 1.0,
    horizon: int | None = None,
    relaxation: float = 1.0,
) -> Replay:
    """Play Algorithm 1 over `rewards` (..., rounds, experts), clipped to the bound first.

    `horizon` defaults to the number of rounds given; a longer one replays the start of a longer game.
    Leading dimensions are independent forecasters.

    >>> rewards = torch.tensor([[1.0, -1.0], [1.0, -1.0], [0.0, 0.0]])  # 3 rounds, 2 experts
    >>> played = replay(rewards, learning_rate=0.5)
    >>> played.mixture[0]
    tensor([0.5000, 0.5000], dtype=torch.float64)
    >>> played.wiped_at  # after round 2 one round is left, which cannot make up for a gap of 4
    tensor([0, 2])
    >>> bool(played.regret <= played.regret_bound)
    True
    """
    given = _as_numbers(rewards)
    rounds, experts = require_rewards(given)
    horizon = rounds if horizon is None else horizon
    require_settings(learning_rate, reward_bound, relaxation)
    if not isinstance(horizon, int):
        raise ConfigError(f"horizon must be a whole number of rounds, got {horizon!r}")
    if horizon < rounds:
        raise ConfigError(
            f"horizon is {horizon}, but {rounds} rounds of rewards were given; "
            "give fewer rounds or a horizon at least as long"
        )
    clipped = clip_rewards(given, reward_bound=reward_bound)

    mixture = torch.empty_like(clipped)
    alive = clipped.new_ones((*clipped.shape[:-2], rounds + 1, experts), dtype=torch.bool)
    log_factors = clipped.new_empty(clipped.shape[:-1])
    sums = clipped.new_zeros((*clipped.shape[:-2], experts))
    wiped_at = torch.zeros_like(sums, dtype=torch.int64)
    living = alive[..., 0, :]
    for t in range(1, rounds + 1):
        mixture[..., t - 1, :] = mixture_of(sums, living, learning_rate=learning_rate)  # line 5
        sums = eg_update(sums, living, clipped[..., t - 1, :])  # lines 7-9
        survivors = surviving_experts(  # lines 11-12
            sums, living, reward_bound=reward_bound, rounds_left=horizon - t, relaxation=relaxation
        )
        log_factors[..., t - 1] = log_wipeout_factor(
            sums, living, survivors, learning_rate=learning_rate
        )
        wiped_at = torch.where(living & ~survivors, t, wiped_at)
        alive[..., t, :] = living = survivors

    log_gamma = log_factors.sum(-1)
    return Replay(
        mixture=mixture,
        alive=alive,
        wiped_at=wiped_at,
        cumulative_rewards=sums,
        wipeout_factors=log_factors.exp(),
        aggregated_wipeout_factor=log_gamma.exp(),
        regret=linearized_regret(mixture, clipped),
        regret_bound=regret_bound(
            experts,
            rounds,
            learning_rate=learning_rate,
            reward_bound=reward_bound,
            log_wipeout_factor=log_gamma,
        ),
    )


def _as_numbers(rewards: Tensor | Sequence[object]) -> Tensor:
    try:
        return torch.as_tensor(rewards, dtype=torch.float64).detach()
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(
            f"rewards must be numbers (..., rounds, experts), with as many experts in every round, got "
            f"{brief(rewards)}"
        ) from error


def require_rewards(rewards: Tensor) -> tuple[int, int]:
    """Rounds and experts of a reward array (..., rounds, experts), or a clear error."""
    if rewards.dim() < 2 or rewards.shape[-1] < 1:
        raise ConfigError(
            f"rewards must be (..., rounds, experts) with at least one expert, got shape "
            f"{tuple(rewards.shape)}"
        )
    if not rewards.isfinite().all():
        bad = rewards[~rewards.isfinite()][0].item()
        raise ConfigError(f"rewards must be finite, got {bad}; drop or repair that round")
    return rewards.shape[-2], rewards.shape[-1]


def require_settings(learning_rate: float, reward_bound: float, relaxation: float) -> None:
    """Raise unless η > 0, L > 0 and 0 < ζ <= 1, all of them numbers."""
    given: dict[str, object] = {
        "learning_rate": learning_rate,
        "reward_bound": reward_bound,
        "relaxation": relaxation,
    }
    for name, value in given.items():
        if not isinstance(value, Real | Tensor):
            raise ConfigError(f"{name} must be a number such as 0.1, got {brief(value)}")
    for name, value in (("learning_rate", learning_rate), ("reward_bound", reward_bound)):
        if not (math.isfinite(value) and value > 0):
            raise ConfigError(f"{name} must be positive and finite, got {value}")
    if not math.isfinite(learning_rate * reward_bound * 1e9):
        raise ConfigError(
            f"learning_rate {learning_rate:g} overflows with reward_bound {reward_bound:g}"
        )
    if not 0 < relaxation <= 1:
        raise ConfigError(
            f"relaxation must lie in (0, 1], got {relaxation}; 1 is the paper's safe wipeout"
        )
