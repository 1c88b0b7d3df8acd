"""Backward kernels of a fan-out against their plain versions."""

import pytest
import torch
from fan_out_cases import ROUTES, SHAPES, SMALL, Drawn, flown, returned
from kernel_cases import cases


@cases(shape=SHAPES, flag=[False, True], routes=ROUTES, narrow=SMALL[1])
class TestKernels:
    @pytest.fixture
    def drawn(self, sides, shape, dtype, routes):
        return Drawn(sides, shape, *routes, dtype)

    def test_gradients_of_convolutions(self, sides, drawn, flag):
        if drawn.routes.slots:
            given = drawn.gradients, *drawn.experts[1:], drawn.weights, drawn.products
            sides.compare(flown, *given, routes=drawn.routes, held=flag)

    def test_gradients_of_the_state(self, sides, drawn, flag):
        flow = (torch.randn_like(drawn.state), drawn.state.relu()) if flag else ()
        sides.compare(returned, drawn.gradients, drawn.weights, *flow, routes=drawn.routes)
