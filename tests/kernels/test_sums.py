"""Sums of partial sums: PyTorch's sum against the plain version, that against the kernel."""

import pytest
import torch

from xnas.kernels.sums import FEW, MANY, add_up

# rows, then what a row holds
SHAPES = [
    (1, 1),
    FEW,
    (FEW[0] + 1, FEW[1] + 1),
    (4 * FEW[0], 5),
    (4 * FEW[0] + 1, 5),
    (MANY[0], MANY[1]),
    (MANY[0] + 1, MANY[1] + 1),
    (2 * MANY[0] + 5, 3, 2, 5),
    pytest.param((300, 2, 9, 144), marks=pytest.mark.gpu),
]


def summed(partial, *, dtype=None):
    out = torch.full(partial.shape[1:], torch.nan, dtype=dtype or partial.dtype, device=partial.device)
    add_up(partial, out)
    return out


def transposed(partial):
    """Into memory that lies in another order than its dimensions; the rows lie as it does."""
    out = partial.new_full((partial.shape[1], *partial.shape[:1:-1]), torch.nan).transpose(1, -1)
    assert not out.is_contiguous()
    add_up(partial, out)
    return out


@pytest.mark.parametrize("shape", [*SHAPES[:-1], (0, 7)])
def test_plain_versions_are_pytorchs_sum(sides, shape):
    partial = sides.draw(*shape).double()
    assert torch.allclose(sides.plain(summed, partial), partial.sum(0))


@pytest.mark.parametrize("shape", [*SHAPES, (0, 7)])
def test_kernels_equal_their_plain_versions(sides, shape):
    sides.compare(summed, sides.draw(*shape))


def test_sums_lie_as_their_memory_does(sides):
    partial = sides.draw(11, 3, 5, 4)
    expected = partial.double().sum(0).flatten()
    for side in (sides.kernel, sides.plain):
        out = side(transposed, partial)
        assert out.shape == (3, 5, 4)
        assert torch.allclose(out.transpose(1, 2).flatten().double(), expected, atol=1e-5)
    sides.compare(transposed, partial)


def test_sums_may_be_narrower_than_their_parts(sides):
    partial = sides.draw(11, 30)
    found = sides.kernel(summed, partial, dtype=torch.bfloat16)
    right = sides.plain(summed, partial)
    torch.testing.assert_close(found.double(), right, rtol=2**-7, atol=1e-6)


def test_what_is_not_finite_stays_in_its_column(sides):
    partial = sides.draw(9, 200)
    partial[3, 7], partial[8, 130] = torch.nan, torch.inf
    sides.compare(summed, partial)
    assert int(sides.kernel(summed, partial).isfinite().sum()) == 198


@pytest.mark.gpu  # the interpreter has one order
def test_two_launches_give_the_same_bits(sides):
    sides.repeat(summed, sides.draw(100, 50))
