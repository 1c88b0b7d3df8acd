"""How far the runs of a comparison are that are being computed, by their files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from xnas.errors import XnasError
from xnas.runs.briefing import duration
from xnas.runs.comparison.plan import PlannedRun, place_in, training_in
from xnas.runs.listing.kinds import RunFiles
from xnas.runs.lock import is_held
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.trial_ledger import NAME as LEDGER

MOST_NAMED = 3
"""Runs that are named, if several are computed in parallel."""
Step = tuple[str, float]
"""How far a run is in words, such as `xnas-0, epoch 3/50`, and as a share."""


class Underway:
    """The runs of one call that have begun and not ended, and the time that is left for all."""

    def __init__(self, folder: Path, runs: Sequence[PlannedRun]) -> None:
        """`runs` are those that this call computes."""
        self.folder, self.runs = folder, runs
        self.ended: set[str] = set()
        self.began = time.monotonic()

    def end(self, name: str) -> None:
        """A run has ended, well or not."""
        self.ended.add(name)

    def steps(self) -> list[Step]:
        """Those that are being computed."""
        left = (run for run in self.runs if run.name not in self.ended)
        return [step for run in left if (step := _step(run, self.folder)) is not None]

    def share(self) -> float:
        """How much of this call is done, if runs take equally long."""
        whole = max(1, len(self.runs))
        return min(1.0, (len(self.ended) + sum(share for _, share in self.steps())) / whole)

    def words(self) -> str:
        """What is being computed, and how long all of it will take yet; empty if nothing is."""
        steps, share = self.steps(), self.share()
        parts = [words for words, _ in steps[:MOST_NAMED]]
        parts += [f"{len(steps) - MOST_NAMED} more"] * (len(steps) > MOST_NAMED)
        if 0 < share < 1:
            seconds = (time.monotonic() - self.began) * (1 - share) / share
            parts.append(f"about {duration(seconds)} left for all")
        return "; ".join(parts)


def _step(run: PlannedRun, folder: Path) -> Step | None:
    """How far a run is; None if no process computes it."""
    trained = training_in(folder, run)
    parts = (run.search is not None) + (run.train is not None)
    if run.train is not None and is_held(trained):
        words, share = _epochs(trained, run.train.epochs)
        return f"{run.name}, training: {words}", (parts - 1 + share) / parts
    place = place_in(folder, run)
    if run.search is None or not is_held(place):
        return None
    if isinstance(run.search, SampleConfig):
        words, share = _evaluations(place, run.search.evaluations)
    else:
        words, share = _epochs(place, run.search.epochs)
    return f"{run.name}: {words}", share / parts


def _epochs(place: Path, planned: int | None) -> Step:
    """`planned` is None where a recipe says it, which config.json has resolved."""
    files = RunFiles(place)
    done = _count(lambda: len(files.metrics))
    wanted = planned or _count(lambda: int(files.json("config.json")["config"]["epochs"]))
    return _words("epoch", done, wanted)


def _evaluations(place: Path, planned: int) -> Step:
    done = _count(lambda: sum(_is_evaluation(line) for line in RunFiles(place).lines(LEDGER)))
    return _words("evaluation", min(done, planned), planned)


def _is_evaluation(line: bytes) -> bool:
    """Whether a line of a ledger has the result of a trial that was evaluated."""
    return b'"tell"' in line and b'"state": "refused"' not in line


def _words(unit: str, done: int, planned: int) -> Step:
    return f"{unit} {done}/{planned or '?'}", done / planned if planned else 0.0


def _count(read: Callable[[], int]) -> int:
    """A number in a file that another process may be writing; 0 if it cannot be read now."""
    try:
        return read()
    except (XnasError, OSError, LookupError, TypeError, ValueError):
        return 0
