"""Algorithm 1 as printed, in plain loops over experts, with the two corrections that it needs.

Line 5 uses f_t where the paper prints f_{t-1}, and rewards arrive clipped. It keeps the weights v
themselves, in whatever number type `growth` returns: exact fractions with `growth = 2**x`, or floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any


@dataclass
class Game:
    mixtures: list[list[Any]] = field(default_factory=list)
    factors: list[Any] = field(default_factory=list)
    wiped: dict[int, int] = field(default_factory=dict)
    survivors: list[int] = field(default_factory=list)
    weights: list[Any] = field(default_factory=list)


def algorithm_1(
    rewards: Sequence[Sequence[Any]],
    *,
    growth: Callable[[Any], Any],
    reward_bound: Any,
    horizon: int,
    relaxation: Any = 1,
    start: Sequence[Any] | None = None,
) -> Game:
    """Play `rewards` (rounds, experts); `growth(x)` is exp(η x), `start` the weights of line 2."""
    game = Game()
    experts = len(rewards[0])
    inside = list(range(experts))  # line 2
    v = [growth(0)] * experts if start is None else list(start)
    for t, revealed in enumerate(rewards, start=1):  # line 3
        total = sum(v[i] for i in inside)
        game.mixtures.append([v[i] / total if i in inside else 0 for i in range(experts)])  # line 5
        for i in inside:  # lines 7-9
            v[i] = v[i] * growth(revealed[i])
        theta = max(v[i] for i in inside) * growth(-2 * reward_bound * (horizon - t) * relaxation)
        out = [i for i in inside if v[i] < theta]  # lines 11-12
        kept = [i for i in inside if i not in out]
        game.factors.append(1 + sum((v[i] for i in out), growth(0) * 0) / sum(v[i] for i in kept))
        game.wiped.update(dict.fromkeys(out, t))
        inside = kept
    game.survivors, game.weights = inside, v
    return game


def powers_of_two(exponent: int | Fraction) -> Fraction:
    """exp(η x) for η = ln 2 and whole x, exactly."""
    assert Fraction(exponent).denominator == 1
    return Fraction(2) ** int(exponent)


def exponential(learning_rate: float) -> Callable[[float], float]:
    return lambda x: math.exp(learning_rate * x)
