"""Inner products of a fan-out: kernels against plain versions."""

import pytest
from fan_out_cases import ROUTES, SHAPES, SMALL, Drawn, multiplied
from kernel_cases import cases


@cases(shape=SHAPES, flag=[False, True], routes=ROUTES, narrow=SMALL[1])
class TestKernels:
    @pytest.fixture
    def drawn(self, sides, shape, dtype, routes):
        return Drawn(sides, shape, *routes, dtype)

    def test_fan_out_products(self, sides, drawn, flag):
        given = drawn.gradients, *drawn.experts
        sides.compare(multiplied, *given, routes=drawn.routes, rewarded=flag)
