"""Learning rates and drop rates over a training (Sec. 4.2, 9.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xnas.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerCosine:
    """Cycles of power cosine annealing, each starting lower than the one before.

    In a cycle the rate falls from its top by (p^(c+1) - p) / (p² - p) with c = (1 + cos πτ) / 2, where τ
    goes from 0 to 1; p = 1 is the plain cosine, and half-way the factor is 1 / (1 + √p). Warming up, if
    asked for, takes the first epochs of the first cycle, linearly from nothing.

    Departure: the paper names the schedule after sharpDARTS and states neither p nor the lowest rate.
    Both are those of that code for CIFAR, 2 and 1e-8. For ImageNet p is that code's 10, and the lowest
    rate is 0 where that code has 1.6e-4.
    """

    top: float
    epochs: int
    cycles: int = 1
    decay: float = 1.0
    """Of the top, from cycle to cycle; the paper's amplitude decay is 0.5."""
    power: float = 1.0
    lowest: float = 0.0
    warmup: float = 0.0
    """Epochs."""

    def __post_init__(self) -> None:
        if self.cycles < 1 or self.epochs < self.cycles:
            raise ConfigError(
                f"{self.cycles} cycles do not fit into {self.epochs} epochs; use fewer cycles"
            )
        if not (self.top > 0 and self.decay > 0 and self.power > 0):
            raise ConfigError(
                f"top, decay and power must be positive, got {self.top}, {self.decay} and {self.power}"
            )
        if not 0 <= self.warmup < self.epochs / self.cycles:
            raise ConfigError(
                f"warm-up of {self.warmup:g} epochs must be shorter than a cycle, here "
                f"{self.epochs / self.cycles:g}"
            )

    def rate(self, epoch: float) -> float:
        """Learning rate at an epoch from 0; fractions are allowed, for schedules by the step."""
        if epoch < self.warmup:
            return max(self.top * epoch / self.warmup, self.lowest)
        length = self.epochs / self.cycles
        cycle = min(int(epoch / length), self.cycles - 1)
        begin = self.warmup if cycle == 0 else cycle * length
        fraction = (epoch - begin) / (length * (cycle + 1) - begin)
        fall = (1 + math.cos(math.pi * fraction)) / 2
        top = self.top * self.decay**cycle
        return self.lowest + (top - self.lowest) * _power_law(fall, self.power)


def _power_law(fall: float, power: float) -> float:
    if power == 1:
        return fall
    return float((power ** (fall + 1) - power) / (power**2 - power))


def scheduled_drop_path(epoch: int, epochs: int, peak: float) -> float:
    """Rate of drop path: linear from 0, and short of `peak` by one step at the last epoch (DARTS)."""
    return peak * epoch / epochs
