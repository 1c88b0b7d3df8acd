"""What a run computes, as its life sees it: work in epochs of steps, whose whole state can be saved.

A search's step is a round, a training's a batch. An epoch is the unit after which a line of metrics is
written, and may have any number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import torch

from xnas.engine.distributed import Ranks
from xnas.engine.restore import Format
from xnas.records import EpochCost
from xnas.runs.options import ImageRunOptions
from xnas.runs.run_folder import RunFolder
from xnas.runs.saver import Clock

Settings = TypeVar("Settings", bound=ImageRunOptions)
Record = TypeVar("Record")
Result_co = TypeVar("Result_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Position:
    """How far a job is."""

    epoch: int
    """Epochs that have ended."""
    epochs: int
    step: int
    """Steps of the present epoch that are done."""
    steps: int
    """Steps of the present epoch."""
    done: int
    """Steps of all epochs that are done."""
    left: int
    """Steps to come, until the end or the stop below."""
    until: int | None = None
    """The epoch after which this call stops; None for the last."""

    @property
    def finished(self) -> bool:
        """Whether this call has nothing left to do."""
        return self.epoch >= (self.epochs if self.until is None else min(self.until, self.epochs))

    @property
    def paused(self) -> bool:
        """Whether this call has nothing left to do, but another one has."""
        return self.finished and self.epoch < self.epochs


class Job(Protocol[Record, Result_co]):
    """What a run computes. An epoch gives a `Record`, all of them a `Result`."""

    @property
    def config(self) -> ImageRunOptions:
        """The resolved settings."""

    @property
    def identity(self) -> Mapping[str, object]:
        """What checkpoints must agree on besides the settings that decide the rounds."""

    @property
    def device(self) -> torch.device:
        """Where it computes."""

    @property
    def ranks(self) -> Ranks:
        """The processes that share it."""

    @property
    def seed(self) -> int:
        """Of the device's own random generator during the run."""

    def position(self) -> Position:
        """How far it is."""

    def introduction(self) -> Sequence[str]:
        """What was chosen, and how large it is."""

    def cautions(self) -> Sequence[str]:
        """Warnings before a new run starts."""

    def begin_epoch(self) -> None:
        """Prepare the present epoch, also in the middle of it after a restore."""

    def step(self, clock: Clock) -> None:
        """Make one step; what is no part of it belongs into `clock.paused()`."""

    def report_step(self) -> None:
        """Report the step that was just made to the job's own display."""

    def end_epoch(self, cost: EpochCost) -> Record:
        """End the present epoch."""

    def curves(self, record: Record) -> Mapping[str, float]:
        """Numbers of an epoch, by the names of their curves."""

    def warnings(self, record: Record) -> Sequence[str]:
        """Warnings that an epoch gives rise to, each once per run."""

    def require_sound(self) -> None:
        """Make all processes agree; raises if the state in the middle of an epoch must not be saved."""

    def state(self) -> dict[str, Any]:
        """All that changes, with its format and version: tensors and plain values."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state; raises a ConfigError if it does not fit."""

    def remember(self, records: Sequence[Record]) -> None:
        """Take note of the epochs before a resumption."""

    def conclude(self, folder: RunFolder, records: Sequence[Record]) -> Result_co:
        """Write what was found, last the file whose presence says that the run is finished.

        A job that is paused writes nothing and gives what was measured so far.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[Settings, Record]):
    """What is known of a kind of run before there is a job."""

    command: str
    noun: str
    unit: str
    """What a step is called."""
    checkpoint: Format
    """Of its checkpoints."""
    settings: type[Settings]
    record: Callable[[dict[str, Any]], Record]
    """Reads a line of metrics.jsonl."""
    tests: bool
    """Whether it ends with a test, whose images must then be found again when it is resumed."""
    require_unfinished: Callable[[RunFolder, Callable[[str], None]], None]
    """Raises if the run is finished; may warn of files that it writes again."""
