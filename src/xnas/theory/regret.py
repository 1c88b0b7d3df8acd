"""Regret, its bound, and the wipeout factors that tighten the bound (eqs. 2-4, Lemma 2, Theorem 1).

Regret is what the forecaster lost by not following the best expert from the start. Theorem 1 bounds it
for convex losses through the *linearised* regret, in which a loss is replaced by its gradient at the
prediction: ℓ'(f_i) = -R_i. In a network the loss is not convex in p and rewards are clipped, so there
only the linearised, clipped regret is bounded.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from xnas.errors import ConfigError


def regret(forecaster_losses: Tensor, expert_losses: Tensor) -> Tensor:
    """Return Regret_T = Σ ℓ_t(p_t) - min_i Σ ℓ_t(f_t,i), from the losses themselves (eq. 2).

    Shapes: (..., rounds) and (..., rounds, experts); the result is (...).
    """
    return forecaster_losses.double().sum(-1) - expert_losses.double().sum(-2).amin(-1)


def linearized_regret(mixtures: Tensor, rewards: Tensor) -> Tensor:
    """Return the linearised regret max_i Σ_t R_t,i - Σ_t u_{t-1} · R_t (eq. 31).

    Shapes: both (..., rounds, experts), `mixtures` those that each round predicted with; result (...).
    """
    gained = (mixtures.double() * rewards.double()).sum((-1, -2))
    return rewards.double().sum(-2).amax(-1) - gained


def regret_bound(
    experts: int,
    rounds: int | Tensor,
    *,
    learning_rate: float | Tensor,
    reward_bound: float | Tensor = 1.0,
    log_wipeout_factor: float | Tensor = 0.0,
    initial_weight: float | Tensor | None = None,
) -> Tensor:
    """Return η T L² / 2 + ln N / η - ln γ_T / η (Theorem 1, eq. 3), in float64.

    `log_wipeout_factor` is ln γ_T. `initial_weight` is the weight u_0 with which the expert that regret
    is measured against began, where that was not 1/N: ln(1/u_0) then takes the place of ln N, because
    Lemma 3 starts from its weight. Shapes: tensors are (...), one bound each, and broadcast. A single
    expert has no regret, and its bound is 0.
    """
    if experts < 1:
        raise ConfigError(f"experts must be at least 1, got {experts}")
    log_gamma = torch.as_tensor(log_wipeout_factor, dtype=torch.float64)
    if experts == 1:
        return torch.zeros_like(log_gamma)
    eta = torch.as_tensor(learning_rate, dtype=torch.float64)
    drift = eta * rounds * reward_bound * reward_bound / 2
    if initial_weight is None:
        return drift + (math.log(experts) - log_gamma) / eta
    return drift + (-torch.as_tensor(initial_weight, dtype=torch.float64).log() - log_gamma) / eta


def optimal_regret_bound(
    experts: int, rounds: int, *, reward_bound: float = 1.0, log_wipeout_factor: float = 0.0
) -> float:
    """Return L sqrt(2 T ln N) (1 - ln γ_T / (2 ln N)): the bound at η* (eq. 4)."""
    if experts < 2:
        raise ConfigError(f"the bound at the optimal rate needs 2 experts or more, got {experts}")
    log_experts = math.log(experts)
    unaided = reward_bound * math.sqrt(2 * rounds * log_experts)
    return unaided * (1 - log_wipeout_factor / (2 * log_experts))


def log_wipeout_factor(
    cumulative_rewards: Tensor,
    alive_before: Tensor,
    alive_after: Tensor,
    *,
    learning_rate: float | Tensor,
) -> Tensor:
    """Return ln Γ_t of one round, Γ_t = 1 + Σ_{wiped} v_t,i / Σ_{kept} v_t,i (Sec. 3.1, eq. 28).

    All weights are those after the round's update. (Eq. 11, in the proof of Lemma 2, prints
    v_{t-1} in the numerator, for which the lemma fails.) Shapes (..., experts), result (...).
    """
    log_weights = (learning_rate * cumulative_rewards.double()).masked_fill(~alive_before, -torch.inf)
    weights = (log_weights - log_weights.amax(-1, keepdim=True)).exp()
    kept = torch.where(alive_after, weights, 0.0).sum(-1)
    wiped = torch.where(alive_after, 0.0, weights).sum(-1)
    return torch.log1p(wiped / kept)
