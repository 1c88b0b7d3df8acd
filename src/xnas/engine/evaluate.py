"""Evaluation: how a network answers on labelled images, batch by batch.

Sums alone are kept from one batch to the next, so that memory does not grow with the images. Confidence
is the probability that the network gives its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from xnas.errors import ConfigError
from xnas.records import CalibrationBin, Evaluation

CALIBRATION_BINS = 15
TOP = 5
TOGETHER = 8
"""Batches of a training that a GPU answers as one: with single ones it waits for launches, and eight
without gradients need less memory than one with them."""


@torch.no_grad()
def evaluate(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    classes: Sequence[str],
    *,
    follow: Callable[[Tensor, Tensor, Tensor], None] | None = None,
) -> Evaluation:
    """Accuracy, loss, confusion and calibration over batches of standardised images and labels.

    The network answers as it does after training, and is left in the modes it was in. The calibration
    error is the expected one: over 15 bins of confidence of equal width, open below, the mean distance
    between accuracy and mean confidence, each bin counting by its images (Guo et al. 2017). `follow` is
    called with the images, logits and labels of every batch.
    """
    parameter = next(model.parameters(), None)
    sums: _Sums | None = None
    with answering(model):
        for images, labels in batches:
            device = images.device if parameter is None else parameter.device
            sums = sums or _Sums(len(classes), device)
            logits, labels = model(images.to(device)), labels.to(device)  # noqa: PLW2901
            sums.add(logits, labels)
            if follow is not None:
                follow(images, logits, labels)
    if sums is None or sums.images == 0:
        raise ConfigError("there are no images to evaluate on; give at least one batch")
    return sums.evaluation(tuple(classes))


def together(
    batches: Iterable[tuple[Tensor, Tensor]], device: torch.device
) -> Iterator[tuple[Tensor, Tensor]]:
    """The same images and labels in the same order, in batches that suit the device."""
    rest = iter(batches)
    while group := list(islice(rest, TOGETHER if device.type == "cuda" else 1)):
        images, labels = zip(*group, strict=True)
        yield torch.cat(images), torch.cat(labels)


@contextmanager
def answering(model: nn.Module) -> Iterator[None]:
    """Put the network into evaluation mode, and every module back into its own mode afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


class _Sums:
    """What is kept of the batches so far."""

    def __init__(self, classes: int, device: torch.device) -> None:
        self.classes, self.images = classes, 0
        self.confusion = torch.zeros(classes * classes, dtype=torch.int64, device=device)
        self.loss = torch.zeros((), dtype=torch.float64, device=device)
        self.among_top = torch.zeros((), dtype=torch.int64, device=device)
        self.bins = torch.zeros(CALIBRATION_BINS, 3, dtype=torch.float64, device=device)
        """Images, confidence and right answers of each bin."""

    def add(self, logits: Tensor, labels: Tensor) -> None:
        """Account for one batch."""
        self._require(logits, labels)
        logits = logits.double()
        confidence, answers = logits.softmax(-1).max(-1)
        right = answers == labels
        self.images += len(labels)
        self.confusion += torch.bincount(labels * self.classes + answers, minlength=self.classes**2)
        self.loss += cross_entropy(logits, labels, reduction="sum")
        if self.classes > TOP:
            self.among_top += (logits.topk(TOP).indices == labels[:, None]).sum()
        bins = (confidence * CALIBRATION_BINS).ceil().long().sub_(1).clamp_(0, CALIBRATION_BINS - 1)
        each = torch.stack([torch.ones_like(confidence), confidence, right.double()], dim=-1)
        self.bins.index_add_(0, bins, each)

    def _require(self, logits: Tensor, labels: Tensor) -> None:
        if logits.shape != (len(labels), self.classes):
            raise ConfigError(
                f"the network answers {tuple(logits.shape)} for {len(labels)} images of {self.classes} "
                f"classes; build it with num_classes={self.classes}"
            )
        if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < self.classes:
            raise ConfigError(
                f"labels run from {int(labels.min())} to {int(labels.max())}; with {self.classes} "
                f"classes they must lie in 0..{self.classes - 1}"
            )
        if not bool(logits.isfinite().all()):
            raise ConfigError(
                "the network's answers are not finite numbers; its weights are damaged or its training "
                "diverged: take an earlier checkpoint"
            )

    def evaluation(self, names: tuple[str, ...]) -> Evaluation:
        """The record of all batches."""
        confusion = self.confusion.view(self.classes, self.classes).tolist()
        counts = [sum(row) for row in confusion]
        right = [confusion[k][k] for k in range(self.classes)]
        bins = tuple(_bin(k, *row) for k, row in enumerate(self.bins.tolist()))
        return Evaluation(
            images=self.images,
            classes=names,
            top1=sum(right) / self.images,
            top5=int(self.among_top) / self.images if self.classes > TOP else None,
            loss=float(self.loss) / self.images,
            counts=tuple(counts),
            accuracies=tuple(r / n if n else None for r, n in zip(right, counts, strict=True)),
            confusion=tuple(map(tuple, confusion)),
            calibration_error=sum(b.images * abs(b.accuracy - b.confidence) for b in bins) / self.images,
            calibration=bins,
        )


def _bin(index: int, images: float, confidence: float, right: float) -> CalibrationBin:
    count = max(images, 1.0)
    return CalibrationBin(
        lower=index / CALIBRATION_BINS,
        upper=(index + 1) / CALIBRATION_BINS,
        images=int(images),
        confidence=confidence / count,
        accuracy=right / count,
    )
