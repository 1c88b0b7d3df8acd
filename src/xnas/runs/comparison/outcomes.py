"""What became of a run, read from its folder: accuracy, curve, cost. Nothing is trusted to memory."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from xnas.errors import ConfigError
from xnas.records import ComparedRun, Judgement, SearchEpoch, TrainEpoch, Truth
from xnas.runs.comparison.plan import PlannedRun, place_in, training_in
from xnas.runs.listing.kinds import RunFiles, number
from xnas.runs.listing.own_kinds import cell_words
from xnas.runs.metrics_file import MetricsFile
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.costs_file import NAME as COSTS
from xnas.runs.sampling.costs_file import CostsFile
from xnas.runs.sampling.evaluators import EVALUATORS
from xnas.runs.sampling.trial_ledger import NAME as LEDGER
from xnas.runs.sampling.trial_ledger import TrialLedger
from xnas.runs.search_config import SearchConfig
from xnas.runs.truth import Benchmark, recorded_cell
from xnas.samplers import Trial
from xnas.space import Genotype

GENOTYPE = "genotype.json"
METRICS = "metrics.jsonl"


def waiting(run: PlannedRun, reason: str | None = None) -> ComparedRun:
    """A run without an outcome: to come or, with a reason, failed."""
    return ComparedRun(
        name=run.name,
        entry=run.entry,
        data=run.data,
        space=run.space,
        seed=run.seed,
        state="waiting" if reason is None else "failed",
        reason=reason,
    )


def outcome(run: PlannedRun, folder: Path, truth: Benchmark | None) -> ComparedRun:
    """The outcome of a finished run; raises if a file of it is damaged.

    The accuracy is what `truth` says of the cell, else the test accuracy of its training, else the
    validation accuracy that the search ended with.
    """
    place = place_in(folder, run)
    found = waiting(run)
    seconds: list[float] = []
    peaks: list[int] = []
    cell = Genotype.random(run.space, run.seed)
    if run.search is not None:
        cell = Genotype.load(place / GENOTYPE)
    if isinstance(run.search, SearchConfig):
        epochs = MetricsFile(place / METRICS, nullcontext).records(SearchEpoch.from_json)
        found = replace(found, curve=_curve_of_epochs(epochs, truth))
        seconds += [epoch.cost.seconds for epoch in epochs]
        peaks += [epoch.cost.memory_bytes for epoch in epochs]
    elif isinstance(run.search, SampleConfig):
        found = replace(found, curve=_curve_of_cells(place, truth))
        if EVALUATORS[run.search.evaluator].leaves_files:
            seconds += CostsFile(place / COSTS, nullcontext).seconds().values()
            peaks += _peaks_of_trials(place)
    accuracy = found.curve[-1][1] if found.curve else None
    if truth is not None:
        accuracy = truth.truth(cell).accuracy
    if run.train is not None:
        trained = training_in(folder, run)
        trainings = MetricsFile(trained / METRICS, nullcontext).records(TrainEpoch.from_json)
        accuracy = _tested(trained, trainings)
        seconds += [epoch.cost.seconds for epoch in trainings]
        peaks += [epoch.cost.memory_bytes for epoch in trainings]
    if accuracy is None:
        raise ConfigError(
            f"nothing was measured in {place.parent}: the data have no test images; hold some out, as "
            "with --train validation=0.2"
        )
    return replace(
        found,
        state="done",
        accuracy=accuracy,
        cell=cell_words(json.loads(cell.to_json())),
        minutes=sum(seconds) / 60 if seconds else None,
        memory_bytes=max(peaks, default=None),
    )


def finished(run: PlannedRun, folder: Path) -> bool:
    """Whether the files that a run writes last are there."""
    last = [place_in(folder, run) / GENOTYPE] * (run.search is not None)
    last += [training_in(folder, run) / "model.json"] * (run.train is not None)
    return all(path.is_file() for path in last)


def _curve_of_epochs(
    epochs: Iterable[SearchEpoch], truth: Benchmark | None
) -> tuple[tuple[int, float], ...]:
    """Accuracy of the cell of each epoch; without a benchmark, of the supernet on held-out images."""
    return tuple(
        (epoch.epoch, accuracy)
        for epoch in epochs
        if (accuracy := _accuracy_of(epoch, truth)) is not None
    )


def _accuracy_of(epoch: SearchEpoch, truth: Benchmark | None) -> float | None:
    if truth is None:
        return 100 * epoch.valid_accuracy
    if isinstance(epoch.truth, Truth | Judgement):
        return epoch.truth.accuracy
    cell = recorded_cell(epoch)
    return None if cell is None else truth.truth(cell).accuracy


def _curve_of_cells(place: Path, truth: Benchmark | None) -> tuple[tuple[int, float], ...]:
    """Accuracy of the best cell so far, each time that it changes, and at the end."""
    points: list[tuple[int, float]] = []
    told = 0
    for told, cell, value in _bests(place):
        points.append((told, 100 * value if truth is None else truth.truth(cell).accuracy))
    total = len([event for event in _ledger(place).events if not isinstance(event.content, Trial)])
    return (*points, (total, points[-1][1])) if points and told < total else tuple(points)


def _bests(place: Path) -> Iterator[tuple[int, Genotype, float]]:
    """After how many results a better cell came, the cell and its value; a higher rung is better."""
    trials: dict[int, Trial] = {}
    told, best = 0, (0, -math.inf)
    for event in _ledger(place).events:
        content = event.content
        if isinstance(content, Trial):
            trials[content.number] = content
            continue
        told += 1
        trial = trials[content.number]
        if content.value is not None and (trial.budget or 0, content.value) > best:
            best = (trial.budget or 0, content.value)
            yield told, trial.genotype, content.value


def _ledger(place: Path) -> TrialLedger:
    return TrialLedger(place / LEDGER, nullcontext, durable=False)


def _peaks_of_trials(place: Path) -> list[int]:
    """The memory that trainings of cells recorded."""
    trials = sorted((place / "trials").glob("*/")) if (place / "trials").is_dir() else []
    costs = [RunFiles(trial).newest.get("cost") for trial in trials]
    known = (number(cost.get("memory_bytes")) for cost in costs if isinstance(cost, dict))
    return [int(memory) for memory in known if memory is not None]


def _tested(trained: Path, epochs: list[TrainEpoch]) -> float | None:
    """Test accuracy of a training; where there are no test images, the last on held-out ones."""
    tested = number(RunFiles(trained).json("test.json").get("top1"))
    if tested is None and epochs:
        tested = epochs[-1].valid_accuracy
    return None if tested is None else 100 * tested
