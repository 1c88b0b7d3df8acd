"""How rewards move a mixture: exponentiated gradients, and gradient descent through a softmax.

Both are stated on ln v. Exponentiated gradients (EG) add η R_i (Algorithm 1, line 9); gradient descent
with softmax adds η R̃_i with R̃_i = u_i (R_i - Σ_j u_j R_j) (eq. 6), so an expert whose
weight is small learns slowly, whatever it deserves. EG is kept as the sum S of rewards, without η:
sums of rewards can tie exactly, sums of η R round.
"""

from __future__ import annotations

import torch
from torch import Tensor


def clip_rewards(rewards: Tensor, *, reward_bound: float | Tensor) -> Tensor:
    """Return each reward clipped to [-L, L].

    Shapes: `rewards` and the result are (..., experts); a tensor `reward_bound` broadcasts against them.
    The paper assumes L-bounded rewards; the authors' poster prints this line after line 8.
    """
    rewards = rewards if rewards.is_floating_point() else rewards.double()
    bound = torch.as_tensor(reward_bound, dtype=rewards.dtype, device=rewards.device)
    return torch.minimum(torch.maximum(rewards, -bound), bound)


def eg_update(cumulative_rewards: Tensor, alive: Tensor, rewards: Tensor) -> Tensor:
    """Return cumulative rewards after one round (Algorithm 1, lines 7-9); those of wiped experts stay.

    Line 9 prints v ← v exp(η R); with S = ln v / η that is S ← S + R. Shapes (..., experts).
    """
    return torch.where(alive, cumulative_rewards + rewards.double(), cumulative_rewards)


def softmax_gd_rewards(mixture: Tensor, rewards: Tensor) -> Tensor:
    """Return the effective rewards R̃ of gradient descent with softmax (eq. 6, derived in eq. 37).

    R̃_i = -∂ℓ/∂α_i = u_i (R_i - Σ_j u_j R_j). It is also the expected policy gradient
    Σ_i u_i R_i ∇_α ln u_i of a forecaster that samples one expert (Sec. 3.1). Shapes (..., experts).
    """
    return mixture * (rewards - (mixture * rewards).sum(-1, keepdim=True))


def softmax_gd_update(logits: Tensor, rewards: Tensor, *, learning_rate: float | Tensor) -> Tensor:
    """Return logits α = ln v after one step of gradient descent with softmax, the rival of EG (eq. 5).

    Shapes: `logits`, `rewards` and the result are (..., experts).
    """
    return logits + learning_rate * softmax_gd_rewards(logits.softmax(-1), rewards)
