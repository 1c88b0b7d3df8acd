"""The sequence that Adam fails on, seen as a choice between two experts (Sec. 3.1, "Regret Bounds").

Reddi, Kale and Kumar (2018) give Adam the losses Cx, -x, -x, Cx, ... on x in [-1, 1]. With C > 2 the
best fixed point is -1, but with β1 = 0 and β2 = 1/(1 + C²) Adam's steps forget the large gradient and
it drifts to +1: its regret is linear. The ends of the interval are two experts; x is their mixture.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from xnas.records import AdversaryStudy, RegretCurve
from xnas.theory import optimal_learning_rate, optimal_regret_bound, replay

SLOPE = 3.0
HORIZONS = (30, 100, 300, 1000, 3000, 10_000)
ADVICE = torch.tensor([-1.0, 1.0], dtype=torch.float64)


def gradients(rounds: int) -> Tensor:
    """Slopes C, -1, -1, C, ... of the losses."""
    slopes = -torch.ones(rounds, dtype=torch.float64)
    slopes[::3] = SLOPE
    return slopes


def adam_regrets(horizons: tuple[int, ...], *, betas: tuple[float, float], scale: float) -> list[float]:
    """Regret of projected Adam with step size `scale`/sqrt(t), from x = 0, at each horizon."""
    x = torch.nn.Parameter(torch.zeros((), dtype=torch.float64))
    optimizer = torch.optim.Adam([x], lr=scale, betas=betas)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: 1 / math.sqrt(t + 1))
    slopes = gradients(max(horizons))
    played = torch.empty_like(slopes)
    for t, slope in enumerate(slopes):
        played[t] = x.detach()
        x.grad = slope.clone()
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            x.clamp_(-1, 1)
    return [_regret(slopes[:horizon], played[:horizon]) for horizon in horizons]


def experts_regrets(horizons: tuple[int, ...]) -> list[float]:
    """Regret of Algorithm 1 with η* for each horizon; rewards are -slope · advice, bounded by C."""
    regrets = []
    for horizon in horizons:
        rewards = -gradients(horizon)[:, None] * ADVICE
        rate = optimal_learning_rate(2, horizon, SLOPE)
        game = replay(rewards, learning_rate=rate, reward_bound=SLOPE)
        regrets.append(_regret(gradients(horizon), game.mixture @ ADVICE))
    return regrets


def adversary_study(horizons: tuple[int, ...] = HORIZONS) -> AdversaryStudy:
    """XNAS, and Adam with the rates it fails with and with DARTS's, on the same losses."""
    failing = (0.0, 1 / (1 + SLOPE**2))
    curves = {
        "xnas": experts_regrets(horizons),
        "adam (0, 0.1)": adam_regrets(horizons, betas=failing, scale=0.5),
        "adam (0.5, 0.999)": adam_regrets(horizons, betas=(0.5, 0.999), scale=0.5),
    }
    return AdversaryStudy(
        loss=f"{SLOPE:g}x, -x, -x, {SLOPE:g}x, ... on [-1, 1]",
        curves=tuple(RegretCurve(method=m, rounds=horizons, regret=tuple(r)) for m, r in curves.items()),
        bound=tuple(optimal_regret_bound(2, h, reward_bound=SLOPE) for h in horizons),
    )


def _regret(slopes: Tensor, played: Tensor) -> float:
    """Loss of the points played minus that of the best fixed point (linear losses: an end)."""
    return float((slopes * played).sum() + slopes.sum().abs())
