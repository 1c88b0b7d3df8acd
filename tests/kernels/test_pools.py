"""Pools: autograd against plain versions, those against kernels."""

import pytest
import torch
from kernel_cases import cases
from pool_cases import (
    NARROW,
    PLACES,
    SHAPES,
    SMALL,
    average,
    average_gradient,
    largest,
    largest_gradient,
    size,
    strides,
)
from torch.nn.functional import avg_pool2d, max_pool2d

from xnas.kernels import pools
from xnas.kernels.moments import Moments, gather_moments
from xnas.kernels.pools import pool


def images(x):
    return x.flatten(0, 1).permute(0, 3, 1, 2).contiguous()


def pixels(x, like):
    return x.permute(0, 2, 3, 1).reshape(*like.shape[:2], *x.shape[2:], x.shape[1])


@pytest.mark.parametrize("shape", SMALL)
@strides
@pytest.mark.parametrize("ties", [False, True])
class TestTwins:
    """Against PyTorch's pools and what autograd finds; with ties, the first of equals takes it all."""

    def drawn(self, sides, shape, ties):
        x = sides.draw(*shape).double()
        return (x.round() if ties else x).requires_grad_()

    def test_maxima(self, sides, shape, stride, ties):
        x = self.drawn(sides, shape, ties)
        expected = pixels(max_pool2d(images(x), 3, stride, 1), x)
        gradient, before = torch.randn_like(expected), torch.randn_like(x)
        expected.backward(gradient)
        found, taken = sides.plain(largest, x.detach(), stride=stride)
        assert torch.equal(found, expected)
        into = sides.plain(largest_gradient, gradient, taken, before, stride=stride)
        assert torch.allclose(into, before + x.grad)

    def test_averages(self, sides, shape, stride, ties):
        x = self.drawn(sides, shape, ties)
        expected = pixels(avg_pool2d(images(x), 3, stride, 1, count_include_pad=False), x)
        gradient, before = torch.randn_like(expected), torch.randn_like(x)
        expected.backward(gradient)
        assert torch.allclose(sides.plain(average, x.detach(), stride=stride), expected)
        into = sides.plain(average_gradient, gradient, before, stride=stride)
        assert torch.allclose(into, before + x.grad)


def hold_maxima(sides, x, stride):
    sides.compare(largest, x, stride=stride)
    _, taken = sides.kernel(largest, x, stride=stride)
    gradient = sides.draw(*size(x.shape, stride), dtype=x.dtype)
    sides.compare(largest_gradient, gradient, taken, torch.randn_like(x), stride=stride)


def hold_averages(sides, x, stride):
    gradient = sides.draw(*size(x.shape, stride), dtype=x.dtype)
    sides.compare(average, x, stride=stride)
    sides.compare(average_gradient, gradient, torch.randn_like(x), stride=stride)


@pytest.mark.parametrize("shape", SHAPES)
@strides
class TestKernels:
    def test_maxima(self, sides, shape, stride):
        hold_maxima(sides, sides.draw(*shape), stride)

    def test_averages(self, sides, shape, stride):
        hold_averages(sides, sides.draw(*shape), stride)


class TestTogether:
    """Both pools of many inputs, with their statistics."""

    SHAPE = (3, 2, 7, 6, 5)

    def pooled(self, x, *, places, stride):
        slots = sum(place >= 0 for both in places.tolist() for place in both)
        out = x.new_empty(slots, *size(x.shape, stride)[1:])
        wide = torch.promote_types(x.dtype, torch.float32)
        into = Moments(*(x.new_empty(slots, x.shape[-1], dtype=wide) for _ in range(2)))
        taken = pool(x, places, stride=stride, out=out, into=into)
        known = taken[places[:, 0] >= 0]  # others were not asked for
        return out, known, into.mean, into.scale

    @cases(places=PLACES, stride=[1, 2])
    def test_outputs_and_moments(self, sides, places, stride):
        x = sides.draw(*self.SHAPE).round()
        sides.compare(self.pooled, x, places=sides.whole(*places), stride=stride)

    @cases(places=PLACES, stride=[1, 2], height=[6, 7])
    def test_moments_of_many_blocks(self, sides, monkeypatch, places, stride, height):
        """Threads that compute two pixels, or one if lines are odd; the last block is not full."""
        monkeypatch.setattr(pools, "BLOCK", 64)
        x = sides.draw(3, 1, height, 9, 5)
        sides.compare(self.pooled, x, places=sides.whole(*places), stride=stride)

    @pytest.mark.parametrize(
        ("places", "stride"),
        [(PLACES[1], 2), *(pytest.param(one, 1, marks=pytest.mark.gpu) for one in PLACES)],
    )
    def test_in_16_bits_moments_are_those_of_rounded_outputs(self, sides, places, stride):
        x, places = sides.draw(*self.SHAPE, dtype=torch.bfloat16), sides.whole(*places)
        sides.compare(lambda *given: self.pooled(*given, places=places, stride=stride)[:2], x)
        found = sides.kernel(self.pooled, x, places=places, stride=stride)
        into = Moments(found[2].double(), found[3].double())
        sides.plain(gather_moments, found[0].flatten(1, 3), into)
        assert torch.allclose(found[2].double(), into.mean, atol=1e-6)
        assert torch.allclose(found[3].double(), into.scale, rtol=1e-5)


@pytest.mark.parametrize("shape", NARROW)
@strides
class TestBfloat16:
    """Sums and quotients are made in float32 and rounded once."""

    def test_maxima(self, sides, shape, stride):
        hold_maxima(sides, sides.draw(*shape, dtype=torch.bfloat16), stride)

    def test_averages(self, sides, shape, stride):
        hold_averages(sides, sides.draw(*shape, dtype=torch.bfloat16), stride)


@pytest.mark.parametrize("shape", NARROW)
@strides
def test_the_first_of_equals_is_taken(sides, shape, stride):
    hold_maxima(sides, sides.draw(*shape).round(), stride)


@cases(unusual=[torch.nan, torch.inf, -torch.inf], stride=[1, 2], narrow=torch.inf)
def test_what_is_not_finite_is_taken_as_pytorch_takes_it(sides, stride, dtype, unusual):
    """The last NaN of a window, and the first pixel of a window of -inf."""
    x = sides.draw(2, 2, 7, 6, 5, dtype=dtype)
    x[torch.rand(x.shape, device=x.device) < 0.2] = unusual
    x[0, 0, :3, :3] = unusual  # at the border, where windows begin in the padding
    x[1, 0, 3:, 2:] = unusual
    sides.compare(largest, x, stride=stride)
    if unusual is not torch.nan:
        return
    found, _ = sides.kernel(largest, x, stride=stride)
    assert found.isnan().any()
    assert torch.equal(found.isnan(), pixels(max_pool2d(images(x), 3, stride, 1), x).isnan())


@pytest.mark.gpu  # the interpreter has one order
@strides
def test_two_launches_give_the_same_bits(sides, stride):
    x = sides.draw(*SMALL[0])
    gradient, before = sides.draw(*size(x.shape, stride)), torch.randn_like(x)
    _, taken = sides.kernel(largest, x, stride=stride)
    sides.repeat(largest, x, stride=stride)
    sides.repeat(average, x, stride=stride)
    sides.repeat(largest_gradient, gradient, taken, before, stride=stride)
    sides.repeat(average_gradient, gradient, before, stride=stride)


@strides
def test_no_inputs_give_nothing(sides, stride):
    x = sides.draw(0, 2, 5, 4, 3)
    for side in (sides.kernel, sides.plain):
        out, taken = side(largest, x, stride=stride)
        assert out.shape == taken.shape == size(x.shape, stride)
        assert side(average, x, stride=stride).shape == out.shape
        assert side(largest_gradient, out, taken, x, stride=stride).shape == x.shape
        assert side(average_gradient, out, x, stride=stride).shape == x.shape
