"""Curves for TensorBoard, where it is installed.

TensorBoard's own writers write in a thread, which reports a full disk late and by its own traceback.
These records are written at once, by the thread that adds them.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from xnas.records import SearchEpoch, TrainEpoch, Truth


class Curves:
    """Writes numbers into FOLDER/tensorboard; does nothing without folder or TensorBoard."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.writer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.writer is not None:
            self.writer.close()

    def add(self, step: int, numbers: Mapping[str, float]) -> None:
        """Add one point to each curve, at so many rounds or steps."""
        if self.folder is None:
            return
        try:
            events = import_module("tensorboard.compat.proto.event_pb2")  # optional
            records = import_module("tensorboard.summary.writer.record_writer")
        except ImportError:
            return
        if self.writer is None:
            self.writer = records.RecordWriter(_new_file(self.folder / "tensorboard"))
            self.writer.write(events.Event(file_version="brain.Event:2").SerializeToString())
        summary = {"value": [{"tag": name, "simple_value": value} for name, value in numbers.items()]}
        event = events.Event(wall_time=time.time(), step=step, summary=summary)
        self.writer.write(event.SerializeToString())
        self.writer.flush()


def search_curves(record: SearchEpoch) -> dict[str, float]:
    """Losses, accuracies, entropies, experts and rewards of an epoch, by the names of their curves."""
    numbers = {
        "loss/train": record.train_loss,
        "loss/validation": record.valid_loss,
        "accuracy/train": record.train_accuracy,
        "accuracy/validation": record.valid_accuracy,
        "weights": record.weights_alive,
        "seconds per round": record.cost.seconds_per_round,
    }
    for kind in record.entropy:
        numbers[f"entropy/{kind}"] = record.entropy[kind]
        numbers[f"skip share/{kind}"] = record.skip_share[kind]
        numbers[f"experts/{kind}"] = record.experts_alive[kind]
        numbers |= {f"reward of {kind}/{op}": r for op, r in record.rewards[kind].items()}
    if record.truth is not None:
        kind = "true" if isinstance(record.truth, Truth) else "judged"
        numbers[f"{kind} accuracy"] = record.truth.accuracy
    return numbers


def train_curves(record: TrainEpoch) -> dict[str, float]:
    """Losses, accuracies and rates of an epoch, by the names of their curves."""
    numbers = {
        "loss/train": record.train_loss,
        "accuracy/train": record.train_accuracy,
        "learning rate": record.learning_rate,
        "drop path rate": record.drop_path_rate,
        "seconds per step": record.cost.seconds_per_round,
    }
    if record.valid_loss is not None and record.valid_accuracy is not None:
        numbers |= {
            "loss/validation": record.valid_loss,
            "accuracy/validation": record.valid_accuracy,
        }
    return numbers


def _new_file(folder: Path) -> BinaryIO:
    """A file of a name that TensorBoard looks for, sorted after those of earlier starts of the run."""
    folder.mkdir(exist_ok=True)
    name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"
    return (folder / name).open("xb")
