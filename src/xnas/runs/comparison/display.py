"""Who follows a comparison, and what a terminal shows of it."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from xnas.records import ComparedRun, RunComparison
from xnas.report.comparison_rows import accuracy_words, run_line
from xnas.runs.comparison.underway import Underway
from xnas.runs.progress import RunProgress
from xnas.runs.pulse import Pulse
from xnas.words import counted

REFRESH = 5.0
"""Seconds after which the bar of a terminal is drawn anew while a run is computed."""


class CompareDisplay(Protocol):
    """Follows a comparison."""

    def begin(self, comparison: RunComparison, left: int) -> None:
        """So many runs are left."""

    def after_run(self, run: ComparedRun, comparison: RunComparison) -> None:
        """A run has ended, well or not."""


@runtime_checkable
class Watches(Protocol):
    """A display that also looks at the runs that are being computed."""

    def watch(self, underway: Underway) -> None:
        """Show how far they are from time to time."""


class CompareProgress(RunProgress):
    """A line for each run and, in a terminal, a bar; both with the running runs and the time left."""

    def __init__(self, *, quiet: bool, stderr: bool = False) -> None:
        super().__init__("run", quiet=quiet, stderr=stderr)
        self.underway: Underway | None = None
        self.refresher: Pulse | None = None
        if self.bar is not None:
            self.refresher = Pulse(self.standing, self._refresh, seconds=REFRESH)

    def __enter__(self) -> Self:
        super().__enter__()
        if self.refresher is not None:
            self.refresher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.refresher is not None:
            self.refresher.stop()
        super().__exit__(kind, error, trace)

    def watch(self, underway: Underway) -> None:
        """Show how far the runs are that are being computed."""
        self.underway = underway

    def advance(self, done: int, total: int) -> None:
        """Move the bar; runs per second would say nothing."""
        super().advance(done, total)
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], speed="")

    def standing(self) -> str:
        """The runs that have ended, those that are computed, and the time left."""
        words = "" if self.underway is None else self.underway.words()
        if not words or self.done_at_start is None:
            return super().standing()
        return f"{self.unit} {self.done}/{self.total}; {words}"

    def begin(self, comparison: RunComparison, left: int) -> None:
        """Print what is compared and how much is left."""
        entries = ", ".join(dict.fromkeys(run.entry for run in comparison.runs))
        seeds = len({run.seed for run in comparison.runs})
        self.say(
            f"comparing {entries} by {accuracy_words(comparison.measure)}, {counted(seeds, 'seed')} "
            f"each: {counted(len(comparison.runs), 'run')}, {left} to do"
        )
        for note in comparison.notes:
            (self.warn if comparison.measure == "supernet" else self.say)(note)
        if left:
            self.say("the time left for all is shown once the first run is under way; Ctrl-C stops it")
            self.advance(len(comparison.runs) - left, len(comparison.runs))
            self.done_at_start = self.done

    def after_run(self, run: ComparedRun, comparison: RunComparison) -> None:
        """Print the run, and move the bar."""
        done, total = comparison.done + comparison.failed, len(comparison.runs)
        self.advance(done, total)
        self.say(f"{done:{len(str(total))}}/{total}  {run_line(run)}")

    def _refresh(self, line: str) -> None:
        """Move the bar within a run."""
        if self.bar is None or self.underway is None or not self.bar.task_ids:
            return
        words = self.underway.words()
        begun = sum(share for _, share in self.underway.steps())
        self.bar.update(self.bar.task_ids[0], completed=self.done + begun, state=words or line)
