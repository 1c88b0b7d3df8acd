"""What a training and a trained network give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xnas.records.costs import EpochCost
from xnas.records.reading import record_of, require_equal_lengths


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainEpoch:
    """One epoch of a training."""

    epoch: int
    """From 1."""
    steps: int
    """Made so far."""
    learning_rate: float
    """At the end of the epoch."""
    drop_path_rate: float
    train_loss: float
    train_accuracy: float
    """On augmented images, as the network learned from them."""
    valid_loss: float | None
    valid_accuracy: float | None
    """On held-out images, if there are any."""
    cost: EpochCost

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> TrainEpoch:
        """Return the record of a line of metrics.jsonl."""
        return record_of(cls, saved)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """Answers whose confidence lies in (lower, upper], or at 0 in the first bin."""

    lower: float
    upper: float
    images: int
    confidence: float
    """Mean probability of the answers; 0 without images."""
    accuracy: float
    """Share of them that is right; 0 without images."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How a network answers on labelled images. Shares are in 0..1."""

    images: int
    classes: tuple[str, ...]
    top1: float
    top5: float | None
    """Share whose class is among the five most probable; None with five classes or fewer."""
    loss: float
    """Mean cross-entropy."""
    counts: tuple[int, ...]
    """Images of each class."""
    accuracies: tuple[float | None, ...]
    """Of each class; None where there is no image."""
    confusion: tuple[tuple[int, ...], ...]
    """Images by true class (row) and answer (column)."""
    calibration_error: float
    """Expected calibration error: `Σ_b n_b/n |accuracy_b − confidence_b|` over bins of equal width."""
    calibration: tuple[CalibrationBin, ...]

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Evaluation:
        """Return the record in `evaluation.json`; other keys are ignored."""
        known = {name: saved[name] for name in cls.__dataclass_fields__ if name in saved}
        found = record_of(cls, known)
        require_equal_lengths(
            classes=found.classes,
            counts=found.counts,
            accuracies=found.accuracies,
            confusion=found.confusion,
        )
        for row in found.confusion:
            require_equal_lengths(classes=found.classes, confusion=row)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a classifier answers for one image."""

    label: str
    """The most probable class."""
    probability: float
    ranking: tuple[tuple[str, float], ...]
    """The most probable classes, first the label, each with its probability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFile:
    """A file that was exported and found to answer as PyTorch does."""

    path: str
    bytes: int
    difference: float | None
    """Largest deviation of a logit, as a share of the largest logit; None for bare weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Time of one batch."""

    runtime: str
    """What answers: PyTorch or onnxruntime."""
    batch: int
    milliseconds: float
    """Median over runs."""
    lower: float
    """Lower quartile, in milliseconds."""
    upper: float
    """Upper quartile, in milliseconds."""
    runs: int
    device: str = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """What an export wrote, how it was checked and how fast it is."""

    files: tuple[ExportedFile, ...]
    checked_on: str
    """Images that the answers were compared on, in words."""
    latencies: tuple[Latency, ...]
    threads: int
