"""Batch norm with given moments: autograd against plain versions, those against kernels."""

import pytest
import torch
from kernel_cases import cases
from normalization_cases import (
    DROPPED,
    SHAPES,
    SMALL,
    affinities,
    apart,
    drawn,
    dropped,
    gradient_of,
    normalized,
)
from torch.nn.functional import batch_norm

from xnas.kernels.moments import Moments, gather_moments
from xnas.kernels.normalization import normalize
from xnas.kernels.normalization_gradients import normalization_gradient, normalization_sums


@pytest.mark.parametrize("shape", SMALL)
@affinities
def test_plain_versions_are_what_autograd_finds(sides, shape, affine):
    slots, _, channels = shape
    x, _, _, weight, bias = (one.double().requires_grad_() for one in drawn(sides, shape))
    learned = (lambda slot: (weight[slot], bias[slot])) if affine else (lambda _: (None, None))
    expected = torch.stack(
        [batch_norm(x[slot], None, None, *learned(slot), training=True) for slot in range(slots)]
    )
    gradient = torch.randn_like(expected)
    expected.backward(gradient)
    images = x.detach()
    moments = Moments(*images.new_empty(2, slots, channels))
    sides.plain(gather_moments, images, moments)
    given = moments.mean, moments.scale
    found = sides.plain(
        normalized, images, *given, weight.detach(), bias.detach(), affine=affine, relu=False
    )
    assert torch.allclose(found, expected)
    found = sides.plain(
        normalized, images, *given, weight.detach(), bias.detach(), affine=affine, relu=True
    )
    assert torch.allclose(found, expected.relu())
    products = sides.plain(normalization_sums, gradient, images, moments)
    found = sides.plain(gradient_of, gradient, images, *given, products, weight.detach(), affine=affine)
    assert torch.allclose(found, x.grad, atol=1e-10)
    if affine:
        assert torch.allclose(products[:, 0], bias.grad)
        assert torch.allclose(products[:, 1], weight.grad)


class TestKernels:
    @cases(shape=SHAPES, affine=[False, True], relu=[False, True], narrow=SMALL[1])
    def test_normalized_slots(self, sides, shape, affine, relu, dtype):
        sides.compare(normalized, *drawn(sides, shape, dtype), affine=affine, relu=relu)


class TestFactors:
    @cases(shape=DROPPED, relu=[False, True], narrow=DROPPED[3])
    def test_normalized_slots_times_factors_plus_what_is_there(self, sides, shape, dtype, relu):
        def function(x, mean, scale, weight, bias, factors, plus):  # noqa: PLR0917
            end = {"factors": factors, "plus": plus, "out": apart(x, 24)}
            return normalize(x, Moments(mean, scale), weight, bias, relu=relu, **end).clone()

        sides.compare(function, *dropped(sides, shape, dtype))


def test_factors_and_a_sum_are_what_autograd_finds(sides):
    x, _, _, weight, bias, factors, plus = (
        one.double() for one in dropped(sides, DROPPED[1], torch.float32, slots=1)
    )
    leaves = [one.requires_grad_() for one in (x, weight, bias)]
    per_pixel = factors.repeat_interleave(35)[:, None]
    expected = batch_norm(x[0], None, None, weight[0], bias[0], training=True) * per_pixel + plus[0]
    gradient = torch.randn_like(expected)
    flow, of_weight, of_bias = torch.autograd.grad(expected, leaves, gradient)
    x, weight, bias = (one.detach() for one in leaves)
    moments = Moments(*x.new_empty(2, 1, x.shape[2]))
    sides.plain(gather_moments, x, moments)
    end = {"factors": factors, "plus": plus}
    found = sides.plain(normalize, x, moments, weight, bias, relu=False, **end)
    assert torch.allclose(found[0], expected)
    sums = sides.plain(normalization_sums, gradient[None], x, moments, factors=factors)
    assert torch.allclose(sums[0], torch.cat([of_bias, of_weight]))
    found = sides.plain(
        normalization_gradient, gradient[None], x, moments, sums, weight, factors=factors
    )
    assert torch.allclose(found, flow, atol=1e-10)


@pytest.mark.gpu  # the interpreter has one order
def test_two_launches_give_the_same_bits(sides):
    x, mean, scale, weight, bias = drawn(sides, SMALL[4])
    sides.repeat(normalized, x, mean, scale, weight, bias, affine=True, relu=True)
    products = sides.draw(2, 2, 70)
    sides.repeat(gradient_of, torch.randn_like(x), x, mean, scale, products, weight, affine=True)


def test_a_mean_of_a_thousand_leaves_its_deviation(sides):
    x, _, scale, weight, bias = drawn(sides, (2, 100, 5))
    mean = torch.full_like(scale, 1000)
    sides.compare(normalized, x + 1000, mean, scale, weight, bias, affine=True, relu=False)


@pytest.mark.parametrize("relu", [False, True])
def test_what_is_not_a_number_stays_so(sides, relu):
    x, *rest = drawn(sides, (2, 40, 3))
    x[0, 7, 1] = torch.nan
    assert sides.kernel(normalized, x, *rest, affine=True, relu=relu)[0, 7, 1].isnan()
    sides.compare(normalized, x, *rest, affine=True, relu=relu)


def test_a_scale_without_a_shift_is_left_out(sides):
    x, mean, scale, weight, _ = drawn(sides, (2, 40, 3))
    sides.compare(
        lambda *given: normalize(given[0], Moments(*given[1:3]), given[3], relu=False),
        x,
        mean,
        scale,
        weight,
    )


def test_results_go_where_they_are_wanted(sides):
    x, mean, scale, *_ = drawn(sides, (2, 9, 3))
    products = sides.draw(2, 2, 3)
    for side in (sides.kernel, sides.plain):
        out = torch.full_like(x, torch.nan)
        found = side(normalization_gradient, x.to(out), x, Moments(mean, scale), products, out=out)
        assert found is out
        assert torch.isfinite(out).all()


def test_no_slots_give_nothing(sides):
    x, *rest = drawn(sides, (0, 8, 3))
    for side in (sides.kernel, sides.plain):
        assert side(normalized, x, *rest, affine=True, relu=True).shape == x.shape
        assert side(normalization_sums, x, x, Moments(*rest[:2])).shape == (0, 2, 3)
        products = sides.draw(0, 2, 3)
        found = side(gradient_of, x, x, *rest[:2], products, rest[2], affine=True)
        assert found.shape == x.shape
