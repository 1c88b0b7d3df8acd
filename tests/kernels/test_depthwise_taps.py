"""How pixels are dealt out, for which sides kernels are compiled, and what is loaded in pairs."""

import pytest
import torch

from xnas.kernels.depthwise_plan import plan_of
from xnas.kernels.depthwise_taps import (
    channels_together,
    compiled_sides,
    in_pairs,
    longest_run,
    of_every_side,
    runs_of,
)

CPU = torch.device("cpu")


def plan(*sides, **options):
    return plan_of([(0, side, 1) for side in sides], inputs=1, device=CPU, **options)


def test_runs_cover_a_column_at_every_dilation():
    assert runs_of(32, 1, [1]) == (4, 8)
    assert runs_of(9, 1, [1, 2]) == (4, 4)  # two runs of every second pixel, twice: 16 places for 9
    assert runs_of(9, 2, [1, 2]) == (1, 9)
    assert runs_of(32, 1, [1, 2], 8) == (8, 4)
    assert runs_of(23, 1, [1, 2], 8) == (8, 4)  # three runs of dilation 1
    assert runs_of(9, 2, [1, 2], 8) == (1, 9)


@pytest.mark.parametrize(
    ("height", "dilations", "run"),
    [
        *((height, (1, 2), 8) for height in (15, 16, 31, 32)),
        *((height, (1,), 8) for height in (8, 23)),
        *((height, (1,), 4) for height in (4, 17, 28)),
        *((height, (1, 2), 4) for height in (8, 17, 23)),
    ],
)
def test_runs_are_long_where_shorter_ones_would_cover_no_fewer_pixels(height, dilations, run):
    rows = [(0, 3, dilation) for dilation in dilations]
    assert longest_run(height, plan_of(rows, inputs=1, device=CPU)) == run


def test_a_deletion_leaves_runs_as_long_as_they_were():
    assert longest_run(8, plan(3, shrinks=True)) == 4  # dilation 2 may have been among them
    assert longest_run(8, plan(3, shrinks=True, alone=True)) == 8


def test_a_deletion_compiles_nothing_because_sides_that_may_occur_are_compiled():
    assert compiled_sides(plan(3)) == 1 << 3
    assert compiled_sides(plan(5, 7)) == 1 << 5 | 1 << 7
    left = {compiled_sides(plan(*sides, shrinks=True)) for sides in [(3, 5), (3,), (5,)]}
    assert left == {1 << 3 | 1 << 5}


def test_weights_stand_in_for_sides_that_have_none():
    five = torch.zeros(1, 25, 2)
    assert all(weight is five for weight in of_every_side([five], plan(5)))
    with pytest.raises(AssertionError):
        of_every_side([torch.zeros(1, 81, 2)], plan(9))


def test_weights_of_modules_have_the_taps_of_a_channel_together():
    assert channels_together([torch.zeros(2, 9, 4)])
    assert not channels_together([torch.zeros(2, 9, 4), torch.zeros(2, 4, 9).transpose(1, 2)])


def test_two_bfloat16_are_one_number_where_channels_are_even():
    even = torch.randn(1, 2, 3, 3, 4).bfloat16()
    paired, (numbers,) = in_pairs(even)
    assert paired
    assert numbers.dtype == torch.int32
    halves = torch.stack([numbers << 16, numbers & -65536], -1)
    assert torch.equal(halves.view(torch.float32).flatten(-2), even.float())
    for others in ([even.float()], [even[..., :3].contiguous()], [even, even.float()]):
        paired, images = in_pairs(*others)
        assert not paired
        assert all(one is other for one, other in zip(images, others, strict=True))
