"""Latency: how long a network takes for a batch.

Passes are timed one by one after some to warm up, and their median counts. Other work on the machine
makes single passes slower, never faster, so quartiles that lie far apart say that the machine was busy.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from copy import deepcopy

import torch
from torch import Tensor, nn

from xnas.process.devices import synchronize
from xnas.records import Latency

WARM_UPS = 3
"""Passes that are not timed: libraries choose their kernels and allocate."""
LEAST_RUNS, MOST_RUNS = 5, 50
ATTEMPTS = 3
"""Measurements before a latency counts as too high."""
SECONDS = 1.0  # of timed passes; at least `LEAST_RUNS` are made


def measure_latency(
    model: nn.Module,
    shape: tuple[int, int, int],
    *,
    batch: int = 1,
    device: torch.device | None = None,
    seconds: float = SECONDS,
) -> Latency:
    """Return how long a network takes for a batch of images of `shape`, in evaluation mode.

    `shape` is (channels, height, width); the images are random numbers. The network is measured where it
    is, or, as a copy, on `device`. It is left as it was.

    >>> found = measure_latency(nn.Conv2d(3, 8, 3), (3, 16, 16), seconds=0.01)
    >>> found.lower <= found.milliseconds <= found.upper
    True
    """
    here = next((p.device for p in model.parameters()), torch.device("cpu"))
    device = here if device is None else device
    measured = model if device == here else deepcopy(model).to(device)
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch, *shape, generator=generator).to(device)
    modes = [(module, module.training) for module in measured.modules()]
    measured.eval()
    try:
        return time_passes("PyTorch", measured, images, seconds=seconds)
    finally:
        for module, training in modes:
            module.training = training


def steady_latency(
    model: nn.Module,
    shape: tuple[int, int, int],
    *,
    batch: int,
    device: torch.device,
    below: float,
) -> Latency:
    """Return the lowest of a few latencies: the first below so many milliseconds, or of `ATTEMPTS`.

    What else the machine does makes a network slower, never faster, so a value that is too high is
    measured again before it counts. Arguments are those of `measure_latency`.
    """
    found = [measure_latency(model, shape, batch=batch, device=device)]
    while found[-1].milliseconds > below and len(found) < ATTEMPTS:
        found.append(measure_latency(model, shape, batch=batch, device=device))
    return min(found, key=lambda latency: latency.milliseconds)


@torch.no_grad()
def time_passes(
    runtime: str,
    answers: Callable[[Tensor], object],
    images: Tensor,
    *,
    most: int = MOST_RUNS,
    seconds: float = SECONDS,
) -> Latency:
    """Return the median time of `answers(images)` with its quartiles; `runtime` names who answers."""
    device = images.device
    for _ in range(WARM_UPS):
        answers(images)
    synchronize(device)
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < LEAST_RUNS or (len(times) < most and time.perf_counter() - began < seconds):
        start = time.perf_counter()
        answers(images)
        synchronize(device)
        times.append(1000 * (time.perf_counter() - start))
    lower, middle, upper = statistics.quantiles(times, n=4, method="inclusive")
    return Latency(
        runtime=runtime,
        batch=len(images),
        milliseconds=middle,
        lower=lower,
        upper=upper,
        runs=len(times),
        device=str(device),
    )
