"""Fan-out of a state, forward and backward: autograd against plain versions, those against kernels."""

import pytest
import torch
from fan_out_cases import (
    ALL,
    ROUTES,
    SHAPES,
    SMALL,
    SOME,
    Drawn,
    fanned_out,
    flown,
    multiplied,
    returned,
)
from kernel_cases import cases
from torch.nn.functional import avg_pool2d, batch_norm

from xnas.kernels import fan_out as module
from xnas.kernels import rewards
from xnas.kernels.fan_out import gather_slots
from xnas.kernels.moments import EPSILON, MOMENTUM, Moments


@pytest.fixture
def turns(monkeypatch):
    """Few programs, so that each of them takes several blocks."""
    monkeypatch.setattr(module, "PROGRAMS", 2)
    monkeypatch.setattr(module, "BLOCK", 512)
    monkeypatch.setattr(rewards, "BLOCK", 512)


def gathered(raw, running_mean, running_variance):
    mean, scale = torch.empty_like(running_mean), torch.empty_like(running_mean)
    kept = running_mean.clone(), running_variance.clone()
    gather_slots(raw, Moments(mean, scale, *kept))
    return mean, scale, *kept


@cases(shape=SMALL[1:], routes=ROUTES)
def test_plain_versions_are_what_autograd_finds(sides, shape, routes):
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
        sides.plain(gather_slots, known[0], Moments(mean, scale))
    experts = state.detach(), known[0], mean, scale
    after, first = sides.plain(fanned_out, *experts, known[1], sums.detach(), routes=routes, add=True)
    torch.testing.assert_close(after, nodes.detach())
    torch.testing.assert_close(first, nodes[0].detach().relu())
    products, earned = sides.plain(multiplied, gradients, *experts, routes=routes, rewarded=True)
    torch.testing.assert_close(earned, weights.grad)
    if slots:
        found = sides.plain(flown, gradients, *experts[1:], known[1], products, routes=routes, held=True)
        torch.testing.assert_close(found, raw.grad)
    found = sides.plain(returned, gradients, known[1], routes=routes)
    torch.testing.assert_close(found, state.grad)
    flow = torch.randn_like(state)
    found = sides.plain(returned, gradients, known[1], flow, rectified.detach(), routes=routes)
    torch.testing.assert_close(found, state.grad + flow * (state > 0))


@cases(shape=SHAPES, flag=[False, True], routes=ROUTES, narrow=SMALL[1])
class TestKernels:
    @pytest.fixture
    def drawn(self, sides, shape, dtype, routes):
        return Drawn(sides, shape, *routes, dtype)

    def test_sums(self, sides, drawn, flag):
        given = *drawn.experts, drawn.weights, drawn.sums
        sides.compare(fanned_out, *given, routes=drawn.routes, add=flag)


@cases(shape=SHAPES, slots=[1, 6], narrow=SMALL[1])
def test_statistics_kernels_equal_their_plain_versions(sides, shape, dtype, slots):
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
    _, expected, *_ = sides.plain(gathered, raw, nothing, nothing)
    assert torch.allclose(scale.double(), expected, rtol=2e-4)


@pytest.mark.gpu  # the interpreter has one order
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
