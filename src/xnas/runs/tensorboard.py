"""Curves for TensorBoard, where it is installed."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

from xnas.records import SearchEpoch


class Curves:
    """Writes an epoch's numbers into FOLDER/tensorboard; does nothing without folder or TensorBoard."""

    def __init__(self, folder: Path | None) -> None:
        self.writer: Any = None
        if folder is None:
            return
        try:
            from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 - optional
        except ImportError:
            return
        self.writer = SummaryWriter(str(folder / "tensorboard"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.writer is not None:
            self.writer.close()

    def add(self, record: SearchEpoch) -> None:
        """Losses, accuracies, entropies, experts and rewards, against rounds."""
        if self.writer is None:
            return
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
            numbers["true accuracy"] = record.truth.test_200
        for name, value in numbers.items():
            self.writer.add_scalar(name, value, record.rounds)
