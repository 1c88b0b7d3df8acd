"""Pools: where trials are evaluated. A search hands them over and waits for results.

    pool = POOLS["local"].build(evaluator, RUN / "trials", at_once)
    pool.submit(trial)
    result = pool.result(trial.number)
    pool.close()

A pool calls `evaluate_trial(evaluator, trial, trial_folder(trials, trial.number))` somewhere. A worker
that is lost is its own affair: it evaluates the trial again, which resumes in its folder. When the run
is stopped by its user, a pool stops what it has begun and raises Interrupted from `result`, or is
closed. A resumed run submits those trials again.

`local` evaluates in this process. Add yours with `POOLS.add(name, PoolKind(...))`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from xnas.errors import ConfigError
from xnas.registry import Registry
from xnas.runs.sampling.evaluators import Evaluator, evaluate_trial, trial_folder
from xnas.samplers import Result, Trial
from xnas.workers import ThisProcess, Workers


class Pool(Protocol):
    """Evaluates trials, several at a time or one after another."""

    def submit(self, trial: Trial) -> None:
        """Take a trial; at most as many are open as the pool was built for."""

    def result(self, number: int | None = None) -> Result:
        """Wait for the result of one of the submitted trials; None: for whichever comes first."""

    def close(self) -> None:
        """Stop what is still being evaluated, and release what the pool holds."""


@dataclass(frozen=True, slots=True)
class PoolKind:
    """An entry of `POOLS`."""

    build: Callable[[Evaluator, Path, int], Pool]
    """Called with the evaluator, the folder of all trials, and how many will be open at a time."""
    summary: str
    """Where it evaluates, in one line."""
    workers: Callable[[int, bool], Workers] | None = None
    """Gives workers that do any jobs, which comparisons need: called with how many are done at a time,
    and whether they compute on GPUs."""


POOLS: Registry[PoolKind] = Registry("pool")
"""Pools by name; add your own with `POOLS.add`."""


class LocalPool:
    """Evaluates in this process, one trial after another, when its result is asked for."""

    def __init__(self, evaluator: Evaluator, trials: Path, at_once: int) -> None:  # noqa: ARG002
        self.evaluator, self.trials = evaluator, trials
        self.waiting: dict[int, Trial] = {}

    def submit(self, trial: Trial) -> None:
        """Take a trial."""
        self.waiting[trial.number] = trial

    def result(self, number: int | None = None) -> Result:
        """Evaluate a trial that was submitted; None: the one that has waited longest."""
        if not self.waiting or (number is not None and number not in self.waiting):
            asked = "any trial" if number is None else f"trial {number}"
            raise ConfigError(f"the pool was asked for {asked} without having it; submit it first")
        trial = self.waiting.pop(next(iter(self.waiting)) if number is None else number)
        return evaluate_trial(self.evaluator, trial, trial_folder(self.trials, trial.number))

    def close(self) -> None:
        """Forget the trials that wait."""
        self.waiting.clear()


POOLS.add(
    "local",
    PoolKind(LocalPool, "in this process, one cell after another", workers=lambda *_: ThisProcess()),
)
