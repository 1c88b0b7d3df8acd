"""Whether a ledger's values can be what its evaluator gave, before a sampler learns from them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from xnas.errors import DamagedFileError
from xnas.runs.sampling.evaluators import EVALUATORS, Evaluator, KeepsValues, KnowsValues, trial_folder
from xnas.runs.sampling.lost_ledger import TRIALS
from xnas.runs.sampling.trial_ledger import REMEDY, Event
from xnas.runs.truth import SAME
from xnas.samplers import Result, Trial

KEPT = 1e-9  # shares are written as they are


def require_possible(events: Iterable[Event], evaluator: Evaluator, name: str, path: Path) -> None:
    """Raise for the first value that the evaluator `name` cannot have given; failed trials have none."""
    trials: dict[int, Trial] = {}
    for event in events:
        if isinstance(event.content, Trial):
            trials[event.content.number] = event.content
        elif event.content.value is not None:
            result = event.content
            trial = trials[result.number]
            fault = _fault(trial, result, evaluator, name) or _contradiction(
                trial, result, evaluator, path
            )
            if fault:
                raise DamagedFileError(f"{path} is damaged in line {event.line}: {fault}; {REMEDY}")


def _fault(trial: Trial, result: Result, evaluator: Evaluator, name: str) -> str:
    """What cannot be, in words; empty for a value that can."""
    value, at = result.value, result.at
    assert value is not None  # noqa: S101 - of a trial that is done
    if EVALUATORS[name].shares and not 0 <= value <= 1:
        return f"its value is {value:g}, and accuracies are shares in [0, 1]"
    if at is not None and trial.budget is not None and at > trial.budget:
        return f"it was measured at epoch {at}, and trial {trial.number} has {trial.budget}"
    if isinstance(evaluator, KnowsValues):
        known, epoch = evaluator.known_value(trial)
        if at != epoch:
            return f"it was measured at epoch {at}, and the evaluator {name} knows that of epoch {epoch}"
        if 100 * abs(value - known) > SAME:
            return f"its value is {value:.8g}, and the evaluator {name} knows {known:.8g} for its cell"
    return ""


def _contradiction(trial: Trial, result: Result, evaluator: Evaluator, path: Path) -> str:
    """How a value differs from what the trial's folder still says, in words."""
    if not isinstance(evaluator, KeepsValues) or result.value is None:
        return ""
    folder = trial_folder(path.with_name(TRIALS), trial.number)
    kept = evaluator.kept_value(trial, folder)
    if kept is None or (abs(result.value - kept[0]) <= KEPT and result.at == kept[1]):
        return ""
    return (
        f"its value is {result.value:.8g} at epoch {result.at}, and the training in {folder} has "
        f"{kept[0]:.8g} at epoch {kept[1]}"
    )
