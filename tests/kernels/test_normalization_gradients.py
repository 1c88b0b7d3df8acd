"""Backward kernels of batch norm against their plain versions and autograd."""

import pytest
import torch
from kernel_cases import cases
from normalization_cases import (
    DROPPED,
    SHAPES,
    SMALL,
    affinities,
    apart,
    back_through_relu,
    drawn,
    dropped,
    gradient_of,
)
from torch.nn.functional import batch_norm

from xnas.kernels.moments import Moments, gather_moments
from xnas.kernels.normalization_gradients import normalization_gradient, normalization_sums


class TestFactors:
    @cases(shape=DROPPED, offset=[0, 24, 27], relu=[False, True], narrow=DROPPED[3])
    def test_gradients_and_sums(self, sides, shape, dtype, offset, relu):
        def function(x, mean, scale, weight, bias, factors, gradient):  # noqa: PLR0917
            moments, gradient = Moments(mean, scale), apart(gradient, offset)
            learned, end = (weight, bias), {"factors": factors, "relu": relu}
            sums = normalization_sums(gradient, x, moments, *learned, **end)
            flow = normalization_gradient(gradient, x, moments, sums, *learned, **end)
            return flow, sums

        sides.compare(function, *dropped(sides, shape, dtype))


class TestKernels:
    @cases(shape=SHAPES, affine=[False, True], narrow=SMALL[1])
    def test_gradients(self, sides, shape, affine, dtype):
        x, mean, scale, weight, _ = drawn(sides, shape, dtype)
        gradient = sides.draw(*shape, dtype=dtype)
        products = sides.draw(shape[0], 2, shape[2]) * shape[1] ** 0.5
        sides.compare(gradient_of, gradient, x, mean, scale, products, weight, affine=affine)


@pytest.mark.parametrize("shape", SMALL)
@affinities
def test_the_gradient_through_a_relu_is_what_autograd_finds(sides, shape, affine):
    x, _, _, weight, bias = (one.double()[:1].requires_grad_() for one in drawn(sides, shape))
    learned = (weight[0], bias[0]) if affine else ()
    expected = batch_norm(x[0], None, None, *learned, training=True).relu()
    gradient = torch.randn_like(expected)[None]
    expected.backward(gradient[0])
    images = x.detach()
    moments = Moments(*images.new_empty(2, 1, shape[2]))
    sides.plain(gather_moments, images, moments)
    given = images, moments.mean, moments.scale, weight.detach(), bias.detach()
    flow, sums = sides.plain(back_through_relu, gradient, *given, affine=affine)
    assert torch.allclose(flow, x.grad, atol=1e-10)
    if affine:
        assert torch.allclose(sums, torch.stack([bias.grad, weight.grad], 1))


# Of millions some are 0 but for a rounding, and may pass: no large shapes.
@cases(shape=SMALL, affine=[False, True], narrow=SMALL[1])
def test_gradients_through_a_relu(sides, shape, affine, dtype):
    gradient = sides.draw(*shape, dtype=dtype)
    sides.compare(back_through_relu, gradient, *drawn(sides, shape, dtype), affine=affine)


@affinities
def test_nothing_flows_through_a_relu_of_zero_or_of_what_is_not_a_number(sides, affine):
    x, mean, scale, weight, bias = drawn(sides, (2, 40, 3))
    mean[0], bias[0] = x[0, 5], 0
    x[1, 7, 1] = scale[1, 2] = torch.nan
    gradient = sides.draw(*x.shape)
    gradient[0, 5] = torch.inf
    given = gradient, x, mean, scale, weight, bias
    sides.compare(back_through_relu, *given, affine=affine)
    flow, sums = sides.kernel(back_through_relu, *given, affine=affine)
    assert torch.isfinite(flow[0]).all()
    assert torch.isfinite(sums[:, 0]).all()
    assert sums[1, 1].isnan().tolist() == [False, True, True]
