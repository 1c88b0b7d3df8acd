"""Shared parts of the benchmarks of speed: random images, times of calls, quartiles of times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import torch

from xnas.data import ImageData
from xnas.process.devices import synchronize

CLASSES = 10


def noise(count: int, side: int) -> ImageData:
    """Random colour images, uint8 (count, 3, side, side), with at most ten classes."""
    classes = min(CLASSES, count)
    return ImageData(
        name="noise",
        images=torch.randint(0, 256, (count, 3, side, side), dtype=torch.uint8),
        labels=torch.arange(count) % classes,
        classes=tuple(map(str, range(classes))),
    )


def milliseconds(call: Callable[[], object], device: torch.device) -> float:
    """Time of one call, with the work that it queues on a GPU."""
    started = time.perf_counter()
    call()
    synchronize(device)
    return 1000 * (time.perf_counter() - started)


def median_and_spread(times: Sequence[float]) -> tuple[float, float]:
    """Median of some times, and the distance between their quartiles."""
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return middle, high - low
