"""The game that no forecaster wins: rewards are fair coins, so the regret bound is tight (Sec. 3.1).

Each round pays every expert +L or -L with equal chances. Whatever mixture a forecaster plays, it gains 0
on average, while the best of N experts gains about L sqrt(T) times the expected maximum of N standard
normals, which approaches sqrt(2 ln N). So the expected regret of every forecaster is that number, and
Theorem 1 allows L sqrt(2 T ln N): the two differ by a factor that goes to 1 as T and N grow.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from xnas.records import CoinGame, CoinStudy
from xnas.theory import (
    eg_update,
    mixture_of,
    optimal_learning_rate,
    optimal_regret_bound,
    softmax_gd_update,
    surviving_experts,
)

EXPERTS = (2, 4, 8, 16, 32, 64, 128, 256)
HORIZONS = (30, 100, 300, 1000, 3000)
ROUNDS_WHILE_EXPERTS_VARY = 1000
EXPERTS_WHILE_ROUNDS_VARY = 8
RUNS = 300
GRID = 4001  # points of the integral below, from -10 to 10


def expected_maximum(experts: int) -> float:
    """Mean of the largest of so many independent standard normals.

    >>> round(expected_maximum(2), 4)  # 1 / sqrt(pi)
    0.5642
    """
    x = torch.linspace(-10, 10, GRID, dtype=torch.float64)
    below = torch.special.ndtr(x)
    density = (-x.square() / 2).exp() / math.sqrt(2 * math.pi)
    return float(torch.trapezoid(x * experts * density * below.pow(experts - 1), x))


def coin_study(*, runs: int = RUNS, seed: int = 0) -> CoinStudy:
    """XNAS at η* and gradient descent with softmax at the same rate, for many N and for many T."""
    pairs = [(experts, ROUNDS_WHILE_EXPERTS_VARY) for experts in EXPERTS]
    pairs += [(EXPERTS_WHILE_ROUNDS_VARY, rounds) for rounds in HORIZONS]
    games: list[CoinGame] = []
    for experts, rounds in dict.fromkeys(pairs):
        games += play(experts, rounds, runs=runs, seed=seed)
    return CoinStudy(runs=runs, seed=seed, games=tuple(games))


def play(
    experts: int, rounds: int, *, runs: int, seed: int, reward_bound: float = 1.0
) -> list[CoinGame]:
    """Play one pair (N, T) with both methods, all runs together; tensors are (runs, experts)."""
    draw = torch.Generator().manual_seed(seed)
    rate = optimal_learning_rate(experts, rounds, reward_bound)
    sums = torch.zeros(runs, experts, dtype=torch.float64)
    totals, logits = torch.zeros_like(sums), torch.zeros_like(sums)
    alive = torch.ones_like(sums, dtype=torch.bool)
    gained = {"xnas": torch.zeros(runs).double(), "gd": torch.zeros(runs).double()}
    for t in range(1, rounds + 1):
        rewards = reward_bound * _coins(sums, draw)
        gained["xnas"] += (mixture_of(sums, alive, learning_rate=rate) * rewards).sum(-1)
        gained["gd"] += (logits.softmax(-1) * rewards).sum(-1)
        totals += rewards
        sums = eg_update(sums, alive, rewards)
        alive = surviving_experts(sums, alive, reward_bound=reward_bound, rounds_left=rounds - t)
        logits = softmax_gd_update(logits, rewards, learning_rate=rate)
    best = totals.amax(-1)
    return [
        CoinGame(
            method=method,
            experts=experts,
            rounds=rounds,
            reward_bound=reward_bound,
            regret=float((best - gain).mean()),
            regret_error=float((best - gain).std()) / math.sqrt(runs),
            expected=reward_bound * math.sqrt(rounds) * expected_maximum(experts),
            bound=optimal_regret_bound(experts, rounds, reward_bound=reward_bound),
        )
        for method, gain in gained.items()
    ]


def _coins(like: Tensor, draw: torch.Generator) -> Tensor:
    """+1 or -1 with equal chances."""
    return 2 * torch.randint(0, 2, like.shape, generator=draw).double() - 1
