"""Even and odd pixels, gathered and spread: kernels against plain versions, those against autograd."""

import pytest
import torch
from kernel_cases import cases

from xnas.kernels.halves import add_spread, gather, spread

SIZES = [(1, 1, 1, 1), (2, 5, 7, 3), (3, 8, 6, 36), (2, 4, 9, 40), (1, 7, 2, 131)]
ALL_SIZES = [*SIZES, pytest.param((96, 32, 31, 64), marks=pytest.mark.gpu)]
sizes = cases(size=ALL_SIZES, narrow=SIZES[1])


def halved(size):
    images, height, width, channels = size
    return images, -(-height // 2), -(-width // 2), channels


@sizes
def test_halves(sides, size, dtype):
    x = sides.draw(*size, dtype=dtype)
    found = sides.kernel(gather, x)
    assert torch.equal(found.double(), sides.plain(gather, x))
    assert found.shape == (2, *halved(size))
    down, right = size[1] // 2, size[2] // 2
    assert torch.equal(found[0], x[:, ::2, ::2])
    assert torch.equal(found[1, :, :down, :right], x[:, 1::2, 1::2])
    assert not found[1, :, down:].any()
    assert not found[1, :, :, right:].any()


@sizes
def test_halves_spread_again(sides, size, dtype):
    given = sides.draw(2, *halved(size), dtype=dtype)
    found = sides.kernel(spread, given, *size[1:3])
    assert torch.equal(found.double(), sides.plain(spread, given, *size[1:3]))
    x = torch.zeros(size, dtype=torch.float64, device=sides.device, requires_grad=True)
    sides.plain(gather, x).backward(given.double())
    assert torch.equal(found.double(), x.grad)


@cases(size=ALL_SIZES, counts=[(1, 2), (0, 3), (2, 0)], narrow=SIZES[1])
def test_sums_of_halves_are_added_where_a_gate_is_open(sides, size, counts, dtype):
    first = sides.whole(0, counts[0], sum(counts))

    def function(halves, gate, into):
        into = into.clone()
        add_spread(halves, first, gate=gate, into=into)
        return into

    halves = sides.draw(sum(counts), 2, *halved(size), dtype=dtype)
    gate, there = sides.draw(2, *size, dtype=dtype), sides.draw(2, *size, dtype=dtype)
    sides.compare(function, halves, gate, there)
    found = sides.plain(function, halves, gate, there)
    for index, mine in enumerate(halves.double().split(counts)):
        flow = sides.plain(spread, mine.sum(0), *size[1:3])
        expected = there[index].double() + flow * (gate[index] > 0)
        assert torch.allclose(found[index], expected)


def test_what_is_not_a_number_stays_so(sides):
    x = sides.draw(2, 5, 5, 3)
    x[1, 2, 4, 1] = x[0, 1, 3, 2] = x[0, 0, 1, 0] = torch.nan
    for side in (sides.kernel, sides.plain):
        found = side(gather, x)
        assert found[0, 1, 1, 2, 1].isnan()
        assert found[1, 0, 0, 1, 2].isnan()
        assert int(found.isnan().sum()) == 2  # the third is in neither half
        assert int(side(spread, found, 5, 5).isnan().sum()) == 2
        into = torch.zeros(1, 2, 5, 5, 3, dtype=found.dtype, device=sides.device)
        side(add_spread, found[None], sides.whole(0, 1), gate=torch.ones_like(into), into=into)
        assert int(into.isnan().sum()) == 2
