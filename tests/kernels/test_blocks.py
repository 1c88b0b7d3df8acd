"""Blocks and lanes cover tensors of any shape, wherever they begin."""

import pytest
import torch

from xnas.kernels.blocks import (
    alignment,
    channel_block,
    from_the_beginning,
    lane_width,
    parts,
    power_of_two,
)


@pytest.mark.parametrize(("whole", "part", "number"), [(0, 4, 0), (1, 4, 1), (4, 4, 1), (5, 4, 2)])
def test_parts_cover_the_whole(whole, part, number):
    assert parts(whole, part) == number


@pytest.mark.parametrize(("least", "found"), [(1, 1), (2, 2), (3, 4), (64, 64), (65, 128)])
def test_the_next_power_of_two_is_not_below(least, found):
    assert power_of_two(least) == found


@pytest.mark.parametrize(
    ("least", "expected"),
    [
        (16, {3: 4, 16: 16, 32: 32, 40: 16, 64: 64, 72: 16, 80: 16, 128: 64, 144: 16, 160: 32}),
        (32, {1: 1, 3: 4, 16: 16, 32: 32, 36: 64, 40: 64, 64: 64, 72: 32, 80: 32, 128: 64, 144: 32}),
        (64, {1: 1, 3: 4, 16: 16, 36: 64, 64: 64, 72: 64, 144: 64}),
    ],
)
def test_blocks_of_channels_leave_few_threads_idle(least, expected):
    assert {channels: channel_block(channels, least=least) for channels in expected} == expected


@pytest.mark.parametrize(("steps", "width"), [((1,), 1), ((36,), 4), ((40, 16), 8), ((16, 0, 6), 2)])
def test_a_lane_divides_all_steps(steps, width):
    assert lane_width(*steps) == width


def test_a_part_of_a_tensor_is_moved_to_where_its_memory_begins():
    numbers = torch.arange(24).view(4, 6)
    moved = from_the_beginning(numbers[1:3, 2:5])
    assert torch.equal(moved, numbers[:2, :3])
    assert moved.data_ptr() == numbers.data_ptr()


def test_alignment_is_what_divides_every_address():
    numbers = torch.zeros(64, dtype=torch.bfloat16)
    assert numbers.data_ptr() % 16 == 0
    for begin, steps, expected in [(0, (16, 8), 16), (4, (16, 8), 8), (0, (36, 8), 8), (0, (3, 8), 2)]:
        assert alignment(numbers[begin:], steps=steps) == expected
