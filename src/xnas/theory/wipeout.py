"""Wipeout: retire the experts that can no longer overtake the leader.

A clipped reward lies in [-bound, bound], so the gap between two experts' cumulative rewards closes by
at most `2 * bound` per round. An expert further behind than that allows over the rounds left cannot lead
at the horizon (Lemma 1), and dropping it never drops the best one. The learning rate cancels.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.errors import RoundError

TIE_TOLERANCE = 1e-9  # float64 sums of float rewards; ties survive, because the rule is strict


def surviving_experts(
    cumulative_rewards: Tensor,
    alive: Tensor,
    *,
    reward_bound: float | Tensor,
    rounds_left: int | Tensor,
    relaxation: float | Tensor = 1.0,
) -> Tensor:
    """Return a mask of the experts still alive after this round (Algorithm 1, lines 11-12).

    The paper compares v with θ = max v · exp(-2ηL(T - t)ζ); in logarithms, divided by η, an expert goes
    when it is more than 2Lζ(T - t) behind. `relaxation` is ζ: below 1 experts leave earlier and Lemma 1
    no longer protects the best one.

    Shapes: `cumulative_rewards` and `alive` are (..., experts); forecasters are independent. Settings
    may be tensors that broadcast against them; their values are then the caller's to check.
    """
    if isinstance(rounds_left, int) and rounds_left < 0:
        raise RoundError(
            f"rounds_left must be >= 0, got {rounds_left}: the horizon has passed; set a longer one"
        )
    leader = cumulative_rewards.masked_fill(~alive, -torch.inf).amax(-1, keepdim=True)
    reach = 2 * reward_bound * relaxation * rounds_left
    tie = TIE_TOLERANCE * torch.as_tensor(reward_bound, dtype=torch.float64).clamp(min=1.0)
    return alive & (cumulative_rewards >= leader - reach - tie)


def expected_wipeout(gap: Tensor, *, reward_bound: float, relaxation: float = 1.0) -> Tensor:
    """Return the share t/T of the horizon after which an expert that loses `gap` per round is wiped.

    Shapes: `gap` and the result are (...). It goes when gap · t > 2Lζ(T - t), so at
    t/T = 2ζ / (2ζ + gap/L). With ζ = 1 that is never before one half.
    """
    reach = 2 * relaxation
    return reach / (reach + gap / reward_bound)
