"""What a checkpoint of a training keeps: its state, and the best weights so far."""

from __future__ import annotations

from typing import Any

import torch

from xnas.engine.checkpoint import load_checkpoint
from xnas.engine.restore import (
    require_device,
    require_fitting,
    require_format,
    require_position,
    require_settings,
)
from xnas.engine.train import Training
from xnas.errors import ConfigError
from xnas.records import TrainEpoch
from xnas.runs.run_folder import RunFolder

CHECKPOINT = ("xnas-train-checkpoint", 2)
OLDER = (1,)
"""Versions that are read, too: 1 had the best weights in a file of their own, and no metrics."""

Best = dict[str, Any]
"""Weights that did best so far on the images held back, and their epoch; part of every checkpoint."""


def better(training: Training, records: list[TrainEpoch]) -> Best | None:
    """The weights, if no epoch before did better on the images held back."""
    answers = [r.valid_accuracy for r in records if r.valid_accuracy is not None]
    if not answers or answers[-1] <= max(answers[:-1], default=-1.0):
        return None
    with training.averaged():
        model = training.model.state_dict()
        return {"model": {n: t.to("cpu", copy=True) for n, t in model.items()}, "epoch": len(records)}


def train_state(training: Training, best: Best | None) -> dict[str, Any]:
    """All that a checkpoint keeps."""
    kind, version = CHECKPOINT
    return training.state_dict() | {"format": kind, "version": version, "best": best}


def restore(folder: RunFolder, training: Training, state: dict[str, Any]) -> Best | None:
    """Bring a training to the state of a checkpoint; gives the best weights before it."""
    kind, version = CHECKPOINT
    require_format(state, kind, (version, *OLDER), "training")
    require_settings(state, folder.settings)
    settings = training.settings
    try:
        require_position(state, epoch=settings.epochs, step_in_epoch=settings.steps_per_epoch)
        require_device(state["random"], training.batch[0].device)
        training.load_state_dict(state)
        older = state["version"] in OLDER
        best: Best | None = _best_of_version_1(folder) if older else state["best"]
        if best is not None:
            weights = require_fitting(best["model"], training.model.state_dict())
            best = {"model": {n: t.cpu() for n, t in weights.items()}, "epoch": best["epoch"]}
    except (ConfigError, torch.OutOfMemoryError):
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(
            f"the checkpoint does not fit this training ({type(error).__name__}); it is damaged, or of "
            "another"
        ) from error
    return best


def _best_of_version_1(folder: RunFolder) -> Best | None:
    path = folder.path / "checkpoints" / "best.pt"
    return load_checkpoint(path, torch.device("cpu")) if path.exists() else None
