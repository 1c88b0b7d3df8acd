"""Who follows a comparison, and what a terminal shows of it."""

from __future__ import annotations

from typing import Protocol

from xnas.records import ComparedRun, RunComparison
from xnas.report.comparison import accuracy_words, run_line
from xnas.runs.progress import RunProgress
from xnas.words import counted


class CompareDisplay(Protocol):
    """Follows a comparison."""

    def begin(self, comparison: RunComparison, left: int) -> None:
        """So many runs are left."""

    def after_run(self, run: ComparedRun, comparison: RunComparison) -> None:
        """A run has ended, well or not."""


class CompareProgress(RunProgress):
    """A line for each run and, in a terminal, a bar with the time left."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__("run", quiet=quiet)

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
            self.advance(len(comparison.runs) - left, len(comparison.runs))
            self.done_at_start = self.done

    def after_run(self, run: ComparedRun, comparison: RunComparison) -> None:
        """Print the run, and move the bar."""
        done, total = comparison.done + comparison.failed, len(comparison.runs)
        self.advance(done, total)
        self.say(f"{done:{len(str(total))}}/{total}  {run_line(run)}")
