"""The stochastic study: which optimizer finds the best of N noisy experts, at what regret (Sec. 8.3).

Each expert has a value b_i ~ N(0, 1) and pays R_t,i ~ N(b_i, σ²). Losses are -R, so the regret of
eq. 2 is max_i Σ R_t,i - Σ u_{t-1} · R_t. All runs, and all learning rates, are played at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from xnas.records import Selection, SelectionStudy
from xnas.theory import (
    clip_rewards,
    eg_update,
    log_wipeout_factor,
    mixture_of,
    optimal_learning_rate,
    softmax_gd_update,
    surviving_experts,
)

EXPERTS = (2, 5, 10, 20, 50, 100)
NOISES = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
EXPERTS_WHILE_NOISE_VARIES = 10
NOISE_WHILE_EXPERTS_VARY = 1.0
RATES = ("0.1", "1", "optimal")


@dataclass(frozen=True, slots=True)
class Setting:
    """One pair (N, σ). The paper states no bound; 3 standard deviations of a reward are used.

    An expert's own value may lie beyond it (at σ = 0.1 the best one does in 16 of 1000 runs of 10). XNAS
    learns from clipped rewards, while regret counts the whole ones.
    """

    experts: int
    noise: float
    runs: int
    rounds: int
    seed: int

    @property
    def reward_bound(self) -> float:
        """L: three standard deviations of a reward."""
        return 3 * math.sqrt(1 + self.noise**2)

    def learning_rates(self) -> dict[str, float]:
        """The numbers behind the names of `RATES`."""
        best = optimal_learning_rate(self.experts, self.rounds, self.reward_bound)
        return {rate: best if rate == "optimal" else float(rate) for rate in RATES}

    def rewards(self) -> Iterator[Tensor]:
        """The experts' values, then the rewards of each round, all (runs, experts)."""
        draw = np.random.default_rng([self.seed, self.experts, round(1000 * self.noise)])
        shape = (self.runs, self.experts)
        values = torch.from_numpy(draw.standard_normal(shape))
        yield values
        for _ in range(self.rounds):
            yield values + self.noise * torch.from_numpy(draw.standard_normal(shape))


def stochastic_study(*, runs: int = 1000, rounds: int = 1000, seed: int = 0) -> SelectionStudy:
    """Both methods at every N and σ of the two panels, at each of `RATES`."""
    pairs = [(n, NOISE_WHILE_EXPERTS_VARY) for n in EXPERTS]
    pairs += [(EXPERTS_WHILE_NOISE_VARIES, s) for s in NOISES]
    selections: list[Selection] = []
    for experts, noise in dict.fromkeys(pairs):
        selections += play(Setting(experts, noise, runs, rounds, seed))
    return SelectionStudy(runs=runs, rounds=rounds, seed=seed, selections=tuple(selections))


def play(setting: Setting) -> list[Selection]:
    """Play one setting: tensors are (rates, runs, experts), one slice per learning rate.

    XNAS's sums and wipeouts do not depend on the learning rate, so all its rates share them.
    """
    stream = setting.rewards()
    values = next(stream)
    rates = setting.learning_rates()
    eta = torch.tensor(list(rates.values()), dtype=torch.float64)[:, None, None]
    bound = setting.reward_bound

    sums, totals = torch.zeros_like(values), torch.zeros_like(values)
    alive = torch.ones_like(values, dtype=torch.bool)
    logits = torch.zeros(len(rates), *values.shape, dtype=torch.float64)
    log_gamma = torch.zeros(len(rates), setting.runs, dtype=torch.float64)
    wiped = torch.zeros(setting.runs, dtype=torch.float64)
    gained = {m: torch.zeros(len(rates), setting.runs, dtype=torch.float64) for m in ("xnas", "gd")}
    valued = {m: torch.zeros_like(g) for m, g in gained.items()}
    for t, rewards in enumerate(stream, start=1):
        mixtures = {
            "xnas": mixture_of(sums, alive, learning_rate=eta),
            "gd": logits.softmax(-1),
        }
        for method, mixture in mixtures.items():
            gained[method] += (mixture * rewards).sum(-1)
            valued[method] += (mixture * values).sum(-1)
        totals += rewards

        sums = eg_update(sums, alive, clip_rewards(rewards, reward_bound=bound))
        survivors = surviving_experts(sums, alive, reward_bound=bound, rounds_left=setting.rounds - t)
        if not torch.equal(survivors, alive):
            log_gamma += log_wipeout_factor(sums, alive, survivors, learning_rate=eta)
            wiped += (alive & ~survivors).sum(-1) * (t < setting.rounds)
        alive = survivors
        logits = softmax_gd_update(logits, rewards, learning_rate=eta)

    leaders = {
        "xnas": sums.masked_fill(~alive, -torch.inf).argmax(-1).expand(len(rates), -1),
        "gd": logits.argmax(-1),
    }
    return [
        _summary(
            setting,
            method,
            rate=(name, learning_rate),
            outcome={
                "regret": totals.amax(-1) - gained[method][row],
                "pseudo_regret": setting.rounds * values.amax(-1) - valued[method][row],
                "correct": (leaders[method][row] == values.argmax(-1)).double(),
                "wiped": wiped if method == "xnas" else torch.zeros_like(wiped),
                "log_wipeout_factor": log_gamma[row] * (method == "xnas"),
            },
        )
        for method in gained
        for row, (name, learning_rate) in enumerate(rates.items())
    ]


def _summary(
    setting: Setting, method: str, *, rate: tuple[str, float], outcome: Mapping[str, Tensor]
) -> Selection:
    """Means over runs, with the standard errors of the two that the paper plots."""
    mean = {name: value.mean().item() for name, value in outcome.items()}
    return Selection(
        method=method,
        rate=rate[0],
        learning_rate=rate[1],
        reward_bound=setting.reward_bound,
        experts=setting.experts,
        noise=setting.noise,
        regret=mean["regret"],
        regret_error=outcome["regret"].std().item() / math.sqrt(setting.runs),
        pseudo_regret=mean["pseudo_regret"],
        correct=mean["correct"],
        correct_error=math.sqrt(mean["correct"] * (1 - mean["correct"]) / setting.runs),
        wiped=mean["wiped"],
        log_wipeout_factor=mean["log_wipeout_factor"],
    )
