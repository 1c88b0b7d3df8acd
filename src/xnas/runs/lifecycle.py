"""The life of a run: begin, lock, restore, play, checkpoint, report, stop, conclude.

Searches and trainings go through these lines; what they compute is a `Job`. Samplings and fits have
loops of their own (`runs.sampling`, `runs.fit`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from xnas.data import Images, StreamedImages
from xnas.data.reader import WaitInterrupted, stop_waiting_when
from xnas.engine.distributed import Ranks
from xnas.engine.restore import require_format, require_settings
from xnas.engine.train import own_randomness
from xnas.options import saved_options
from xnas.process.devices import repeatable
from xnas.process.failures import explain_failures
from xnas.process.interrupt import Interrupted, stop_at_round
from xnas.process.memory import memory_in_use, reset_peak
from xnas.process.output import explain_lost_output
from xnas.records import EpochCost
from xnas.runs.briefing import duration
from xnas.runs.config_file import ConfigFile, config_of
from xnas.runs.displays import Display
from xnas.runs.job import Job, Kind, Record, Settings
from xnas.runs.resume_command import ResumeCommand
from xnas.runs.run_folder import RunFolder
from xnas.runs.saver import Clock, Saver
from xnas.runs.sources import GivenImages, saved_images, whereabouts
from xnas.runs.tensorboard import Curves
from xnas.words import counted

PROBE_STEPS = 5
"""Steps after which the time left is estimated. The first ones are slow, so it errs on the long side."""

Result = TypeVar("Result")


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
        with explain_failures(lambda: last, folder.saved), repeatable(job.device):
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
