"""Trainings as jobs: what `xnas train CELL DATA` does, followed and timed, as a line of results."""

from __future__ import annotations

import gc
import json
import statistics
import time
from argparse import Namespace
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from jobs import ROOT, STARTED, Budget, Job, Record, Spent, forget, lent
from watch import Watch, ran_on
from xnas.process.interrupt import Interrupted
from xnas.runs.command_line import flags
from xnas.runs.results import TrainResult
from xnas.runs.train import resume_training, train
from xnas.runs.train_config import TrainConfig

IMPORTED = time.perf_counter() - STARTED

EPOCHS_100_S = 24
"""Epochs of the recipe `quick` that fit into 100 seconds on the GPU of docs/results.md."""

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


T = TypeVar("T", bound=Training)


def tiny(job: T) -> T:
    """The same job in seconds."""
    return replace(job, data="digits", options={**job.options, **TINY}, planned=5.0)


class Runner:
    """Runs trainings one after another in this process."""

    def __init__(self, arguments: Namespace, budget: Budget) -> None:
        self.arguments, self.budget, self.first = arguments, budget, True

    def __call__(self, job: Training) -> Record | None:
        """Train, or resume a training; None if time was up."""
        folder = self.arguments.runs / job.folder_name
        if (folder / "model.json").exists() or not (folder / "config.json").exists():
            forget(folder)  # nothing to resume, or finished by a process that could not say so
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
            return resume_training(folder, display=watch, **lent(self.arguments))
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
        "valid_accuracy": last.valid_accuracy,
        "train_accuracy": last.train_accuracy,
        "train_loss": last.train_loss,
        "epoch_seconds": _rounded(statistics.median(e.cost.seconds for e in result.epochs)),
        "memory_bytes": max(e.cost.memory_bytes for e in result.epochs),
        "genotype": genotype,
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 2)
