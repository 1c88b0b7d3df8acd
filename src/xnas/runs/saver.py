"""Seconds of an epoch, and checkpoints: one after every epoch, and inside of one where it takes long."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from xnas.engine.distributed import ALONE, Ranks
from xnas.process.devices import synchronize
from xnas.runs.run_folder import RunFolder


class Clock:
    """Seconds of an epoch in this process, without pauses."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.pauses, self.started = device, 0.0, time.perf_counter()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the block."""
        synchronize(self.device)
        before = time.perf_counter()
        yield
        self.pauses += time.perf_counter() - before

    def seconds(self) -> float:
        """Counted so far."""
        synchronize(self.device)
        return time.perf_counter() - self.started - self.pauses


class Saver:
    """Writes checkpoints of a run, and knows when one is due inside an epoch."""

    def __init__(
        self,
        folder: RunFolder,
        state: Callable[[], dict[str, Any]],
        *,
        minutes: float,
        ranks: Ranks = ALONE,
    ) -> None:
        self.folder, self.state, self.seconds = folder, state, 60 * minutes
        self.ranks = ranks
        self.saved_at = time.monotonic()

    def due(self) -> bool:
        """Whether the last checkpoint is older than it should be."""
        return self.ranks.agreed(lambda: time.monotonic() - self.saved_at >= self.seconds)()

    def save(self, metric: object = None) -> None:
        """Save the present state with all metrics, then append `metric`, which is among them.

        The first process writes, after all have compared their states.
        """
        line = "" if metric is None else json.dumps(metric) + "\n"
        state, folder = self.state(), self.folder
        self.ranks.require_same(state, f"in epoch {state['epoch'] + 1}", folder.saved)
        if self.ranks.first:
            metrics = folder.metrics.text() + line
            folder.checkpoints.save(
                state | {"settings": json.dumps(folder.settings), "metrics": metrics}
            )
        if line:
            folder.metrics.append(line)
        self.saved_at = time.monotonic()
