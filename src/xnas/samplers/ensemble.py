"""An ensemble of small perceptrons that predicts a value and its uncertainty (arXiv 1910.11858, Sec. 4).

All members learn together: a weight is (members, outputs, inputs), and a step is one batched product per
layer. Members read the same rows in different orders and start at different weights, so their spread is
small where there is data and large elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from xnas.errors import ConfigError

WIDTH, LAYERS = 20, 10
LEARNING_RATE, EPOCHS, BATCH = 0.01, 150, 32


class Ensemble:
    """Perceptrons with ReLUs, fitted to the mean absolute error by Adam on the CPU in float64."""

    def __init__(
        self,
        inputs: int,
        *,
        seed: int,
        members: int = 5,
        width: int = WIDTH,
        layers: int = LAYERS,
    ) -> None:
        if inputs < 1 or members < 2 or width < 1 or layers < 0:
            raise ConfigError(
                f"an ensemble needs inputs, at least 2 members (a spread takes two), and layers of some "
                f"width, got {inputs} inputs, {members} members, {layers} layers of {width}"
            )
        self.members = members
        self._generator = torch.Generator().manual_seed(seed)
        sizes = [inputs, *[width] * layers, 1]
        self._weights = [self._drawn(members, out, size, gain=2) for size, out in _pairs(sizes)]
        self._biases = [torch.zeros(members, 1, out, dtype=torch.float64) for _, out in _pairs(sizes)]
        self._centre, self._scale = 0.0, 1.0

    def fit(
        self,
        rows: Tensor,
        values: Sequence[float],
        *,
        epochs: int = EPOCHS,
        batch: int = BATCH,
        learning_rate: float = LEARNING_RATE,
    ) -> None:
        """Learn that `rows` (examples, inputs) have these values.

        Departure: values are shifted by their median and divided by their mean absolute deviation from
        it, so that the learning rate suits shares and percent alike; cells at chance would make a
        standard deviation too large for the rest.
        """
        rows, targets = rows.double(), self._scaled(values)
        # Inputs that are 0 in all rows give their weights no gradient, so Adam would not move them.
        used, first = rows.ne(0).any(0), self._weights[0]
        rows, self._weights[0] = rows[:, used], first[..., used].contiguous()
        parameters = [tensor.requires_grad_() for tensor in (*self._weights, *self._biases)]
        optimizer = torch.optim.Adam(parameters, lr=learning_rate, fused=True)
        for _ in range(epochs):
            orders = torch.rand(self.members, len(rows), generator=self._generator).argsort(1)
            for chosen in torch.split(orders, batch, dim=1):
                optimizer.zero_grad()
                # Members are summed: each has the gradient of its own mean.
                loss = (self._outputs(rows[chosen]) - targets[chosen]).abs().mean(1).sum()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        for tensor in parameters:
            tensor.requires_grad = False
        first[..., used] = self._weights[0]
        self._weights[0] = first

    @torch.no_grad()
    def predict(self, rows: Tensor) -> Tensor:
        """Return what each member predicts, (members, examples), for `rows` (examples, inputs)."""
        outputs = self._outputs(rows.double().expand(self.members, *rows.shape))
        return outputs * self._scale + self._centre

    def _outputs(self, x: Tensor) -> Tensor:
        """Map (members, examples, inputs) to (members, examples)."""
        *hidden, last = zip(self._weights, self._biases, strict=True)
        for weight, bias in hidden:
            x = torch.baddbmm(bias, x, weight.transpose(1, 2)).relu()
        weight, bias = last
        return torch.baddbmm(bias, x, weight.transpose(1, 2)).squeeze(-1)

    def _scaled(self, values: Sequence[float]) -> Tensor:
        targets = torch.tensor(values, dtype=torch.float64)
        self._centre = float(targets.median())
        self._scale = float((targets - self._centre).abs().mean()) or 1.0
        return (targets - self._centre) / self._scale

    def _drawn(self, members: int, outputs: int, inputs: int, *, gain: float) -> Tensor:
        bound = math.sqrt(3 * gain / inputs)
        uniform = torch.rand(members, outputs, inputs, dtype=torch.float64, generator=self._generator)
        return (2 * uniform - 1) * bound


def _pairs(sizes: list[int]) -> list[tuple[int, int]]:
    return list(pairwise(sizes))
