"""From cumulative rewards to a mixture, and from a mixture to a prediction (eq. 1).

The paper's weights v grow like exp(η R) and overflow within a search, so they are never stored. With
S the sum of an expert's clipped rewards, v = exp(η S) and the mixture is u = softmax(η S) over the
living experts. The sums are float64: exact ties between experts decide wipeouts.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.errors import ConfigError


def simplex_tolerance(dtype: torch.dtype) -> float:
    """Return how far a mixture's sums may be from 1: its rounding, or float32's if that is coarser."""
    return max(4 * torch.finfo(dtype).eps, 1e-6)


def mixture_of(cumulative_rewards: Tensor, alive: Tensor, *, learning_rate: float | Tensor) -> Tensor:
    """Return the mixture u of the living experts (eq. 1; Algorithm 1, line 5), in float64.

    Shapes: `cumulative_rewards`, `alive` and the result are (..., experts). A wiped expert gets
    exactly 0. `learning_rate` is one number, or a tensor that broadcasts against the sums.
    """
    log_weights = learning_rate * cumulative_rewards.double()
    return log_weights.masked_fill(~alive, -torch.inf).softmax(-1)


def comparable_sums(cumulative_rewards: Tensor, gap_when_wiped: Tensor, alive: Tensor) -> Tensor:
    """Return sums of all experts, living and wiped, that can be compared, in float64.

    Shapes: all arguments and the result are (..., experts). A wiped expert stays as far behind the
    leader as it was when it was wiped (`gap_when_wiped`, read where `alive` is False). Its frozen sum
    would mislead: rewards that all experts share move the leader alone, and a leader that loses ground
    could fall below a frozen sum.
    """
    sums = cumulative_rewards.double()
    leader = sums.masked_fill(~alive, -torch.inf).amax(-1, keepdim=True)
    return torch.where(alive, sums, leader - gap_when_wiped)


def strengths_of(
    cumulative_rewards: Tensor,
    gap_when_wiped: Tensor,
    alive: Tensor,
    *,
    learning_rate: float | Tensor,
) -> Tensor:
    """Return the mixture over all experts by their `comparable_sums`, which discretization ranks by.

    Shapes: all tensors and the result are (..., experts). `learning_rate` is one number, or a tensor
    that broadcasts against them.

    Departure: the paper ranks edges by max u over the living experts, which is 1 on every edge once
    each has one expert left (t = T). Both agree while nothing was wiped.
    """
    return (learning_rate * comparable_sums(cumulative_rewards, gap_when_wiped, alive)).softmax(-1)


def predict(mixture: Tensor, advice: Tensor) -> Tensor:
    """Return the prediction p = Σ_i u_i f_i (eq. 1).

    Shapes: `mixture` (..., experts), `advice` (..., experts, features), result (..., features).
    """
    return (mixture.unsqueeze(-1) * advice).sum(-2)


def require_simplex(mixture: Tensor) -> None:
    """Raise unless every row of `mixture` (..., experts) is a probability vector."""
    if not isinstance(mixture, Tensor):
        raise ConfigError(f"a mixture is a tensor, got {type(mixture).__name__}; use torch.tensor")
    if mixture.dim() < 1 or mixture.shape[-1] < 1 or not mixture.is_floating_point():
        raise ConfigError(
            f"a mixture is a floating-point tensor (..., experts) with at least one expert, got "
            f"{mixture.dtype} of shape {tuple(mixture.shape)}"
        )
    rows = mixture.detach()
    tolerance = simplex_tolerance(rows.dtype)
    off_by = (rows.double().sum(-1) - 1).abs()
    if not rows.isfinite().all() or bool((rows < 0).any()) or bool((off_by > tolerance).any()):
        raise ConfigError(
            f"mixture is off the simplex: smallest weight {rows.min().item():.3g}, row sums from "
            f"{rows.sum(-1).min().item():.6g} to {rows.sum(-1).max().item():.6g}; "
            "weights must be non-negative and sum to 1; xnas.uniform_mixture starts one"
        )
