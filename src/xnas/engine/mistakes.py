"""The wrong answers that a network is most sure of, collected during an evaluation."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """An image, as the network saw it, with its class and the answer."""

    index: int
    """Of the image, in the order of the evaluation."""
    label: int
    answer: int
    probability: float
    """That the network gave its answer."""
    image: Tensor
    """Standardised, on the CPU."""


class Mistakes:
    """Keeps the `most` wrong answers with the largest probability; pass `add` to `evaluate`."""

    def __init__(self, most: int) -> None:
        self.most, self.seen = most, 0
        self._kept: list[tuple[float, int, WrongAnswer]] = []

    def add(self, images: Tensor, logits: Tensor, labels: Tensor) -> None:
        """Look at one batch."""
        probabilities, answers = logits.double().softmax(-1).max(-1)
        wrong = (answers != labels).nonzero().flatten()
        worst = wrong[probabilities[wrong].argsort(descending=True, stable=True)[: self.most]]
        for at in worst.tolist():
            found = WrongAnswer(
                index=self.seen + at,
                label=int(labels[at]),
                answer=int(answers[at]),
                probability=float(probabilities[at]),
                image=images[at].detach().to("cpu", torch.float32),
            )
            heapq.heappush(self._kept, (found.probability, -found.index, found))
        while len(self._kept) > self.most:
            heapq.heappop(self._kept)
        self.seen += len(labels)

    def worst(self) -> list[WrongAnswer]:
        """Those that are kept, the surest first, the earlier of equals."""
        return [found for _, _, found in sorted(self._kept, key=lambda kept: kept[:2], reverse=True)]
