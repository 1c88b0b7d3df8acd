"""Checkpoints of a run: when one is due, and what goes into it beside the state."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from xnas.engine.distributed import ALONE, Ranks
from xnas.runs.run_folder import RunFolder


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
        """Everything as it is now, with the metrics so far and another, which is then appended.

        The first process writes, if all agree.
        """
        line = "" if metric is None else json.dumps(metric) + "\n"
        state, folder = self.state(), self.folder
        self.ranks.require_same(state, f"in epoch {state['epoch'] + 1}", folder.kept)
        if self.ranks.first:
            told = {"settings": json.dumps(folder.settings), "metrics": folder.metrics.text() + line}
            folder.checkpoints.save(state | told)
        if line:
            folder.metrics.append(line)
        self.saved_at = time.monotonic()
