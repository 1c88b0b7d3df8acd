"""What a checkpoint holds of a training, and how a training is restored from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xnas.engine.restore import (
    fitting,
    require_device,
    require_fitting,
    require_format,
    require_position,
)
from xnas.engine.train import Training
from xnas.records import TrainEpoch

TRAIN_FORMAT = ("xnas-train-checkpoint", (2,))
"""Name and versions."""

Best = dict[str, Any]
"""The weights with the best accuracy on held-out images so far, and their epoch."""


def train_state(training: Training, best: Best | None) -> dict[str, Any]:
    """Everything that changes in a training, with the best weights so far."""
    name, (version,) = TRAIN_FORMAT
    return training.state_dict() | {"format": name, "version": version, "best": best}


def restore_training(training: Training, state: dict[str, Any]) -> Best | None:
    """Bring a training to a saved state and return its best weights; raises if it does not fit."""
    require_format(state, TRAIN_FORMAT, "training")
    s = training.settings
    with fitting("training"):
        require_position(state, epoch=s.epochs, step_in_epoch=s.steps_per_epoch)
        require_device(state["random"], training.device)
        training.load_state_dict(state)
        best: Best | None = state["best"]
        if best is None:
            return None
        weights = require_fitting(best["model"], training.model.state_dict())
        return {"model": {n: t.cpu() for n, t in weights.items()}, "epoch": best["epoch"]}


def better(training: Training, records: Sequence[TrainEpoch]) -> Best | None:
    """The present weights if no epoch before did better on held-out images, else None."""
    accuracies = [r.valid_accuracy for r in records if r.valid_accuracy is not None]
    if not accuracies or accuracies[-1] <= max(accuracies[:-1], default=-1.0):
        return None
    with training.averaged():
        model = training.model.state_dict()
        return {"model": {n: t.to("cpu", copy=True) for n, t in model.items()}, "epoch": len(records)}
