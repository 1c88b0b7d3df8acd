"""Shapes and data of the tests of batch norm."""

import pytest
import torch

from xnas.kernels.moments import Moments
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


def back_through_relu(gradient, x, mean, scale, weight, bias, *, affine):  # noqa: PLR0917
    given = gradient, x, Moments(mean, scale)
    learned = (weight, bias) if affine else ()
    sums = normalization_sums(*given, *learned, relu=True)
    return normalization_gradient(*given, sums, *learned, relu=True), sums


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
