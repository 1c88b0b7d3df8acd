"""Progress of a fit: one bar, or lines, for the whole of it, counted in planned seconds."""

from __future__ import annotations

from xnas.engine import Search
from xnas.engine.train import Training
from xnas.records import SearchEpoch, TrainEpoch
from xnas.report.fitting import TITLES
from xnas.runs.briefing import duration
from xnas.runs.progress import RunProgress

LINES = 8
"""Epochs of a stage that are printed."""
ENDING = "end"


class FitProgress(RunProgress):
    """What a fit shows: stages, some of their epochs, and the time left for the whole."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__("planned second", quiet=quiet)
        self.stage, self.seconds, self.left = "", 0.0, 0.0
        self.whole = 0.0
        """Planned seconds from the first stage of this call."""
        self.within = ""

    def begin_stage(self, stage: str, seconds: float, left: float) -> None:
        """Print what begins."""
        self.stage, self.seconds, self.left, self.within = stage, seconds, left, ""
        self.whole = max(self.whole, left)
        self._move(0.0)
        title = "latencies, test and export" if stage == ENDING else TITLES.get(stage, stage)
        self.say(f"{title}: about {duration(seconds)}; {duration(self._time_left())} left for all")

    def after_round(self, search: Search) -> None:
        """Move the bar."""
        total = search.settings.epochs * search.settings.rounds_per_epoch
        self.within = f"round {search.rounds}/{total}"
        self._move(search.rounds / total)

    def after_step(self, training: Training) -> None:
        """Move the bar."""
        total = training.settings.epochs * training.settings.steps_per_epoch
        self.within = f"step {training.steps}/{total}"
        self._move(training.steps / total)

    def after_epoch(self, record: SearchEpoch | TrainEpoch, epochs: int) -> None:
        """Print some epochs of every stage, and the last."""
        often = max(1, epochs // LINES)
        if record.epoch != epochs and record.epoch % often:
            return
        held = record.valid_accuracy
        valid = "" if held is None else f", validation {100 * held:.1f} %"
        self.say(
            f"  epoch {record.epoch}/{epochs}: training {100 * record.train_accuracy:.1f} %{valid}; "
            f"{duration(self._time_left())} left for all"
        )

    def standing(self) -> str:
        """How far the fit is, in one line."""
        if not self.stage:
            return "measuring the speed of this machine"
        title = "the end" if self.stage == ENDING else TITLES.get(self.stage, self.stage)
        within = f", {self.within}" if self.within else ""
        return f"{title}{within}; {duration(self._time_left())} left for all"

    def _move(self, share: float) -> None:
        done = self.whole - self.left + share * self.seconds
        self.advance(round(done), round(self.whole))

    def _time_left(self) -> float:
        """As planned, corrected by the pace so far once that says something."""
        planned, speed = self.total - self.done, self._speed()
        begun = self.done - (self.done_at_start or 0)
        return planned / speed if begun >= self.whole / 20 and speed > 0 else planned
