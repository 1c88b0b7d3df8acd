"""What a training wants the network to answer: one label for each image, or two by shares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor
from torch.nn.functional import cross_entropy


class Mixing(Protocol):
    """What mixes the images of a batch with one another, as mixup does."""

    def begin_epoch(self, epoch: int, steps: int, *, at: int = 0) -> None:
        """Prepare an epoch of so many batches and go to the step `at`."""

    def go_to(self, step: int) -> None:
        """Go to a step of the present epoch."""

    def mix(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mix images in place; gives the labels of their partners and the share of their own."""


@dataclass(frozen=True, slots=True)
class Targets:
    """Labels (n,) of a batch and, where images are mixed, those of the images mixed in."""

    labels: Tensor
    partners: tuple[Tensor, Tensor] | None = None
    """Labels (n,) of the images mixed in, and the share () of the images' own labels."""

    def loss(self, logits: Tensor, *, label_smoothing: float) -> Tensor:
        """Cross-entropy of logits (n, classes): of two labels the mean, weighted by their shares."""
        loss = cross_entropy(logits, self.labels, label_smoothing=label_smoothing)
        if self.partners is None:
            return loss
        others, share = self.partners
        other = cross_entropy(logits, others, label_smoothing=label_smoothing)
        return share * loss + (1 - share) * other

    def right(self, logits: Tensor) -> Tensor:
        """Right answers: an answer counts by the share that its label has in the image."""
        answers = logits.argmax(-1)
        right = (answers == self.labels).sum()
        if self.partners is None:
            return right
        others, share = self.partners
        return share * right + (1 - share) * (answers == others).sum()

    def chunk(self, parts: int) -> Iterator[Targets]:
        """The targets of equal parts of the batch."""
        if self.partners is None:
            yield from (Targets(labels) for labels in self.labels.chunk(parts))
            return
        others, share = self.partners
        for own, other in zip(self.labels.chunk(parts), others.chunk(parts), strict=True):
            yield Targets(own, (other, share))
