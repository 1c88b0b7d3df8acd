"""Shapes and functions of the tests of pools."""

import pytest
import torch

from xnas.kernels.pool_gradients import (
    average_pool_gradient,
    max_pool_gradient,
)
from xnas.kernels.pools import average_pool, max_pool

# inputs, batch, height, width, channels
SMALL = [
    (1, 1, 1, 1, 1),
    (2, 2, 7, 5, 3),
    (2, 3, 8, 6, 16),  # 72 pairs of pixels, of two threads each, in blocks of 128 threads
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
NARROW = [SMALL[3], *SHAPES[len(SMALL) + 1 :]]


# Of three inputs the slots of maximum and mean; -1 for none.
PLACES = [((0, 1), (2, 3), (4, 5)), ((-1, 2), (1, 0), (3, -1)), ((-1, -1), (0, -1), (-1, -1))]


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
