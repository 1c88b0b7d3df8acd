"""Evaluators: what a cell is worth. A search that samples cells knows nothing else of them.

    evaluator = EVALUATORS["table"].build(config, images)
    result = evaluate_trial(evaluator, trial, folder)

An evaluator is made once per run, from the options and the data: images, or their name as it was given
if `needs_images` is off. It travels to
the processes of a pool, so it can be pickled, and gives the same result for the same trial wherever and
however often it is asked. `folder` is where it may write while it evaluates this trial, such as
RUN/trials/00017. One that trains resumes there what was begun, and reads what is finished.

One that does not know every number of epochs says so by `require_budget`, before the run folder is made.

`table` and `surrogate` ask a benchmark. Add yours with `EVALUATORS.add(name, EvaluatorKind(...))`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from xnas.errors import GenotypeError, RoundError
from xnas.process.failures import failure
from xnas.registry import Registry
from xnas.runs.cell_costs import Latencies
from xnas.runs.sampling.config import SampleConfig
from xnas.samplers import Result, Trial
from xnas.space import Genotype
from xnas.space.network_size import NetworkSize
from xnas.words import short


class Evaluator(Protocol):
    """Knows, estimates or measures the validation accuracy of cells."""

    @property
    def line(self) -> str:
        """What is done for a cell, in one line."""

    def evaluate(self, trial: Trial, folder: Path) -> Result:
        """Return the result of a trial: a share, and `at` which epoch it was measured.

        A RoundError, a GenotypeError or a lack of memory makes the trial a failed one; any other error
        ends the run.
        """

    def size(self, genotype: Genotype) -> NetworkSize:
        """Return the size of the network that is evaluated, which limits hold for."""


@runtime_checkable
class KnowsBudgets(Protocol):
    """An evaluator that cannot evaluate cells at every number of epochs."""

    def require_budget(self, budget: int | None) -> None:
        """Raise a ConfigError unless trials of this budget can be evaluated."""


@runtime_checkable
class TimesNetworks(Protocol):
    """An evaluator whose networks can be timed on this machine."""

    def latencies(
        self, config: SampleConfig, saved: Callable[[Latencies], Latencies] | None
    ) -> Latencies:
        """Return what networks take; `saved` puts the times of a run in place of new ones."""


@runtime_checkable
class KnowsValues(Protocol):
    """An evaluator that only looks values up, so that those of a ledger can be compared with them."""

    def known_value(self, trial: Trial) -> tuple[float, int]:
        """Return the value and the epoch that `evaluate` gives."""


@runtime_checkable
class KeepsValues(Protocol):
    """An evaluator whose folders of trials still say what their values were."""

    def kept_value(self, trial: Trial, folder: Path) -> tuple[float, int] | None:
        """Return value and epoch of a finished evaluation, if the folder has them."""


@dataclass(frozen=True, slots=True)
class EvaluatorKind:
    """An entry of `EVALUATORS`."""

    build: Callable[[SampleConfig, Any], Evaluator]
    """Called with the options and the data: `Images`, or without `needs_images` a name or None."""
    summary: str
    """What it does, in one line."""
    needs_images: bool = True
    leaves_files: bool = True
    """Whether an evaluation leaves anything in its folder, which a lost ledger would not know of."""
    whole_cells: bool = False
    """Whether it evaluates no cells but those that have all nodes of their space."""
    shares: bool = False
    """Whether its values are shares, so that others in a ledger are refused."""
    unused: frozenset[str] = frozenset()
    """Names of options that change nothing with it. A run that is given one warns."""


EVALUATORS: Registry[EvaluatorKind] = Registry("evaluator")
"""Evaluators by name; add your own with `EVALUATORS.add`."""


def evaluate_trial(evaluator: Evaluator, trial: Trial, folder: Path) -> Result:
    """Evaluate one trial in its folder. What a pool calls, in whatever process.

    Failures of the training, of the cell and of memory become a failed result with their line; it is not
    tried again. Everything else is raised: lost files or processes are the pool's affair.
    """
    started = time.perf_counter()
    try:
        result = evaluator.evaluate(trial, folder)
    except (RoundError, GenotypeError) as error:
        result = Result(number=trial.number, value=None, state="failed", reason=short(error))
    except (MemoryError, RuntimeError) as error:
        reason = failure(error)
        if reason is None:
            raise
        result = Result(number=trial.number, value=None, state="failed", reason=reason)
    return replace(result, cost={"seconds": time.perf_counter() - started, **result.cost})


def trial_folder(trials: Path, number: int) -> Path:
    """The folder of one trial: RUN/trials/00017."""
    return trials / f"{number:05}"
