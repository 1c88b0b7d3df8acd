"""Weight gradients of 3x3 convolutions: plain version against autograd, kernel against plain version."""

import pytest
import torch
from torch.nn.functional import conv2d

from xnas.kernels import square_weights as module
from xnas.kernels.square_weights import square_weight_gradient

# batch, height, width, channels, slots. Runs have 4, 2 or 1 pixels, as the height allows; tiles have 32
# channels out and 16 in, and blocks 16 runs in float32.
SMALL = [
    (1, 1, 1, 4, 1),
    (3, 4, 5, 6, 3),
    (2, 6, 3, 16, 2),
    (2, 5, 7, 3, 6),
    (1, 8, 9, 16, 3),
    (1, 3, 5, 40, 1),
]
LARGE = [
    pytest.param(shape, marks=pytest.mark.gpu)
    for shape in [
        *((96, 32, 32, 16, slots) for slots in (6, 4, 2)),
        *((96, 16, 16, 32, slots) for slots in (6, 4, 2)),
        *((96, 8, 8, 64, slots) for slots in (6, 4, 2)),
        *((64, 32, 32, 16, 5), (33, 17, 15, 40, 3), (7, 10, 31, 6, 5), (1, 9, 9, 100, 1)),
    ]
]


def drawn(sides, shape, dtype=torch.float32):
    batch, height, width, channels, slots = shape
    x = sides.draw(batch, height, width, channels, dtype=dtype)
    return x, sides.draw(batch, height, width, slots * channels, dtype=dtype)


@pytest.mark.parametrize("shape", SMALL)
def test_the_plain_version_is_what_autograd_finds(sides, shape):
    x, flow = (one.double() for one in drawn(sides, shape))
    weight = torch.zeros(flow.shape[3], shape[3], 3, 3, dtype=x.dtype, device=x.device).requires_grad_()
    conv2d(x.permute(0, 3, 1, 2), weight, padding=1).backward(flow.permute(0, 3, 1, 2))
    found = sides.plain(square_weight_gradient, x, flow)
    assert found.dtype == torch.float64
    assert torch.allclose(found, weight.grad.permute(0, 2, 3, 1))


@pytest.mark.parametrize("shape", [*SMALL, *LARGE])
def test_the_kernel_equals_its_plain_version(sides, shape):
    sides.compare(square_weight_gradient, *drawn(sides, shape))


# The interpreter's matrix product takes the bits of a bfloat16 for a whole number.
@pytest.mark.gpu
@pytest.mark.parametrize("shape", [*SMALL, *LARGE])
def test_the_kernel_equals_its_plain_version_in_bfloat16(sides, shape):
    x, flow = drawn(sides, shape, torch.bfloat16)
    assert sides.kernel(square_weight_gradient, x, flow).dtype == torch.bfloat16
    sides.compare(square_weight_gradient, x, flow)


@pytest.mark.parametrize("programs", [1, 2, 40])
def test_shares_of_the_pixels_add_up(sides, monkeypatch, programs):
    """One share, two, and as many as the runs are worth: three, the last of which is shorter."""
    monkeypatch.setattr(module, "PROGRAMS", programs)
    sides.compare(square_weight_gradient, *drawn(sides, (3, 8, 13, 3, 2)))


@pytest.mark.parametrize(("height", "row", "column"), [(4, 0, 2), (5, 2, 0), (6, 2, 3), (4, -1, -1)])
def test_what_is_no_number_reaches_the_taps_that_meet_it(sides, height, row, column):
    """Taps that see a pixel at an edge from beyond it do not; its gradient also meets zeros."""
    x, flow = drawn(sides, (2, height, 5, 3, 1))
    broken = x.clone()
    broken[0, row, column, 1] = torch.nan
    sides.compare(square_weight_gradient, broken, flow)
    taps = (3 - (row in {0, -1})) * (3 - (column in {0, -1}))
    assert sides.kernel(square_weight_gradient, broken, flow).isnan().sum() == 3 * taps
    flow[1, row, column, 0] = torch.nan
    sides.compare(square_weight_gradient, x, flow)


def test_what_lies_around_the_images_is_not_read(sides):
    """Nor are other images, nor channels beyond the last, where tiles are larger."""
    x, flow = drawn(sides, (4, 4, 5, 6, 3))
    expected = sides.kernel(square_weight_gradient, x[1:3].clone(), flow[1:3].clone())
    for tensor in (x, flow):
        tensor[[0, 3]] = torch.nan
    assert torch.equal(sides.kernel(square_weight_gradient, x[1:3], flow[1:3]), expected)


def test_the_gradient_lies_as_a_channels_last_kernel_does(sides):
    x, flow = drawn(sides, SMALL[1])
    found = sides.kernel(square_weight_gradient, x, flow)
    assert found.shape == (18, 3, 3, 6)
    assert found.is_contiguous()


def test_what_is_compiled_depends_on_no_number_of_slots(sides, monkeypatch):
    seen = []

    class Noted:
        def __getitem__(self, grid):
            return lambda *_, **constants: seen.append(constants)

    monkeypatch.setattr(module, "_weight_gradient", Noted())
    monkeypatch.setattr(module, "add_up", lambda *_: None)
    for slots in (1, 2, 5, 6):
        sides.kernel(square_weight_gradient, *drawn(sides, (2, 4, 4, 16, slots)))
    assert len(seen) == 4
    assert all(constants == seen[0] for constants in seen)


@pytest.mark.gpu  # the interpreter has one order
def test_two_launches_give_the_same_bits(sides):
    sides.repeat(square_weight_gradient, *drawn(sides, SMALL[1]))
