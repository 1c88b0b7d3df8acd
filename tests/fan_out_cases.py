"""States, routes and data of the tests of fan-outs."""

import pytest
import torch

from xnas.kernels.fan_out import Advice, Routes, fan_out
from xnas.kernels.fan_out_gradients import raw_gradient, state_gradient
from xnas.kernels.moments import Moments
from xnas.kernels.rewards import fan_out_products

# Slots of each later node, a column for each of two convolutions.
ALL = ((0, 1), (2, 3), (4, 5))
SOME = ((-1, 0), (-1, -1), (2, 1))
ONE_NODE = ((0, -1),)
NO_SLOTS = ((-1, -1), (-1, -1))

# batch, height, width, channels
SMALL = [(1, 1, 1, 1), (2, 5, 7, 3), (3, 8, 9, 16), (1, 5, 3, 70)]
SHAPES = [
    *SMALL,
    pytest.param((4, 12, 11, 16), marks=pytest.mark.slow),
    *(
        pytest.param(shape, marks=pytest.mark.gpu)
        for shape in [(96, 32, 32, 16), (96, 16, 16, 32), (96, 8, 8, 64), (7, 9, 11, 144)]
    ),
]
# Slots of the nodes, and whether a node wants the pool.
ROUTES = [(ALL, True), (SOME, True), (ONE_NODE, False), (NO_SLOTS, True)]


def slots_of(places):
    return 1 + max(max(row) for row in places)


def routes_of(sides, places, pooled=True):
    return Routes(sides.whole(*sum(places, ())).view(-1, 2), slots_of(places), pooled)


class Drawn:
    """A state, outputs of its convolutions with moments that need not be theirs, and gradients."""

    def __init__(self, sides, shape, places, pooled, dtype=torch.float32):
        pixels, channels, slots = shape[0] * shape[1] * shape[2], shape[-1], slots_of(places)
        self.routes = routes_of(sides, places, pooled)
        self.state = sides.draw(*shape, dtype=dtype)
        self.raw = sides.draw(pixels, slots, channels, dtype=dtype)
        self.moments = sides.draw(slots, channels), sides.draw(slots, channels).abs() + 0.5
        self.weights = sides.draw(self.routes.width)
        self.sums = sides.draw(len(places), *shape, dtype=dtype)
        self.gradients = sides.draw(len(places), *shape, dtype=dtype)
        self.products = sides.draw(slots + len(places), channels) * pixels**0.5
        self.experts = self.state, self.raw, *self.moments


def advice_of(raw, mean, scale):
    return Advice(raw, Moments(mean, scale)) if raw.shape[1] else None


def fanned_out(state, raw, mean, scale, weights, sums, *, routes, add, rectify=True):  # noqa: PLR0917
    sums, rectified = sums.clone(), torch.empty_like(sums[0]) if rectify else None
    fan_out(state, advice_of(raw, mean, scale), routes, weights, add=add, sums=sums, rectified=rectified)
    return (sums, rectified) if rectify else sums


def multiplied(gradients, state, raw, mean, scale, *, routes, rewarded):
    products = mean.new_empty(routes.slots + len(gradients), mean.shape[1])
    earned = mean.new_empty(routes.width) if rewarded else None
    fan_out_products(
        gradients,
        state,
        advice_of(raw, mean, scale),
        routes,
        rewards=earned,
        products=products,
    )
    return (products, earned) if rewarded else products


def flown(gradients, raw, mean, scale, weights, products, *, routes, held):  # noqa: PLR0917
    out = torch.empty_like(raw)
    advice = Advice(raw, Moments(mean, scale))
    raw_gradient(gradients, advice, routes, weights, products, held=held, out=out)
    return out


def returned(gradients, weights, *convolved, routes):
    out = torch.empty_like(gradients[0])
    state_gradient(gradients, convolved or None, routes, weights, out=out)
    return out
