"""Who is told what happens in a run: the command line, a notebook, or nobody."""

from __future__ import annotations

from typing import Protocol

from xnas.engine import Search
from xnas.engine.train import Training
from xnas.records import SearchEpoch, TrainEpoch


class Listener(Protocol):
    """Hears lines."""

    def say(self, line: str) -> None:
        """Something worth knowing."""

    def warn(self, line: str) -> None:
        """Something to worry about."""


class SearchDisplay(Listener, Protocol):
    """Follows a search."""

    def after_round(self, search: Search) -> None:
        """One round was played."""

    def after_epoch(self, record: SearchEpoch, epochs: int) -> None:
        """One epoch was closed."""


class TrainDisplay(Listener, Protocol):
    """Follows a training."""

    def after_step(self, training: Training) -> None:
        """One step was made."""

    def after_epoch(self, record: TrainEpoch, epochs: int) -> None:
        """One epoch was closed."""


class Silence:
    """A display of either kind that shows nothing."""

    def say(self, line: str) -> None:
        """Nothing."""

    def warn(self, line: str) -> None:
        """Nothing."""

    def after_round(self, search: Search) -> None:
        """Nothing."""

    def after_step(self, training: Training) -> None:
        """Nothing."""

    def after_epoch(self, record: SearchEpoch | TrainEpoch, epochs: int) -> None:
        """Nothing."""
