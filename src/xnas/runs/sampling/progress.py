"""RunProgress of a search by sampling: lines and, in a terminal, a bar."""

from __future__ import annotations

import time

from xnas.runs.briefing import duration
from xnas.runs.progress import RunProgress
from xnas.runs.sampling.loop import Evaluated, SampleLoop

SECONDS = 1.0
"""After which a line is printed, better or not."""


class SampleProgress(RunProgress):
    """A line for each evaluation that takes its time; of fast ones, for those better than all before."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__("cell", quiet=quiet)
        self.best: tuple[int, float] | None = None
        """Of the highest rung so far, with its epochs."""
        self.said = 0.0
        self.begun: tuple[float, int] | None = None

    def after_trial(self, one: Evaluated, loop: SampleLoop) -> None:
        """Print the evaluation, if it deserves a line, and move the bar."""
        value, done, total = _value(one), loop.evaluated, loop.evaluations
        if self.begun is None:
            self.best = max(filter(None, map(_value, loop.told[:-1])), default=None)
            self.begun = time.monotonic(), done
        better = value is not None and (self.best is None or value > self.best)
        if better:
            self.best = value
        best = None if self.best is None else self.best[1]
        self.state = "" if best is None else f"best {100 * best:.2f} %"
        self.advance(done, total)
        due = time.monotonic() - self.said >= SECONDS or done == total
        if one.refused or not (better or due):
            return
        self.said = time.monotonic()
        self.say(trial_line(one, done, total, best) + self._left(done, total))

    def _left(self, done: int, total: int) -> str:
        """The time left after the second result, as the end of a line; a bar says it already."""
        if self.bar is not None or self.begun is None or done in (self.begun[1], total):
            return ""
        started, before = self.begun
        left = (time.monotonic() - started) / (done - before) * (total - done)
        return f"  {duration(left)} left" if left >= 1 else ""


def _value(one: Evaluated) -> tuple[int, float] | None:
    """Rung and value of an evaluation, which order evaluations; None for one that failed."""
    value = one.result.value
    return None if value is None else (one.trial.budget or 0, value)


def trial_line(one: Evaluated, done: int, total: int, best: float | None) -> str:
    """One evaluation in one line, by the number that its folder, ledger and tables have."""
    result = one.result
    what = f"failed: {result.reason}" if result.value is None else f"{100 * result.value:6.2f} %"
    best_text = "" if best is None else f"  best {100 * best:.2f} %"
    cell = one.trial.genotype.one_line
    counted = f"{done:{len(str(total))}}/{total}  trial {one.trial.number:{len(str(total))}}"
    return f"{counted}  {what}{best_text}" + (f"  {cell}" if cell else "")
