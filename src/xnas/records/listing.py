"""What a list of runs says of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["running", "stopped", "finished", "damaged", "unreadable"]
"""`running`: a process holds it. `damaged`: a file of it cannot be read. `unreadable`: its version or
kind is unknown to this xnas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """A run, as far as its files say without loading images, checkpoints or weights."""

    path: str
    kind: str
    """What it is called: `search`, `training`, `sampling`, ..."""
    state: State
    fault: str | None = None
    """What is damaged or cannot be read."""
    data: str | None = None
    """A dataset's name or a folder; None if images were given in memory."""
    method: str | None = None
    """Of a search: its method, or its sampler. Of a fit: the row that won."""
    seed: int | None = None
    cell: str | None = None
    """What was found or is trained, in a few words."""
    done: int | None = None
    """Epochs that have ended; of a sampling, evaluations."""
    planned: int | None = None
    validation: float | None = None
    """Accuracy on held-out images, a share: in a training that of the last weights, in a search the
    supernet's, in a sampling the best cell's."""
    test: float | None = None
    """Accuracy on test images, a share."""
    truth: float | None = None
    """What a benchmark knows or estimates of the cell, in percent."""
    changed: float
    """When its files last changed, in seconds since 1970."""
    next_command: str | None = None
    """The command that suggests itself next."""
