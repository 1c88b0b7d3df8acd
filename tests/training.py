"""Small trainings for tests: networks of 3 cells and 2 channels on images of stripes."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_file
from searching import stripes

from xnas.engine import load_checkpoint
from xnas.runs.displays import Silence
from xnas.runs.run_folder import RunFolder
from xnas.runs.train_config import TrainConfig

TINY = {"cells": 3, "channels": 2, "batch_size": 8, "epochs": 3, "device": "cpu", "report": False}


def tiny(**arguments):
    return TrainConfig(**TINY | arguments)


def pictures(count=40):
    """Stripes with a test part: 4 steps per epoch if a fifth is held out."""
    test = stripes(count=20, seed=1)
    return replace(stripes(count=count), test_images=test.images, test_labels=test.labels)


class Listening(Silence):
    """Remembers what was said; may ask to stop, or spoil the weights, after a step."""

    def __init__(self, stop_after=None, spoil_after=None):
        self.lines, self.stop_after, self.spoil_after = [], stop_after, spoil_after

    def say(self, line):
        self.lines.append(line)

    def after_step(self, training):
        if training.steps == self.spoil_after:
            training.model.classifier.weight.data.fill_(float("nan"))
        if training.steps == self.stop_after:
            os.kill(os.getpid(), signal.SIGINT)


def metrics(out):
    """Metrics of a run without what depends on the machine."""
    lines = (Path(out) / "metrics.jsonl").read_text(encoding="utf8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "cost"} for line in lines]


def read(path):
    return json.loads(path.read_text(encoding="utf8"))


def checkpoint(out):
    """The newest."""
    return load_checkpoint(RunFolder(Path(out)).checkpoints.files()[0], torch.device("cpu"))


def curve(out, name):
    """Points (step, value) of a curve that a run wrote for TensorBoard."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: PLC0415

    events = EventAccumulator(str(out / "tensorboard"))
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


def same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


def same_runs(one, other):
    """Weights, metrics and figures of two run folders, bit for bit."""
    for part in ("", "best"):
        if (one / part).exists():
            same(*(load_file(run / part / "model.safetensors") for run in (one, other)))
    same(checkpoint(one)["model"], checkpoint(other)["model"])
    assert metrics(one) == metrics(other)
    assert read(one / "test.json") == read(other / "test.json")
