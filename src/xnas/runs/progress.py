"""Progress of a run: lines and, in a terminal, a bar; elsewhere a line at least every half minute.

Commands show it, and so do `xnas.search`, `xnas.train` and `xnas.sample` unless they are asked to be
quiet. In a notebook there are lines. `NO_COLOR` takes colours and bold letters away, and a terminal that
cannot move its cursor (`TERM=dumb`) gets lines.
"""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from xnas.engine import Search
from xnas.engine.train import Training
from xnas.records import SearchEpoch, TrainEpoch
from xnas.report.truths import truth_text
from xnas.runs.briefing import duration
from xnas.runs.pulse import Pulse
from xnas.words import printable, printable_lines

LINES = 40  # of epochs that a training prints


class RunProgress:
    """Lines; in a terminal also a bar with rounds (or steps) per second and the time left.

    Between entering and leaving it, a line is printed after 25 seconds without one, unless there is a
    bar. With `stderr` all that goes to standard error, so that standard output has the results alone.
    """

    def __init__(self, unit: str, *, quiet: bool, stderr: bool = False) -> None:
        self.unit, self.quiet = unit, quiet
        self.console = Console(
            stderr=stderr,
            color_system=None if os.environ.get("NO_COLOR") else "auto",
            highlight=False,
            soft_wrap=True,
            force_jupyter=False,
        )
        self.bar: Progress | None = None
        self.pulse: Pulse | None = None
        # Not `is_terminal`, which FORCE_COLOR makes true for a pipe.
        if not quiet and self.console.is_interactive and self.console.file.isatty():
            self.bar = Progress(
                TextColumn(unit),
                BarColumn(bar_width=8),
                MofNCompleteColumn(),
                TextColumn("{task.fields[speed]}"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[state]}"),
                console=self.console,
                transient=True,
                redirect_stdout=not stderr,
            )
        elif not quiet:
            self.pulse = Pulse(self.standing, self.say)
        self.entered = self.started = time.perf_counter()
        self.done_at_start: int | None = None
        self.done = self.total = 0
        self.state = ""

    def __enter__(self) -> Self:
        self.entered = time.perf_counter()
        if self.bar is not None:
            self.bar.start()
        if self.pulse is not None:
            self.pulse.beat()
            self.pulse.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()
        if self.pulse is not None:
            self.pulse.stop()

    def say(self, line: str) -> None:
        """Print a line, unless quiet."""
        if not self.quiet:
            self.console.print(printable_lines(line), markup=False)
        if self.pulse is not None:
            self.pulse.beat()

    def warn(self, line: str) -> None:
        """Print a warning, quiet or not."""
        if self.bar is not None:
            self.console.print(f"warning: {printable(line)}", markup=False, style="yellow")
        else:
            print(f"warning: {printable(line)}", file=sys.stderr)  # noqa: T201

    def advance(self, done: int, total: int) -> None:
        """Move the bar."""
        self.done, self.total = done, total
        if self.done_at_start is None:
            self.done_at_start, self.started = done - 1, time.perf_counter()
            if self.bar is not None:
                self.bar.add_task("", total=total, completed=done, speed="", state="")
        if self.bar is not None:
            task = self.bar.task_ids[0]
            self.bar.update(task, completed=done, speed=f"{self._speed():.1f}/s", state=self.state)

    def standing(self) -> str:
        """How far the run is, in one line."""
        if self.done_at_start is None:
            passed = duration(time.perf_counter() - self.entered)
            return f"preparing for {passed}, no {self.unit} yet"
        line = f"{self.unit} {self.done}/{self.total}"
        if self.done >= self.total:
            return f"{line}, finishing"
        speed = self._speed()
        if self.done - self.done_at_start < 2 or speed == 0:  # of one, the time is not known
            return line
        pace = f"{speed:.1f}/s" if speed >= 1 else f"{1 / speed:.1f} s each"
        return f"{line}, {pace}, {duration((self.total - self.done) / speed)} left"

    def _speed(self) -> float:
        """Rounds or steps per second since the first of this run."""
        passed = time.perf_counter() - self.started
        return (self.done - (self.done_at_start or 0)) / passed if passed > 0 else 0.0


class SearchProgress(RunProgress):
    """What a search shows: a line for each epoch."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__("round", quiet=quiet)

    def after_round(self, search: Search) -> None:
        """Move the bar."""
        self.advance(search.rounds, search.settings.epochs * search.settings.rounds_per_epoch)

    def after_epoch(self, record: SearchEpoch, epochs: int) -> None:
        """Print the epoch."""
        alive = sum(record.experts_alive.values())
        self.state = (
            f"loss {record.train_loss:.2f}/{record.valid_loss:.2f} {alive} experts "
            f"H {record.entropy['normal']:.2f} skips {100 * record.skip_share['normal']:.0f}%"
        )
        self.say(epoch_line(record, epochs))


class TrainProgress(RunProgress):
    """What a training shows: a line for each epoch, fewer when there are many."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__("step", quiet=quiet)

    def after_step(self, training: Training) -> None:
        """Move the bar."""
        self.advance(training.steps, training.settings.epochs * training.settings.steps_per_epoch)

    def after_epoch(self, record: TrainEpoch, epochs: int) -> None:
        """Print the epoch: each of the first, then some, and the last."""
        self.state = f"loss {record.train_loss:.2f} {100 * record.train_accuracy:.1f} %"
        often = max(1, epochs // LINES)
        if record.epoch == epochs or record.epoch % often == 0:
            left = record.cost.seconds * (epochs - record.epoch)
            shown = f"  {duration(left)} left" if left and self.bar is None else ""  # a bar says it
            self.say(training_line(record, epochs) + shown)


def training_line(record: TrainEpoch, epochs: int) -> str:
    """One epoch of a training in one line."""
    line = (
        f"epoch {record.epoch:4}/{epochs}  train {record.train_loss:.3f} "
        f"{100 * record.train_accuracy:5.1f} %"
    )
    if record.valid_accuracy is not None:
        line += f"  held-out {record.valid_loss:.3f} {100 * record.valid_accuracy:5.1f} %"
    return line + (
        f"  rate {record.learning_rate:.3g}  {1000 * record.cost.seconds_per_round:.1f} ms/step"
    )


def epoch_line(record: SearchEpoch, epochs: int) -> str:
    """One epoch in one line."""
    gone = f" (-{len(record.deleted)})" if record.deleted else ""
    line = (
        f"epoch {record.epoch:3}/{epochs}  "
        f"train {record.train_loss:.3f} {100 * record.train_accuracy:5.1f} %  "
        f"valid {record.valid_loss:.3f} {100 * record.valid_accuracy:5.1f} %  "
        f"experts {sum(record.experts_alive.values())}{gone}  "
        f"entropy {' / '.join(f'{h:.3f}' for h in record.entropy.values())}  "
        f"skips {100 * record.skip_share['normal']:.0f} %  "
        f"{1000 * record.cost.seconds_per_round:.0f} ms/round"
    )
    if record.gap is not None:
        g = record.gap
        line += f"  gap: mixture {100 * g.mixture:.1f}, experts {100 * g.experts:.1f}"
        line += " %, cell unknown" if g.cell is None else f", cell {100 * g.cell:.1f} %"
    if record.truth is not None:
        line += f"  {truth_text(record.truth)}"
    return line
