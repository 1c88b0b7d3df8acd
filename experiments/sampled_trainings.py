"""Searches of the DARTS space that train every cell they draw, and one by shared weights.

    python experiments/sampled_trainings.py --data-dir DIR --truth CELLS.csv --at-once 3 --seconds 540

Three samplers have one small budget: `EVALUATIONS` cells by short trainings, `WORKERS` of them in
parallel, all with seed 0. The value of a cell is its validation accuracy at the end of its training.
The judge that is fitted to CELLS.csv estimates the answer, for the report alone. Samplers have settings
that suit so few evaluations; they were fixed before the first search.

The fourth job evaluates cells by the weights of a search that is played first, with single paths, for
few epochs: it is there for the milliseconds of an evaluation, not for its answer.

A search that has no time left is stopped, and the next call resumes it. `--at-once 3` plays the searches
in parallel, so that seconds are those of a shared GPU.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import sys
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from jobs import (
    Budget,
    Job,
    Record,
    ResultsFile,
    Spent,
    chosen,
    forget,
    lent,
    overview,
    play,
    play_at_once,
    results_file,
    script,
    shared_arguments,
    start_process,
    told_left,
)
from watch import Watch, ran_on
from xnas.process.interrupt import Interrupted
from xnas.runs.command_line import flags
from xnas.runs.results import SampleResult
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.loop import Evaluated, SampleLoop
from xnas.runs.sampling.sample import resume_sampling, sample
from xnas.runs.search import resume_search, search
from xnas.runs.search_config import SearchConfig

RESULTS = "sampled_trainings.jsonl"
EVALUATIONS = 24
WORKERS = 4
SHARED_EVALUATIONS = 100
PLANNED = 300.0  # seconds on one H200, three searches at once; an estimate
WEIGHTS = {"method": "random", "epochs": 2, "seed": 0}
"""Of the search whose shared weights evaluate cells."""
TINY = {"epochs": 1, "cells": 3, "channels": 2, "batch_size": 256, "evaluations": 4, "at_once": 2}
TINY_SHARED = {"evaluations": 4}
TINY_WEIGHTS = {"epochs": 1, "cells": 3, "channels": 4, "batch_size": 96}
SETTINGS = {
    "random": None,
    "evolution": "population=8,sample=3",
    "tpe": "startup=8,multivariate=True",
}


@dataclass(frozen=True, kw_only=True)
class SampledSearch(Job):
    """One search by sampling."""

    weights: Mapping[str, Any] | None = None
    """Settings of the search that is played first, whose weights evaluate cells."""

    @property
    def command(self) -> str:
        """What a user would type; FILE is a CSV of DARTS cells with accuracies."""
        given = {} if self.weights is None else {"weights": Path("RUN")}
        return f"xnas sample {self.data} {flags({**self.options, **given})}"

    @property
    def weights_command(self) -> str | None:
        """What makes RUN."""
        return None if self.weights is None else f"xnas search {self.data} {flags(self.weights)}"

    def config(self) -> SampleConfig:
        """The settings that the command gives."""
        return SampleConfig(**self.options)


def _job(sampler: str) -> SampledSearch:
    settings = SETTINGS[sampler]
    return SampledSearch(
        name=f"trained-{sampler}",
        data="cifar10",
        options={
            "sampler": sampler,
            **({} if settings is None else {"settings": settings}),
            "evaluations": EVALUATIONS,
            "epochs": 4,
            "cells": 5,
            "channels": 16,
            "at_once": WORKERS,
            "pool": "processes",
            "seed": 0,
            "truth": Path("FILE"),
        },
        planned=PLANNED,
    )


SHARED = SampledSearch(
    name="shared-random",
    data="cifar10",
    options={
        "sampler": "random",
        "evaluator": "shared",
        "evaluations": SHARED_EVALUATIONS,
        "seed": 0,
        "truth": Path("FILE"),
    },
    planned=60.0,
    weights=WEIGHTS,
)
JOBS = (*(_job(sampler) for sampler in SETTINGS), SHARED)


class SampleWatch(Watch):
    """Prints a line per evaluation, and presses Ctrl-C at a deadline."""

    def __init__(self, name: str, *, deadline: float) -> None:
        """`deadline` is a time of `time.perf_counter`."""
        super().__init__(name, deadline=deadline)
        wait = min(max(0.0, deadline - time.perf_counter()), threading.TIMEOUT_MAX)
        self.timer = threading.Timer(wait, self._press)
        self.timer.daemon = True
        self.timer.start()

    def after_trial(self, one: Evaluated, loop: SampleLoop) -> None:
        """Say what the cell is worth."""
        value = one.result.value
        worth = "failed" if value is None else f"{100 * value:.2f} %"
        self.say(f"evaluation {loop.evaluated}: cell {one.trial.number}, {worth}")

    def _press(self) -> None:
        self.pressed = True
        os.kill(os.getpid(), signal.SIGINT)


def tiny(job: SampledSearch) -> SampledSearch:
    """The same job in seconds."""
    if job.weights is not None:
        options = {**job.options, **TINY_SHARED}
        weights = {**job.weights, **TINY_WEIGHTS}
        return replace(job, data="digits", options=options, weights=weights, planned=10.0)
    return replace(job, data="digits", options={**job.options, **TINY}, planned=10.0)


class Runner:
    """Plays one search in this process, or resumes it."""

    def __init__(self, arguments: Namespace, budget: Budget) -> None:
        self.arguments, self.budget = arguments, budget

    def __call__(self, job: SampledSearch) -> Record | None:
        """Search; None if time was up."""
        folder = self.arguments.runs / job.folder_name
        if not (folder / "config.json").exists():
            forget(folder)
        spent = Spent(folder)
        spent.begin(self.arguments.at_once)
        began = time.perf_counter()
        watch = SampleWatch(job.name, deadline=self.budget.deadline())
        try:
            result = self._search(job, folder, watch)
        except Interrupted as stop:
            if not watch.pressed:  # by a user, who wants no other job to begin either
                raise
            watch.say(str(stop))
            return None
        finally:
            watch.timer.cancel()
            spent.end(time.perf_counter() - began)
        return _record(job, result) | {
            "search_seconds": None if spent.total is None else round(spent.total, 2),
            "calls": spent.calls,
            "at_once": max(spent.at_once),
            **ran_on(self.arguments.device),
        }

    def clear(self, job: SampledSearch) -> None:
        """Delete its run folder, unless it is to be kept."""
        if not self.arguments.keep:
            forget(self.arguments.runs / job.folder_name)
            forget(self._weights_folder(job))

    def _search(self, job: SampledSearch, folder: Path, watch: SampleWatch) -> SampleResult:
        if (folder / "config.json").exists():
            return resume_sampling(folder, display=watch, **lent(self.arguments))
        config = replace(
            job.config(),
            weights=None if job.weights is None else self._weights(job, watch),
            out=folder,
            device=self.arguments.device,
            data_dir=self.arguments.data_dir,
            truth=self.arguments.truth,
            report=False,
        )
        return sample(config, job.data, display=watch)

    def _weights(self, job: SampledSearch, watch: SampleWatch) -> Path:
        """The run folder of the search whose weights evaluate cells; it is played if it is not there."""
        folder = self._weights_folder(job)
        if (folder / "genotype.json").exists():
            return folder
        if (folder / "config.json").exists():
            resume_search(folder, display=watch, **lent(self.arguments))
            return folder
        forget(folder)
        places = {"out": folder, "device": self.arguments.device, "data_dir": self.arguments.data_dir}
        search(SearchConfig(**job.weights or {}, **places, report=False), job.data, display=watch)
        return folder

    def _weights_folder(self, job: SampledSearch) -> Path:
        folder: Path = self.arguments.runs / f"{job.folder_name}-weights"
        return folder


def _record(job: SampledSearch, result: SampleResult) -> Record:
    """What the search gave: values are shares, in the order in which they came."""
    return {
        "job": job.name,
        "command": job.command,
        "weights_command": job.weights_command,
        "sampler": job.options["sampler"],
        "data": job.data,
        "seed": job.options["seed"],
        "values": [None if s.value is None else round(s.value, 5) for s in result.evaluations],
        "parameters": [s.parameters for s in result.evaluations],
        "cells": [json.loads(cell.to_json()) for cell in result.cells],
        "evaluation_seconds": round(statistics.median(_seconds(result)), 4),
        "epochs": result.evaluations[-1].epochs,
        "value": round(result.value, 5),
        "genotype": json.loads(result.genotype.to_json()),
        "truth": None if result.truth is None else asdict(result.truth),
    }


def _seconds(result: SampleResult) -> list[float]:
    """Of each evaluation."""
    ends = [0.0, *(s.seconds for s in result.evaluations if s.seconds is not None)]
    return [after - before for before, after in pairwise(ends)]


def _arguments(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    shared_arguments(parser, RESULTS)
    parser.add_argument("--truth", type=Path, help="CSV of DARTS cells with accuracies, for the report")
    parser.add_argument("--at-once", type=int, default=1, help="searches in parallel")
    parser.add_argument("--in-process", action="store_true", help="one after another in this process")
    arguments = parser.parse_args(words)
    if arguments.at_once < 1:
        parser.error(f"--at-once must be at least 1, got {arguments.at_once}")
    return arguments


def main(given: Sequence[str] | None = None) -> int:
    """Run what is left, or list it; 0 when nothing is left, 3 otherwise."""
    words = list(sys.argv[1:] if given is None else given)
    arguments = _arguments(words)
    results: ResultsFile = results_file(arguments, RESULTS)
    jobs = chosen([tiny(job) for job in JOBS] if arguments.tiny else JOBS, arguments.only)
    if arguments.list:
        print(overview(jobs, results))
        return 0
    budget = Budget(arguments.seconds, cut=True)
    if arguments.in_process or arguments.at_once == 1:
        runner = Runner(arguments, budget)
        left = play(jobs, results, budget, runner, runner.clear)
    else:
        start = partial(
            start_process, script=__file__, words=words, budget=budget, at_once=arguments.at_once
        )
        left = play_at_once(jobs, results, budget, start, at_once=arguments.at_once)
    print(told_left(left, jobs))
    return 3 if left else 0


if __name__ == "__main__":
    script(main)
