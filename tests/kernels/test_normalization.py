"""Batch norm with given moments: twins against autograd, kernels against twins."""

import pytest
import torch
from kernel_cases import cases
from torch.nn.functional import batch_norm

from xnas.kernels.moments import Moments, gather_moments
from xnas.kernels.normalization import normalize
from xnas.kernels.normalization_gradients import normalization_gradient, normalization_sums

# slots, pixels, channels
SMALL = [(1, 3, 1), (2, 700, 3), (3, 130, 16), (2, 33, 40), (2, 65, 70)]
SHAPES = [
    *SMALL,
    pytest.param((4, 500, 70), marks=pytest.mark.slow),
    *(
        pytest.param(shape, marks=pytest.mark.gpu)
        for shape in [(6, 98304, 16), (4, 24577, 72), (3, 6144, 144)]
    ),
]
affinities = pytest.mark.parametrize("affine", [False, True])


def normalized(x, mean, scale, weight, bias, *, affine, relu):
    learned = (weight, bias) if affine else ()
    return normalize(x, Moments(mean, scale), *learned, relu=relu)


def gradient_of(gradient, x, mean, scale, products, weight, *, affine):  # noqa: PLR0917
    learned = (weight,) if affine else ()
    return normalization_gradient(gradient, x, Moments(mean, scale), products, *learned)


def drawn(sides, shape, dtype=torch.float32):
    """Inputs, moments that need not be theirs, scale and shift."""
    slots, _, channels = shape
    mean, weight, bias = sides.draw(3, slots, channels)
    return sides.draw(*shape, dtype=dtype), mean, sides.draw(slots, channels).abs() + 0.5, weight, bias


@pytest.mark.parametrize("shape", SMALL)
@affinities
def test_twins_are_what_autograd_finds(sides, shape, affine):
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
    sides.twin(gather_moments, images, moments)
    given = moments.mean, moments.scale
    found = sides.twin(
        normalized, images, *given, weight.detach(), bias.detach(), affine=affine, relu=False
    )
    assert torch.allclose(found, expected)
    found = sides.twin(
        normalized, images, *given, weight.detach(), bias.detach(), affine=affine, relu=True
    )
    assert torch.allclose(found, expected.relu())
    products = sides.twin(normalization_sums, gradient, images, moments)
    found = sides.twin(gradient_of, gradient, images, *given, products, weight.detach(), affine=affine)
    assert torch.allclose(found, x.grad, atol=1e-10)
    if affine:
        assert torch.allclose(products[:, 0], bias.grad)
        assert torch.allclose(products[:, 1], weight.grad)


def back_through_relu(gradient, x, mean, scale, weight, bias, *, affine):  # noqa: PLR0917
    given = gradient, x, Moments(mean, scale)
    learned = (weight, bias) if affine else ()
    sums = normalization_sums(*given, *learned, relu=True)
    return normalization_gradient(*given, sums, *learned, relu=True), sums


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
    sides.twin(gather_moments, images, moments)
    given = images, moments.mean, moments.scale, weight.detach(), bias.detach()
    flow, sums = sides.twin(back_through_relu, gradient, *given, affine=affine)
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


class TestKernels:
    @cases(shape=SHAPES, affine=[False, True], relu=[False, True], narrow=SMALL[1])
    def test_normalized_slots(self, sides, shape, affine, relu, dtype):
        sides.compare(normalized, *drawn(sides, shape, dtype), affine=affine, relu=relu)

    @cases(shape=SHAPES, affine=[False, True], narrow=SMALL[1])
    def test_gradients(self, sides, shape, affine, dtype):
        x, mean, scale, weight, _ = drawn(sides, shape, dtype)
        gradient = sides.draw(*shape, dtype=dtype)
        products = sides.draw(shape[0], 2, shape[2]) * shape[1] ** 0.5
        sides.compare(gradient_of, gradient, x, mean, scale, products, weight, affine=affine)


# pixels of an image, batch, channels; the last needs more lanes than a step has
DROPPED = [(1, 3, 1), (35, 4, 36), (16, 5, 40), (9, 3, 72), (3, 2, 131)]


def dropped(sides, shape, dtype, slots=2):
    """Inputs, moments, a factor an image, and what is there already."""
    area, batch, channels = shape
    x, mean, scale, weight, bias = drawn(sides, (slots, area * batch, channels), dtype)
    factors = torch.where(sides.draw(batch) > 0, 1.25, 0.0)
    return x, mean, scale, weight, bias, factors, sides.draw(*x.shape, dtype=dtype)


def apart(x, offset):
    """The same numbers in rows that lie apart, not at the beginning of their memory."""
    rows = x.new_full((x.shape[1], offset + len(x) * x.shape[2]), torch.nan)
    found = rows[:, offset:].view(x.shape[1], len(x), -1).transpose(0, 1)
    return found.copy_(x)


class TestFactors:
    @cases(shape=DROPPED, relu=[False, True], narrow=DROPPED[3])
    def test_normalized_slots_times_factors_plus_what_is_there(self, sides, shape, dtype, relu):
        def function(x, mean, scale, weight, bias, factors, plus):  # noqa: PLR0917
            end = {"factors": factors, "plus": plus, "out": apart(x, 24)}
            return normalize(x, Moments(mean, scale), weight, bias, relu=relu, **end).clone()

        sides.compare(function, *dropped(sides, shape, dtype))

    @cases(shape=DROPPED, offset=[0, 24, 27], relu=[False, True], narrow=DROPPED[3])
    def test_gradients_and_sums(self, sides, shape, dtype, offset, relu):
        def function(x, mean, scale, weight, bias, factors, gradient):  # noqa: PLR0917
            moments, gradient = Moments(mean, scale), apart(gradient, offset)
            learned, end = (weight, bias), {"factors": factors, "relu": relu}
            sums = normalization_sums(gradient, x, moments, *learned, **end)
            flow = normalization_gradient(gradient, x, moments, sums, *learned, **end)
            return flow, sums

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
    sides.twin(gather_moments, x, moments)
    end = {"factors": factors, "plus": plus}
    found = sides.twin(normalize, x, moments, weight, bias, relu=False, **end)
    assert torch.allclose(found[0], expected)
    sums = sides.twin(normalization_sums, gradient[None], x, moments, factors=factors)
    assert torch.allclose(sums[0], torch.cat([of_bias, of_weight]))
    found = sides.twin(normalization_gradient, gradient[None], x, moments, sums, weight, factors=factors)
    assert torch.allclose(found, flow, atol=1e-10)


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
    for side in (sides.kernel, sides.twin):
        out = torch.full_like(x, torch.nan)
        found = side(normalization_gradient, x.to(out), x, Moments(mean, scale), products, out=out)
        assert found is out
        assert torch.isfinite(out).all()


def test_no_slots_give_nothing(sides):
    x, *rest = drawn(sides, (0, 8, 3))
    for side in (sides.kernel, sides.twin):
        assert side(normalized, x, *rest, affine=True, relu=True).shape == x.shape
        assert side(normalization_sums, x, x, Moments(*rest[:2])).shape == (0, 2, 3)
        products = sides.draw(0, 2, 3)
        found = side(gradient_of, x, x, *rest[:2], products, rest[2], affine=True)
        assert found.shape == x.shape
