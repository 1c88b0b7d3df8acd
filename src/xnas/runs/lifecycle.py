"""The life of a run: begin, lock, restore, play, checkpoint, report, stop, conclude.

Every kind of run goes through these lines. What it computes is a `Job`: work in epochs of steps, whose
whole state can be saved after every step. A search's step is a round, a training's a batch; an epoch is
the unit after which a line of metrics is written, and may have any number of steps.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import torch

from xnas.data import Images, StreamedImages
from xnas.data.reader import WaitInterrupted, stop_waiting_when
from xnas.engine.distributed import ALONE, Ranks
from xnas.engine.restore import Format, require_format, require_settings
from xnas.engine.train import own_randomness
from xnas.options import saved_options
from xnas.process.devices import repeatable, synchronize
from xnas.process.failures import explain_failures
from xnas.process.interrupt import Interrupted, stop_at_round
from xnas.process.memory import memory_in_use, reset_peak
from xnas.process.output import explain_lost_output
from xnas.records import EpochCost
from xnas.runs.briefing import duration
from xnas.runs.config_file import ConfigFile, config_of
from xnas.runs.displays import Display
from xnas.runs.resume_command import ResumeCommand
from xnas.runs.run_folder import RunFolder
from xnas.runs.search_config import SearchConfig
from xnas.runs.sources import GivenImages, saved_images, whereabouts
from xnas.runs.tensorboard import Curves
from xnas.runs.train_config import TrainConfig
from xnas.words import counted

PROBE_STEPS = 5
"""Steps after which the time left is estimated. The first ones are slow, so it errs on the long side."""

Settings = TypeVar("Settings", bound=SearchConfig | TrainConfig)
Record = TypeVar("Record")
Result = TypeVar("Result")
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
    def config(self) -> Any:  # noqa: ANN401 - a frozen dataclass of settings
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


def begin(
    kind: Kind[Settings, Record],
    job: Job[Record, Result],
    images: Images,
    *,
    data: str | None,
    display: Display[Record],
    first: Mapping[str, str] | None = None,
) -> Result:
    """Run a job from its start, in a new folder. `data` names its images, None if given in memory.

    `first` are files that are written before config.json, by name.
    """
    ranks, wanted = job.ranks, job.config.out
    folder = RunFolder.create(
        lambda: wanted or RunFolder.next_free(kind.command, images.name), ranks, first
    )
    streamed = isinstance(images, StreamedImages)  # to be loaded alike when the run is resumed
    settings = replace(job.config, out=folder.path, stream=streamed)
    place = None if data is None else whereabouts(data)
    config = config_of(
        kind.command,
        place,
        images.fingerprint(),
        settings,
        processes=ranks.size,
        test_fingerprint=images.test_fingerprint() if kind.tests else None,
    )
    run = _Run(kind, folder, config, {}, display)
    with folder.locked(new=True):
        folder.write_start(config)
        with own_randomness(job.device, job.seed):
            return run.play(job)


def resume(
    kind: Kind[Settings, Record],
    path: Path,
    build: Callable[[RunFolder, Settings, Images], Job[Record, Result]],
    *,
    data: GivenImages | None,
    changes: Mapping[str, Any],
    ranks: Ranks,
    display: Display[Record],
) -> Result:
    """Resume a run from its newest checkpoint that fits or, without one, from its start.

    `data` are images that were given in memory. `changes` are settings for this call alone.
    """
    folder = RunFolder.open(path, ranks)
    with folder.locked():
        config = ConfigFile.read(path, kind.command)
        config.require_processes(path, ranks)
        settings = saved_options(kind.settings, config.config, changes)
        run = _Run(kind, folder, config, changes, display)
        kind.require_unfinished(folder, run.display.warn)
        images = saved_images(folder.path, config, settings, data, kind.noun)
        job = build(folder, settings, images)
        with own_randomness(job.device, job.seed):
            job, state = run.restore(job, lambda: build(folder, settings, images))
            return run.play(job, resumed=state is not None)


class _Run(Generic[Settings, Record]):
    """One process's part in the life of a run."""

    def __init__(
        self,
        kind: Kind[Settings, Record],
        folder: RunFolder,
        config: ConfigFile,
        changes: Mapping[str, Any],
        display: Display[Record],
    ) -> None:
        self.kind, self.folder, self.config, self.display = kind, folder, config, display
        self.changes = changes

    def restore(
        self, job: Job[Record, Result], rebuild: Callable[[], Job[Record, Result]]
    ) -> tuple[Job[Record, Result], dict[str, Any] | None]:
        """The job at its newest checkpoint that fits, with that checkpoint, or at its start."""
        folder, tried = self.folder, False
        folder.settings = self.config.deciding(self.kind.settings) | dict(job.identity)

        def restore(state: dict[str, Any]) -> None:
            nonlocal job, tried
            if tried:  # a checkpoint that did not fit may have left the job half restored
                job = rebuild()
            tried = True
            require_format(state, self.kind.checkpoint, self.kind.noun)
            require_settings(state, folder.settings)
            job.restore(state)

        state = job.ranks.first_reads(
            lambda: folder.newest_checkpoint(job.device, self.display.warn, restore), job.device
        )
        if state is not None and not job.ranks.first:
            restore(state)
        folder.metrics.restore(state, self.display.warn)
        return job, state

    def play(self, job: Job[Record, Result], *, resumed: bool = False) -> Result:
        """Make all steps that are left, and conclude."""
        folder, ranks = self.folder, job.ranks
        folder.settings = self.config.deciding(self.kind.settings) | dict(job.identity)
        records = folder.metrics.records(self.kind.record)
        job.remember(records)
        start = job.state() | {"images": self.config.fingerprint}
        ranks.require_same(start, "at the start", folder.saved)
        with (
            explain_lost_output(lambda: self._stopped(job)),
            folder.storage_errors(),
            stop_at_round() as asked,
            Curves(folder.path if ranks.first else None) as curves,
            repeatable(job.device),
        ):
            self._introduce(job, resumed=resumed)
            try:
                with stop_waiting_when(asked):
                    self._play_epochs(job, records, curves, ranks.agreed(asked))
            except WaitInterrupted:
                late = f"images did not come; {folder.saved()}"
                raise Interrupted(f"{self._stopped(job)} ({late})") from None
            if job.position().paused:
                self.display.say(self._stopped(job))
        last = f"after the last {self.kind.unit}, {job.position().done}"
        with explain_failures(lambda: last, folder.saved):
            result = job.conclude(folder, records)
        ranks.wait()  # until the first process has written its files
        if ranks.first and job.config.report and not job.position().paused:
            self._report()
        return result

    def _report(self) -> None:
        """Write the page of the run, which is finished."""
        from xnas.runs.reports.write import write_at_end  # noqa: PLC0415 - what draws is needed now

        write_at_end(self.folder.path, self.display)

    def _introduce(self, job: Job[Record, Result], *, resumed: bool) -> None:
        for line in job.introduction():
            self.display.say(line)
        if resumed:
            self.display.say(f"resuming after {self.kind.unit} {job.position().done}")
        else:
            for line in job.cautions():
                self.display.warn(line)

    def _play_epochs(
        self,
        job: Job[Record, Result],
        records: list[Record],
        curves: Curves,
        stopped: Callable[[], bool],
    ) -> None:
        saver = Saver(self.folder, job.state, minutes=job.config.checkpoint_minutes, ranks=job.ranks)
        while not (at := job.position()).finished:
            with explain_failures(lambda: self._where(job), self.folder.saved):
                record = self._play_epoch(job, saver, stopped)
            records.append(record)
            saver.save(asdict(record))  # type: ignore[call-overload]
            curves.add(job.position().done, job.curves(record))
            self.display.after_epoch(record, at.epochs)
            for line in job.warnings(record):
                self.display.warn(line)
            if stopped() and not job.position().finished:
                raise Interrupted(self._stopped(job))

    def _play_epoch(self, job: Job[Record, Result], saver: Saver, stopped: Callable[[], bool]) -> Record:
        job.begin_epoch()
        reset_peak(job.device)
        clock, first = Clock(job.device), job.position().step
        while (at := job.position()).step < at.steps:
            job.step(clock)
            job.report_step()
            at = job.position()
            if at.done == PROBE_STEPS:
                self.display.say(self._estimate(job, clock.seconds() / (at.step - first)))
            if at.step < at.steps and (stopped() or saver.due()):  # at the end the epoch is ended first
                with clock.paused():
                    job.require_sound()
                    saver.save()
                if stopped():
                    raise Interrupted(self._stopped(job))
        each = clock.seconds() / (at.steps - first)
        memory = memory_in_use(job.device)
        return job.end_epoch(
            EpochCost(seconds=each * at.steps, seconds_per_round=each, memory_bytes=memory)
        )

    def _estimate(self, job: Job[Record, Result], each: float) -> str:
        left, memory = job.position().left, memory_in_use(job.device) / 2**20
        steps = counted(left, f"more {self.kind.unit}")
        return f"estimate: {duration(each * left)} for {steps}, {memory:,.0f} MiB of memory"

    def _where(self, job: Job[Record, Result]) -> str:
        at = job.position()
        return f"after {self.kind.unit} {at.done}, epoch {at.epoch + 1}"

    def _stopped(self, job: Job[Record, Result]) -> str:
        command = ResumeCommand(
            program=job.ranks.command,
            kind=self.kind.command,
            path=self.folder.path,
            in_memory=self.config.data is None,
            changes=self.changes,
        )
        return f"stopped after {self.kind.unit} {job.position().done}; resume with: {command}"
