"""The gradient of what a depthwise convolution of stride 2 reads, square by square."""

import pytest
import torch

from xnas.kernels.depthwise_plan import plain_depthwise_input_gradient, plan_of
from xnas.kernels.depthwise_squares import launch_squares


def flown(sides, rows, size, channels, dtype=torch.float32):
    """By the kernel, and by the plain version in float64."""
    height, width = size
    kernels = sorted({side for _, side, _ in rows})
    counts = [sum(side == one for _, side, _ in rows) for one in kernels]
    weights = [sides.draw(n, k * k, channels) for n, k in zip(counts, kernels, strict=True)]
    x = sides.draw(2, 2, height, width, channels, dtype=dtype)
    gradient = sides.draw(len(rows), 2, -(-height // 2), -(-width // 2), channels, dtype=dtype)
    plan = plan_of(rows, inputs=2, device=x.device)
    found = x.new_full((len(plan.groups), *x.shape[1:]), torch.nan, dtype=torch.float32)
    launch_squares(gradient, weights, plan, x, found)
    exact = found.new_empty(found.shape, dtype=torch.float64)
    wide = [weight.double() for weight in weights]
    plain_depthwise_input_gradient(gradient.double(), wide, plan, x.double(), 2, exact)
    return found, exact


# input, side, dilation
ROWS = [[(0, 3, 1)], [(1, 5, 1), (1, 3, 1), (0, 5, 2)], [(0, 7, 1), (0, 7, 2)]]


# Squares at the right and the bottom may have one pixel; a lane has 4, 2 or 1 channels.
@pytest.mark.parametrize(("size", "channels"), [((4, 6), 4), ((5, 3), 2), ((1, 7), 3)])
@pytest.mark.parametrize("rows", ROWS, ids=len)
def test_kernels_equal_their_plain_versions(sides, rows, size, channels):
    found, exact = flown(sides, rows, size, channels)
    torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-5)


def test_all_taps_of_dilation_2_lead_to_the_first_pixel_of_a_square(sides):
    found, _ = flown(sides, [(0, 5, 2)], (6, 6), 4)
    assert found[:, :, ::2, ::2].any()
    found[:, :, ::2, ::2] = 0
    assert not found.any()


def test_other_dilations_are_not_known(sides):
    with pytest.raises(AssertionError):
        flown(sides, [(0, 3, 3)], (4, 4), 4)
