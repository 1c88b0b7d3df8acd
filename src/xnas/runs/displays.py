"""Callbacks that report the progress of a run: to a terminal, to a notebook, or to nothing."""

from __future__ import annotations

from typing import Protocol, TypeVar

from xnas.engine import Search
from xnas.engine.train import Training
from xnas.records import SearchEpoch, TrainEpoch
from xnas.runs.sample_loop import Evaluated, SampleLoop

Record_contra = TypeVar("Record_contra", contravariant=True)


class Display(Protocol[Record_contra]):
    """What every run reports."""

    def say(self, line: str) -> None:
        """Information."""

    def warn(self, line: str) -> None:
        """A warning."""

    def after_epoch(self, record: Record_contra, epochs: int) -> None:
        """One of `epochs` epochs has ended."""


class SearchDisplay(Display[SearchEpoch], Protocol):
    """Follows a search."""

    def after_round(self, search: Search) -> None:
        """One round was played."""


class TrainDisplay(Display[TrainEpoch], Protocol):
    """Follows a training."""

    def after_step(self, training: Training) -> None:
        """One step was made."""


class SampleDisplay(Protocol):
    """Follows a search by sampling."""

    def say(self, line: str) -> None:
        """Information."""

    def warn(self, line: str) -> None:
        """A warning."""

    def after_trial(self, one: Evaluated, loop: SampleLoop) -> None:
        """The result of a trial is known."""


class Silence:
    """A display of any kind that shows nothing."""

    def say(self, line: str) -> None:
        """Do nothing."""

    def warn(self, line: str) -> None:
        """Do nothing."""

    def after_round(self, search: Search) -> None:
        """Do nothing."""

    def after_step(self, training: Training) -> None:
        """Do nothing."""

    def after_epoch(self, record: SearchEpoch | TrainEpoch, epochs: int) -> None:
        """Do nothing."""

    def after_trial(self, one: Evaluated, loop: SampleLoop) -> None:
        """Do nothing."""
