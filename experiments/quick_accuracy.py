"""Accuracies of short trainings, and what they take: the recipe `quick` at a few time settings.

Each job is what `xnas train CELL DATA --recipe quick --epochs N --seed S` runs. See README.md here.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jobs import (
    ROOT,
    STARTED,
    Budget,
    Job,
    Record,
    Spent,
    chosen,
    flags,
    forget,
    overview,
    play,
    results_file,
    shared_arguments,
)
from watch import Watch, ran_on
from xnas.runs.interrupt import Interrupted
from xnas.runs.train import TrainResult, resume_training, train
from xnas.runs.train_config import TrainConfig

IMPORTED = time.perf_counter() - STARTED

# Epochs of the recipe that fit into each time on the GPU of docs/results.md.
EPOCHS_100_S = 24
EPOCHS_4_MIN = 64
EPOCHS_10_MIN = 200
EPOCHS_MEDIUM = 4
EPOCHS_LARGE = 3

TINY = {"epochs": 2, "cells": 3, "channels": 2, "batch_size": 256}


@dataclass(frozen=True, kw_only=True)
class Training(Job):
    """One training."""

    setting: str
    """The time that its epochs are meant to fill."""
    cell: str

    @property
    def command(self) -> str:
        """What a user would type, at the root of the repository."""
        return f"xnas train {self.cell} {self.data} {flags(self.options)}"

    def config(self) -> TrainConfig:
        """The settings that the command gives."""
        return TrainConfig(cell=self.cell, **self.options)


def _job(
    setting: str,
    cell: str,
    data: str = "cifar10",
    *,
    seed: int = 0,
    epochs: int,
    planned: float,
    cutout: int | None = None,
) -> Training:
    """`cutout` for trainings that see each image often."""
    options: dict[str, str | int] = {"recipe": "quick", "epochs": epochs, "seed": seed}
    if cutout is not None:
        options["cutout"] = cutout
    other = [data] * (data != "cifar10")
    name = "-".join([setting.replace(" ", ""), Path(cell).stem, *other, str(seed)])
    return Training(name=name, setting=setting, cell=cell, data=data, options=options, planned=planned)


JOBS = (
    _job("100 s", "xnas", seed=0, epochs=EPOCHS_100_S, planned=75),
    _job("100 s", "xnas", seed=1, epochs=EPOCHS_100_S, planned=60),
    _job("100 s", "xnas", seed=2, epochs=EPOCHS_100_S, planned=60),
    _job("100 s", "darts_v2", epochs=EPOCHS_100_S, planned=60),
    _job("100 s", "experiments/cells/random_1.json", epochs=EPOCHS_100_S, planned=60),
    _job("100 s", "experiments/cells/random_2.json", epochs=EPOCHS_100_S, planned=60),
    _job("100 s", "xnas", "fashion_mnist", epochs=EPOCHS_100_S, planned=70),
    _job("4 min", "xnas", epochs=EPOCHS_4_MIN, cutout=8, planned=145),
    _job("10 min", "xnas", epochs=EPOCHS_10_MIN, cutout=16, planned=440),
    _job("100 s", "xnas_medium", epochs=EPOCHS_MEDIUM, planned=65),
    _job("100 s", "xnas_large", epochs=EPOCHS_LARGE, planned=65),
)
"""The random cells are `Genotype.random("darts", 1)` and `2`."""


def tiny(job: Training) -> Training:
    """The same job in seconds."""
    return replace(job, data="digits", options={**job.options, **TINY}, planned=5.0)


class Runner:
    """Runs trainings one after another in this process."""

    def __init__(self, arguments: Namespace, budget: Budget) -> None:
        self.arguments, self.budget, self.first = arguments, budget, True

    def __call__(self, job: Training) -> Record | None:
        """Train, or go on training; None if time was up."""
        folder = self.arguments.runs / job.folder_name
        if (folder / "model.json").exists() or not (folder / "config.json").exists():
            forget(folder)  # nothing to go on with, or finished by a process that could not say so
        spent = Spent(folder)
        spent.begin()
        gc.collect()  # what the job before held is not this one's memory
        whole, self.first = self.first and spent.calls == 1, False
        watch = Watch(job.name, deadline=self.budget.deadline())
        began = time.perf_counter()
        try:
            result = self._train(job, folder, watch)
        except Interrupted as stop:
            if not watch.pressed:  # by a user, who wants no other job to begin either
                raise
            watch.say(str(stop))
            return None
        finally:
            spent.end(time.perf_counter() - began)
        return _record(job, result) | {
            "train_seconds": _rounded(spent.total),
            "calls": spent.calls,
            "ready_seconds": _rounded(watch.ready),
            "import_seconds": _rounded(IMPORTED),
            "process_seconds": _rounded(time.perf_counter() - STARTED) if whole else None,
            **ran_on(self.arguments.device),
        }

    def clear(self, job: Training) -> None:
        """Delete its run folder, unless it is to be kept."""
        if not self.arguments.keep:
            forget(self.arguments.runs / job.folder_name)

    def _train(self, job: Training, folder: Path, watch: Watch) -> TrainResult:
        if (folder / "config.json").exists():
            return resume_training(folder, display=watch)
        cell = str(ROOT / job.cell) if job.cell.endswith(".json") else job.cell
        config = replace(
            job.config(),
            cell=cell,
            out=folder,
            device=self.arguments.device,
            data_dir=self.arguments.data_dir,
        )
        return train(config, job.data, display=watch)


def _record(job: Training, result: TrainResult) -> Record:
    """What the training gave: accuracies are shares, times seconds."""
    settings = json.loads((Path(result.out) / "config.json").read_text(encoding="utf8"))["config"]
    genotype = json.loads((Path(result.out) / "genotype.json").read_text(encoding="utf8"))
    last = result.epochs[-1]
    return {
        "job": job.name,
        "command": job.command,
        "setting": job.setting,
        "cell": Path(job.cell).stem,
        "data": job.data,
        "seed": job.options["seed"],
        "epochs": len(result.epochs),
        "batch_size": settings["batch_size"],
        "cells": settings["cells"],
        "channels": settings["channels"],
        "parameters": result.parameters,
        "macs": result.macs,
        "precision": settings["precision"],
        "backend": settings["backend"],
        "test_accuracy": None if result.test is None else result.test.top1,
        "train_accuracy": last.train_accuracy,
        "train_loss": last.train_loss,
        "epoch_seconds": _rounded(statistics.median(e.cost.seconds for e in result.epochs)),
        "memory_bytes": max(e.cost.memory_bytes for e in result.epochs),
        "genotype": genotype,
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 2)


def main(words: Sequence[str] | None = None) -> int:
    """Run what is left, or list it; 0 when nothing is left, 3 otherwise."""
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    shared_arguments(parser, "quick.jsonl")
    arguments = parser.parse_args(words)
    results = results_file(arguments, "quick.jsonl")
    jobs = chosen([tiny(job) for job in JOBS] if arguments.tiny else JOBS, arguments.only)
    if arguments.list:
        print(overview(jobs, results))
        return 0
    budget = Budget(arguments.seconds, cut=arguments.cut)
    runner = Runner(arguments, budget)
    left = play(jobs, results, budget, runner, runner.clear)
    print(f"{len(left)} of {len(jobs)} jobs left{': ' if left else ''}{', '.join(j.name for j in left)}")
    return 3 if left else 0


if __name__ == "__main__":
    raise SystemExit(main())
