"""Plans and speeds for tests of fits: made up, and so small that a whole fit takes seconds."""

import os
import signal
from dataclasses import replace

import torch
from searching import stripes

from xnas.records import (
    FitPlan,
    FitRow,
    Latency,
    PlannedCells,
    PlannedSearch,
    PlannedTraining,
    RowCost,
    SearchSpeed,
    Settled,
    Speeds,
    TrainSpeed,
)
from xnas.runs.displays import Silence


def speed(cell="xnas", cells=3, channels=8, **numbers):
    known = {"steps": 20, "start": 0.5, "step": 0.02, "epoch_end": 0.1} | numbers
    return TrainSpeed(cell=cell, cells=cells, channels=channels, **known)


def searching_speed(cells=3, channels=4, **numbers):
    known = {"space": "darts", "batch_size": 32, "start": 0.5, "round": 0.05, "epoch_end": 0.2} | numbers
    return SearchSpeed(cells=cells, channels=channels, **known)


SPEEDS = Speeds(
    search=(searching_speed(), searching_speed(5, 8, round=0.1)),
    cells=(speed(), speed(cells=5, channels=16, step=0.05)),
    resnet=(speed("resnet-8", 3, 16, step=0.01), speed("resnet-20", 3, 16, step=0.03)),
    end=3.0,
)

SMALL_PLAN = FitPlan(
    minutes=1.0,
    spent=0.0,
    validation=0.2,
    search=PlannedSearch(
        space="darts", images=32, batch_size=8, cells=3, channels=2, epochs=2, seconds=2.0
    ),
    cells=PlannedCells(published=None, cells=3, channels=2, epochs=2, seconds=2.0),
    resnet=PlannedTraining(cell="resnet-8", cells=3, channels=16, epochs=2, seconds=1.0),
    pretrained=None,
    end=1.0,
    decisions=(),
    settled=(
        Settled(stage="cells", epochs=4, seconds=2.0),
        Settled(stage="resnet", epochs=2, seconds=1.0),
    ),
)
"""Its epochs are settled, so that they do not depend on the machine."""


def pictures(count=80):
    """Stripes with test images."""
    test = stripes(count=20, seed=1)
    return replace(stripes(count=count), test_images=test.images, test_labels=test.labels)


def row(name, accuracy, *, parameters=1000, error=0.02):
    latency = Latency(runtime="PyTorch", batch=1, milliseconds=2.0, lower=1.9, upper=2.1, runs=5)
    return FitRow(
        name=name,
        what=f"{name} of 2 channels",
        accuracy=accuracy,
        lower=accuracy - error,
        upper=accuracy + error,
        parameters=parameters,
        macs=2_000_000,
        epochs=4,
        out=name,
        cost=RowCost(latency=latency, seconds=12.0),
    )


def answers(images=100, **right):
    """Of each network, whether it answers each image rightly: the first `right` of them, say."""
    return {name: torch.arange(images) < count for name, count in right.items()}


class Watching(Silence):
    """Remembers what a fit reports; may stop it after so many rounds and steps in all."""

    def __init__(self, stop_after=None):
        self.lines, self.warnings, self.stages = [], [], []
        self.count, self.stop_after = 0, stop_after

    def say(self, line):
        self.lines.append(line)

    def warn(self, line):
        self.warnings.append(line)

    def begin_stage(self, stage, seconds, left):
        self.stages.append((stage, seconds, left))

    def after_round(self, _):
        self._count()

    def after_step(self, _):
        self._count()

    def _count(self):
        self.count += 1
        if self.count == self.stop_after:
            os.kill(os.getpid(), signal.SIGINT)
