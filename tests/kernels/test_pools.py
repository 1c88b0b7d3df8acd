"""Pools: twins against autograd, kernels against twins."""

import pytest
import torch
from torch.nn.functional import avg_pool2d, max_pool2d

from xnas.kernels.pools import average_pool, average_pool_gradient, max_pool, max_pool_gradient

# inputs, batch, height, width, channels
SMALL = [
    (1, 1, 1, 1, 1),
    (2, 2, 7, 5, 3),
    (2, 3, 8, 6, 16),  # 144 pixels in blocks of 128
    (1, 2, 4, 5, 70),
    (3, 1, 2, 3, 5),
]
SHAPES = [
    *SMALL,
    pytest.param((2, 4, 15, 14, 70), marks=pytest.mark.slow),
    *(
        pytest.param(shape, marks=pytest.mark.gpu)
        for shape in [(3, 96, 32, 32, 16), (2, 96, 16, 16, 36), (2, 24, 7, 9, 144)]
    ),
]
strides = pytest.mark.parametrize("stride", [1, 2])
types = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
NARROW = [SMALL[3], *SHAPES[len(SMALL) + 1 :]]


def size(shape, stride):
    inputs, batch, height, width, channels = shape
    return inputs, batch, -(-height // stride), -(-width // stride), channels


def largest(x, *, stride):
    out = x.new_empty(size(x.shape, stride))
    taken = max_pool(x, stride=stride, out=out)
    assert taken.dtype == torch.uint8
    return out, taken


def average(x, *, stride):
    out = x.new_empty(size(x.shape, stride))
    average_pool(x, stride=stride, out=out)
    return out


def largest_gradient(gradient, taken, before, *, stride):
    into = before.clone()
    max_pool_gradient(gradient, taken, stride=stride, into=into)
    return into


def average_gradient(gradient, before, *, stride):
    into = before.clone()
    average_pool_gradient(gradient, stride=stride, into=into)
    return into


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
        found, taken = sides.twin(largest, x.detach(), stride=stride)
        assert torch.equal(found, expected)
        into = sides.twin(largest_gradient, gradient, taken, before, stride=stride)
        assert torch.allclose(into, before + x.grad)

    def test_averages(self, sides, shape, stride, ties):
        x = self.drawn(sides, shape, ties)
        expected = pixels(avg_pool2d(images(x), 3, stride, 1, count_include_pad=False), x)
        gradient, before = torch.randn_like(expected), torch.randn_like(x)
        expected.backward(gradient)
        assert torch.allclose(sides.twin(average, x.detach(), stride=stride), expected)
        into = sides.twin(average_gradient, gradient, before, stride=stride)
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


@strides
@types
@pytest.mark.parametrize("unusual", [torch.nan, torch.inf, -torch.inf])
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
def test_an_infinite_gradient_reaches_its_own_pixel_alone(sides, stride):
    x = sides.draw(1, 1, 5, 5, 2)
    gradient = torch.ones(size(x.shape, stride), device=x.device)
    gradient[0, 0, 1, 1] = torch.inf
    _, taken = sides.twin(largest, x, stride=stride)
    for side in (sides.kernel, sides.twin):
        into = side(largest_gradient, gradient, taken, torch.zeros_like(x), stride=stride)
        assert not into.isnan().any()
        assert int(into.isinf().sum()) == 2


@strides
def test_no_inputs_give_nothing(sides, stride):
    x = sides.draw(0, 2, 5, 4, 3)
    for side in (sides.kernel, sides.twin):
        out, taken = side(largest, x, stride=stride)
        assert out.shape == taken.shape == size(x.shape, stride)
        assert side(average, x, stride=stride).shape == out.shape
        assert side(largest_gradient, out, taken, x, stride=stride).shape == x.shape
        assert side(average_gradient, out, x, stride=stride).shape == x.shape
