"""Batch statistics: against PyTorch's batch norm, and kernels against plain versions."""

import pytest
import torch
from kernel_cases import cases
from torch.nn.functional import batch_norm

from xnas.kernels.moments import EPSILON, MOMENTUM, Moments, combine_moments, gather_moments

# slots, pixels, channels
SMALL = [(1, 2, 1), (2, 150, 3), (3, 64, 16), (2, 130, 40), (2, 65, 70), (1, 900, 5)]
SHAPES = [
    *SMALL,
    pytest.param((4, 2000, 70), marks=pytest.mark.slow),
    *(
        pytest.param(shape, marks=pytest.mark.gpu)
        for shape in [(6, 98304, 16), (4, 24577, 72), (3, 6144, 144)]
    ),
]
LARGE_MEANS = 2e-4


def moments(x, running_mean, running_variance):
    wide = torch.promote_types(x.dtype, torch.float32)
    mean, scale = x.new_empty(2, len(x), x.shape[-1], dtype=wide)
    kept = running_mean.clone(), running_variance.clone()
    gather_moments(x, Moments(mean, scale, *kept))
    return mean, scale, *kept


def drawn(sides, shape, dtype=torch.float32):
    slots, _, channels = shape
    x = sides.draw(*shape) * (1 + sides.draw(slots, 1, channels).abs()) + sides.draw(slots, 1, channels)
    return x.to(dtype), sides.draw(slots, channels), sides.draw(slots, channels).square()


@pytest.mark.parametrize("shape", SMALL)
@pytest.mark.parametrize("side", ["kernel", "plain"])
def test_they_are_those_of_pytorchs_batch_norm(sides, side, shape):
    x, running_mean, running_variance = drawn(sides, shape)
    mean, scale, *kept = getattr(sides, side)(moments, x, running_mean, running_variance)
    tolerance = 1e-12 if side == "plain" else 1e-5
    for slot, images in enumerate(x.double()):
        expected = running_mean[slot].double(), running_variance[slot].double()
        normalized = batch_norm(images, *expected, training=True, momentum=MOMENTUM, eps=EPSILON)
        found = (images - mean[slot]) * scale[slot]
        assert torch.allclose(found, normalized, rtol=0, atol=10 * tolerance)
        for one, other in zip(kept, expected, strict=True):
            assert torch.allclose(one[slot].double(), other, rtol=tolerance, atol=tolerance)


@cases(shape=SHAPES, narrow=SMALL[1])
def test_kernels_equal_their_plain_versions(sides, shape, dtype):
    sides.compare(moments, *drawn(sides, shape, dtype))


@pytest.mark.gpu  # the interpreter has one order
def test_two_launches_give_the_same_bits(sides):
    sides.repeat(moments, *drawn(sides, SMALL[3]))


@pytest.mark.parametrize("pixels", [100, pytest.param(100_000, marks=pytest.mark.gpu)])
def test_large_means_do_not_cancel(sides, pixels):
    """A mean of 1000 with a deviation of 1: E[x²] - E[x]² would be wrong by 10⁶ · 2⁻²⁴, some 6%.

    A block's mean is rounded by 1000 · 2⁻²⁴ a few times, say 2e-4. In the variance that counts times
    twice its distance from the other blocks' means, which is some tenths.
    """
    x = 1000 + sides.draw(2, pixels, 70)
    nothing = torch.zeros(2, 70, device=sides.device)
    mean, scale, *_ = sides.kernel(moments, x, nothing, nothing)
    expected, deviation, *_ = sides.plain(moments, x, nothing, nothing)
    assert torch.allclose(mean.double(), expected, rtol=1e-6)
    assert torch.allclose(scale.double(), deviation, rtol=LARGE_MEANS)


def test_more_blocks_are_added_up_than_fit_at_once(sides):
    """600 blocks of 4 pixels, the last one of 3; a program takes 64 at a time."""
    slots, pixels, channels = 2, 2399, 5
    x = 100 + sides.draw(slots, pixels, channels)
    blocks = x.double().split(4, 1)
    means = torch.stack([one.mean(1) for one in blocks], 1)
    squares = torch.stack([one.var(1, correction=0) * one.shape[1] for one in blocks], 1)
    partial = torch.stack([means, squares], 2).float()
    mean, scale = torch.empty(2, slots, channels, device=sides.device)
    sides.kernel(combine_moments, partial, pixels, 4, Moments(mean, scale))
    variance, middle = torch.var_mean(x.double(), 1, correction=0)
    assert torch.allclose(mean.double(), middle, rtol=1e-6)
    assert torch.allclose(scale.double(), (variance + EPSILON).rsqrt(), rtol=1e-5)


def test_what_is_not_finite_stays_so(sides):
    x = sides.draw(2, 40, 3)
    x[0, 7, 1] = torch.nan
    sides.compare(moments, x, *torch.ones(2, 2, 3, device=sides.device))


def test_slots_share_their_memory_and_may_keep_running_statistics():
    whole = Moments(torch.zeros(4, 3), torch.zeros(4, 3))
    running = torch.zeros(2, 3), torch.ones(2, 3)
    part = whole.slots(slice(1, 3), running=running)
    gather_moments(torch.randn(2, 9, 3), part)
    assert torch.equal(whole.mean[1:3], part.mean)
    assert whole.scale[1:3].all()
    assert not whole.scale[[0, 3]].any()
    assert part.running_mean is running[0]
    assert part.running_mean.any()
    assert whole.slots(slice(0, 1)).running_mean is None


def test_no_slots_give_nothing(sides):
    x = sides.draw(0, 8, 3)
    for side in (sides.kernel, sides.plain):
        assert all(found.shape == (0, 3) for found in side(moments, x, x[:, 0], x[:, 0]))
