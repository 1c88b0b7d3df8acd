"""Slots, terms, shapes and data of the tests of mixing."""

import pytest
import torch

from xnas.kernels.mixing import mix
from xnas.kernels.mixing_gradients import Readers, advice_gradient, term_products
from xnas.kernels.moments import Moments

SLOTS, NODES = 4, 3
# Uneven terms: slot 0 goes into two nodes, slot 1 into all of them, slot 2 into none, slot 3 into one.
TERM_SLOTS = (1, 0, 1, 3, 0, 1)
TARGETS = (0, 0, 1, 1, 2, 2)
TERMS = (1, 4, 0, 2, 5, 3)  # by slot
FIRST = (0, 2, 5, 5, 6)

# pixels, channels
SMALL = [(3, 1), (700, 3), (130, 16), (33, 40), (140, 70)]
SHAPES = [
    *SMALL,
    pytest.param((500, 70), marks=pytest.mark.slow),
    *(pytest.param(shape, marks=pytest.mark.gpu) for shape in [(98304, 16), (24577, 72), (6144, 144)]),
]
types = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])


def mixed(advice, mean, scale, slots, weights):
    out = torch.empty_like(advice[0])
    mix(advice, Moments(mean, scale), slots, weights, out=out)
    return out


def products_of(gradients, advice, mean, scale, targets, slots):  # noqa: PLR0917
    """Of terms that are sorted by their node."""
    out = mean.new_empty(len(slots), 2, mean.shape[1])
    for node, gradient in enumerate(gradients):
        mine = slice(int((targets < node).sum()), int((targets <= node).sum()))
        moments = Moments(mean, scale)
        term_products(gradient, advice, moments, slots=slots[mine], out=out[mine])
    return out


def gradient_of(  # noqa: PLR0917
    gradients, advice, mean, scale, slots, first, terms, targets, weights, products, *, held
):
    out = advice.new_empty(len(slots), *advice.shape[1:])
    advice_gradient(
        gradients,
        advice,
        Moments(mean, scale),
        Readers(slots, first, terms),
        targets=targets,
        weights=weights,
        products=products,
        held=held,
        out=out,
    )
    return out


def drawn(sides, shape, dtype=torch.float32):
    """Gradients of nodes, advice, and moments that need not be its own."""
    pixels, channels = shape
    return (
        sides.draw(NODES, pixels, channels, dtype=dtype),
        sides.draw(SLOTS, pixels, channels, dtype=dtype),
        sides.draw(SLOTS, channels),
        sides.draw(SLOTS, channels).abs() + 0.5,
    )
