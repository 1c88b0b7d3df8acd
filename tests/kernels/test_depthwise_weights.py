"""Gradients of the weights of depthwise convolutions: kernels against plain versions."""

import pytest
from depthwise_cases import (
    LARGE,
    MIXED,
    SHAPES,
    Case,
    drawn,
    numbers_of,
    weight_gradient,
)

from xnas.kernels import depthwise_weights as module


class TestKernels:
    @pytest.mark.parametrize("shape", [*SHAPES, *LARGE])
    def test_gradients_of_the_weights(self, sides, shape):
        x, weight, gradient = drawn(sides, shape, MIXED)
        sides.compare(weight_gradient, x, gradient, weight, **numbers_of(sides, shape, MIXED))


@pytest.mark.parametrize(("programs", "strided"), [(1, False), (6, True), (40, False)])
def test_shares_of_the_runs_add_up(sides, monkeypatch, programs, strided):
    """One share, two shares, and as many as the runs are worth."""
    monkeypatch.setattr(module, "PROGRAMS", programs)
    shape = Case(3, (3, 9, 9, 40))  # 81 runs in blocks of 16
    x, weight, gradient = drawn(sides, shape, (2,), strided=strided)
    sides.compare(weight_gradient, x, gradient, weight, **numbers_of(sides, shape, (2,)))
