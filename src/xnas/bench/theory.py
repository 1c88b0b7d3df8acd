"""Cost of one step of `ExpertsOptimizer`, compared with a plain loop and the usual optimizers.

Times of one machine compare only within one run, so the table gives ratios.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import cycle

import torch
from torch import nn

from xnas.bench.measuring import median_and_spread
from xnas.bench.options import BenchTheoryConfig
from xnas.nn import uniform_mixture
from xnas.optim import ExpertsOptimizer
from xnas.process.advance import Advance, unwatched
from xnas.records import StepCost
from xnas.theory import (
    clip_rewards,
    eg_update,
    mixture_of,
    optimal_learning_rate,
    surviving_experts,
)

FORECASTERS, EXPERTS = 14, 7
HORIZON = 10_000_000
PLAIN = "plain Python loop"
ALONE = "Algorithm 1 alone"


class PlainLoop:
    """Algorithm 1 in plain Python, a loop over mixtures, forecasters and experts: the baseline."""

    def __init__(self, mixtures: Sequence[nn.Parameter], *, learning_rate: float, horizon: int) -> None:
        self.mixtures, self.learning_rate, self.horizon = mixtures, learning_rate, horizon
        self.sums = [[[0.0] * m.shape[1] for _ in range(m.shape[0])] for m in mixtures]
        self.alive = [[[True] * m.shape[1] for _ in range(m.shape[0])] for m in mixtures]
        self.rounds = 0

    @torch.no_grad()
    def step(self) -> None:
        """Play one round, reward bound 1, no relaxation, no ledger."""
        self.rounds += 1
        reach = 2 * (self.horizon - self.rounds)
        for mixture, sums, alive in zip(self.mixtures, self.sums, self.alive, strict=True):
            assert mixture.grad is not None  # noqa: S101 - the benchmark sets gradients
            rows = [
                self._play(gradient, s, a, reach)
                for gradient, s, a in zip(mixture.grad.tolist(), sums, alive, strict=True)
            ]
            mixture.copy_(torch.tensor(rows))

    def _play(
        self, gradient: list[float], sums: list[float], alive: list[bool], reach: float
    ) -> list[float]:
        for i, lives in enumerate(alive):
            if lives:
                sums[i] += max(-1.0, min(1.0, -gradient[i]))
        leader = max(s for s, lives in zip(sums, alive, strict=True) if lives)
        for i, s in enumerate(sums):
            alive[i] = alive[i] and s >= leader - reach - 1e-9
        weights = [
            math.exp(self.learning_rate * (s - leader)) if lives else 0.0
            for s, lives in zip(sums, alive, strict=True)
        ]
        total = sum(weights)
        return [w / total for w in weights]


class AloneStep:
    """Algorithm 1 on stacked tensors, with neither checks nor ledger: what the rule itself costs."""

    def __init__(self, mixtures: Sequence[nn.Parameter], *, horizon: int) -> None:
        self.mixtures, self.horizon, self.rounds = mixtures, horizon, 0
        self.learning_rate = optimal_learning_rate(mixtures[0].shape[1], horizon)
        self.sums = torch.zeros(len(mixtures), *mixtures[0].shape, dtype=torch.float64)
        self.alive = torch.ones_like(self.sums, dtype=torch.bool)

    @torch.no_grad()
    def step(self) -> None:
        """Play one round, reward bound 1, no relaxation."""
        self.rounds += 1
        rewards = -torch.stack([p.grad for p in self.mixtures if p.grad is not None])
        self.sums = eg_update(self.sums, self.alive, clip_rewards(rewards, reward_bound=1.0))
        left = self.horizon - self.rounds
        self.alive = surviving_experts(self.sums, self.alive, reward_bound=1.0, rounds_left=left)
        mixtures = mixture_of(self.sums, self.alive, learning_rate=self.learning_rate)
        torch._foreach_copy_(list(self.mixtures), list(mixtures.to(self.mixtures[0].dtype).unbind()))


def bench_theory(config: BenchTheoryConfig, *, advance: Advance = unwatched) -> list[StepCost]:
    """Time all optimizers on the same gradients, turn by turn, for each number of mixtures."""
    costs, turns = [], config.repetitions + 1
    for at, count in enumerate(config.mixtures):
        steppers = _steppers(count)
        times: dict[str, list[float]] = {name: [] for name in steppers}
        for repetition in range(turns):
            for name, (step, _) in steppers.items():
                if name == PLAIN and repetition > max(2, config.repetitions // 10):
                    continue
                started = time.perf_counter()
                step()
                if repetition:  # the first step warms up
                    times[name].append(1e6 * (time.perf_counter() - started))
            advance(at * turns + repetition + 1, len(config.mixtures) * turns)
        base = statistics.median(times["ExpertsOptimizer"])
        for name, (_, size) in steppers.items():
            middle, spread = median_and_spread(times[name])
            costs.append(
                StepCost(
                    optimizer=name,
                    mixtures=count,
                    microseconds=middle,
                    spread=spread,
                    ratio=middle / base,
                    state_bytes=size() // count,
                )
            )
    return costs


def state_bytes() -> dict[str, int]:
    """Bytes of state that each optimizer keeps for one mixture of 14 x 7 after a step."""
    sizes = {}
    for name, (step, size) in _steppers(1).items():
        if name not in {PLAIN, ALONE}:
            step()
            sizes[name.split(",")[0]] = size()
    return sizes


def essential_bytes() -> int:
    """Bytes of what Algorithm 1 itself has to remember of one mixture of 14 x 7: sums of rewards."""
    mixture = uniform_mixture(FORECASTERS, EXPERTS)
    sums = ExpertsOptimizer([mixture], horizon=1).cumulative_rewards(mixture)
    return sums.numel() * sums.element_size()


Stepper = tuple[Callable[[], object], Callable[[], int]]


def _steppers(count: int) -> dict[str, Stepper]:
    """Name -> (step, bytes of state), each on mixtures of its own with the same fresh gradients."""
    generator = torch.Generator().manual_seed(0)
    gradients = [0.1 * torch.randn(count, FORECASTERS, EXPERTS, generator=generator) for _ in range(4)]

    def mixtures() -> list[nn.Parameter]:
        return [uniform_mixture(FORECASTERS, EXPERTS) for _ in range(count)]

    def stepper(
        params: list[nn.Parameter], optimizer: torch.optim.Optimizer | PlainLoop | AloneStep
    ) -> Stepper:
        turns = cycle(gradients)

        def step() -> None:
            for p, gradient in zip(params, next(turns), strict=True):
                p.grad = gradient
            optimizer.step()

        def size() -> int:
            if isinstance(optimizer, AloneStep):
                return optimizer.sums.nbytes + optimizer.alive.nbytes
            return 0 if isinstance(optimizer, PlainLoop) else _bytes(optimizer)

        return step, size

    experts, loop, alone, adam, sgd = (mixtures() for _ in range(5))
    return {
        "ExpertsOptimizer": stepper(experts, ExpertsOptimizer(experts, horizon=HORIZON)),
        PLAIN: stepper(loop, PlainLoop(loop, learning_rate=1e-3, horizon=HORIZON)),
        ALONE: stepper(alone, AloneStep(alone, horizon=HORIZON)),
        "Adam": stepper(adam, torch.optim.Adam(adam, lr=3e-4, betas=(0.5, 0.999), foreach=True)),
        "SGD, momentum": stepper(sgd, torch.optim.SGD(sgd, lr=0.1, momentum=0.9, foreach=True)),
    }


def _bytes(optimizer: torch.optim.Optimizer) -> int:
    return sum(
        value.numel() * value.element_size()
        for state in optimizer.state.values()
        for value in state.values()
        if isinstance(value, torch.Tensor)
    )
