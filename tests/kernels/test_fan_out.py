"""Fan-out of a state, forward and backward: twins against autograd, kernels against twins."""

import pytest
import torch
from kernel_cases import cases
from torch.nn.functional import avg_pool2d, batch_norm

from xnas.kernels import fan_out as module
from xnas.kernels import rewards
from xnas.kernels.fan_out import Advice, Routes, fan_out, gather_slots
from xnas.kernels.fan_out_gradients import raw_gradient, state_gradient
from xnas.kernels.moments import EPSILON, MOMENTUM, Moments
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


@pytest.fixture
def turns(monkeypatch):
    """Few programs, so that each of them takes several blocks."""
    monkeypatch.setattr(module, "PROGRAMS", 2)
    monkeypatch.setattr(module, "BLOCK", 512)
    monkeypatch.setattr(rewards, "BLOCK", 512)


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


def gathered(raw, running_mean, running_variance):
    mean, scale = torch.empty_like(running_mean), torch.empty_like(running_mean)
    kept = running_mean.clone(), running_variance.clone()
    gather_slots(raw, Moments(mean, scale, *kept))
    return mean, scale, *kept


@cases(shape=SMALL[1:], routes=ROUTES)
def test_twins_are_what_autograd_finds(sides, shape, routes):
    """Forward and backward through batch norms of their own images."""
    places, pooled = routes
    drawn = Drawn(sides, shape, places, pooled)
    routes, slots = drawn.routes, drawn.routes.slots
    state, raw, weights, sums = (
        one.double().requires_grad_() for one in (drawn.state, drawn.raw, drawn.weights, drawn.sums)
    )
    rectified = state.relu().detach().requires_grad_()
    normalized = [
        batch_norm(raw[:, slot], None, None, training=True, eps=EPSILON) for slot in range(slots)
    ]
    pool = avg_pool2d(state.movedim(-1, 1), 3, 1, 1, count_include_pad=False).movedim(1, -1)
    lines = [(pool, state) if pooled else (torch.zeros_like(state), state)] * len(places)
    nodes = torch.stack(
        [
            sum(weights[slots + 2 * node + i] * line for i, line in enumerate(both))
            + sum((weights[s] * normalized[s].view(shape) for s in row if s >= 0), sums[node])
            for node, (row, both) in enumerate(zip(places, lines, strict=True))
        ]
    )
    gradients = drawn.gradients.double()
    nodes.backward(gradients)

    known, mean = [one.detach() for one in (raw, weights)], raw.new_empty(slots, shape[-1])
    scale = torch.empty_like(mean)
    if slots:
        sides.twin(gather_slots, known[0], Moments(mean, scale))
    experts = state.detach(), known[0], mean, scale
    after, first = sides.twin(fanned_out, *experts, known[1], sums.detach(), routes=routes, add=True)
    torch.testing.assert_close(after, nodes.detach())
    torch.testing.assert_close(first, nodes[0].detach().relu())
    products, earned = sides.twin(multiplied, gradients, *experts, routes=routes, rewarded=True)
    torch.testing.assert_close(earned, weights.grad)
    if slots:
        found = sides.twin(flown, gradients, *experts[1:], known[1], products, routes=routes, held=True)
        torch.testing.assert_close(found, raw.grad)
    found = sides.twin(returned, gradients, known[1], routes=routes)
    torch.testing.assert_close(found, state.grad)
    flow = torch.randn_like(state)
    found = sides.twin(returned, gradients, known[1], flow, rectified.detach(), routes=routes)
    torch.testing.assert_close(found, state.grad + flow * (state > 0))


@cases(shape=SHAPES, flag=[False, True], routes=ROUTES, narrow=SMALL[1])
class TestKernels:
    @pytest.fixture
    def drawn(self, sides, shape, dtype, routes):
        return Drawn(sides, shape, *routes, dtype)

    def test_sums(self, sides, drawn, flag):
        given = *drawn.experts, drawn.weights, drawn.sums
        sides.compare(fanned_out, *given, routes=drawn.routes, add=flag)

    def test_fan_out_products(self, sides, drawn, flag):
        given = drawn.gradients, *drawn.experts
        sides.compare(multiplied, *given, routes=drawn.routes, rewarded=flag)

    def test_gradients_of_convolutions(self, sides, drawn, flag):
        if drawn.routes.slots:
            given = drawn.gradients, *drawn.experts[1:], drawn.weights, drawn.products
            sides.compare(flown, *given, routes=drawn.routes, held=flag)

    def test_gradients_of_the_state(self, sides, drawn, flag):
        flow = (torch.randn_like(drawn.state), drawn.state.relu()) if flag else ()
        sides.compare(returned, drawn.gradients, drawn.weights, *flow, routes=drawn.routes)


@cases(shape=SHAPES, slots=[1, 6], narrow=SMALL[1])
def test_statistics_kernels_are_their_twins(sides, shape, dtype, slots):
    raw = sides.draw(shape[0] * shape[1] * shape[2], slots, shape[-1])
    raw = (raw + sides.draw(1, slots, shape[-1])).to(dtype)
    kept = sides.draw(slots, shape[-1]), sides.draw(slots, shape[-1]).square()
    sides.compare(gathered, raw, *kept)


@pytest.mark.usefixtures("turns")
@pytest.mark.parametrize("dtype", [torch.float32, pytest.param(torch.bfloat16, marks=pytest.mark.gpu)])
def test_a_program_may_take_several_blocks(sides, dtype):
    """840 pixels of 3 channels in blocks of 128, 64 for rewards and 256 for statistics."""
    drawn = Drawn(sides, (10, 12, 7, 3), SOME, True, dtype)
    for rewarded in (False, True):
        sides.compare(
            multiplied, drawn.gradients, *drawn.experts, routes=drawn.routes, rewarded=rewarded
        )
    sides.compare(gathered, 1 + drawn.raw, *sides.draw(2, 3, 3).abs())


def test_statistics_are_those_of_pytorchs_batch_norm(sides):
    raw = 1 + sides.draw(150, 2, 5)
    running = sides.draw(2, 5), sides.draw(2, 5).square()
    mean, scale, *kept = sides.kernel(gathered, raw, *running)
    for slot in range(2):
        expected = running[0][slot].clone(), running[1][slot].clone()
        normalized = batch_norm(raw[:, slot], *expected, training=True, momentum=MOMENTUM, eps=EPSILON)
        torch.testing.assert_close((raw[:, slot] - mean[slot]) * scale[slot], normalized)
        torch.testing.assert_close((kept[0][slot], kept[1][slot]), expected)


@pytest.mark.usefixtures("turns")
def test_large_means_do_not_cancel(sides):
    """A mean of 1000 with a deviation of 1: E[x²] - E[x]² would be wrong by 10⁶ · 2⁻²⁴, some 6%."""
    raw, nothing = 1000 + sides.draw(900, 2, 5), torch.zeros(2, 5, device=sides.device)
    _, scale, *_ = sides.kernel(gathered, raw, nothing, nothing)
    _, expected, *_ = sides.twin(gathered, raw, nothing, nothing)
    assert torch.allclose(scale.double(), expected, rtol=2e-4)


def test_two_launches_give_the_same_bits(sides):
    drawn = Drawn(sides, SMALL[2], ALL, True)
    sides.repeat(multiplied, drawn.gradients, *drawn.experts, routes=drawn.routes, rewarded=True)
    sides.repeat(gathered, drawn.raw, *sides.draw(2, 6, 16).abs())


def test_what_is_not_a_number_stays_so(sides):
    drawn = Drawn(sides, SMALL[1], ALL, True)
    drawn.state[0, 2, 3, 1] = torch.nan
    given = *drawn.experts, drawn.weights, drawn.sums
    _, rectified = sides.kernel(fanned_out, *given, routes=drawn.routes, add=False)
    assert rectified.isnan().sum() == 9  # the pool takes it to its neighbours
    sides.compare(fanned_out, *given, routes=drawn.routes, add=False)


def test_no_rectified_node_is_written_unless_asked_for(sides):
    drawn = Drawn(sides, SMALL[2], ALL, True)
    given = *drawn.experts, drawn.weights, drawn.sums
    sides.compare(fanned_out, *given, routes=drawn.routes, add=True, rectify=False)
