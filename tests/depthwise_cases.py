"""Convolutions and data of the tests of depthwise kernels."""

from typing import NamedTuple

import pytest
import torch

from xnas.kernels.depthwise_plan import plan_of
from xnas.kernels.depthwise_weights import depthwise_weight_gradient

INPUTS = 4
SORTED = (0, 0, 2)  # inputs 1 and 3 are read by no slot
MIXED = (2, 0, 0)


class Case(NamedTuple):
    """A convolution and the images that it reads."""

    side: int
    size: tuple[int, int, int, int]
    """Batch, height, width, channels."""
    stride: int = 1
    dilation: int = 1


# At stride 1 a lane computes 4 or 8 pixels that are a dilation apart, so a column is runs of 4 to 16.
# The last of them may be cut off.
SMALL = [
    Case(3, (2, 7, 5, 5)),
    Case(5, (1, 6, 9, 16)),
    Case(7, (1, 7, 3, 3)),  # narrower than its taps
    Case(3, (1, 3, 17, 1)),
    Case(5, (1, 5, 9, 3), dilation=2),
    Case(3, (2, 5, 4, 70), dilation=2),  # 70 channels in lanes of 2 and in blocks of 8
    Case(5, (1, 4, 17, 5), dilation=2),
    Case(3, (2, 3, 1, 2), dilation=2),
    Case(
        3, (2, 9, 2, 3), dilation=2
    ),  # in the second run of a column of 9 pixels there is one, in the fourth none
    Case(3, (2, 9, 5, 16), stride=2),
    Case(3, (2, 7, 7, 16), stride=2, dilation=2),
    Case(5, (2, 9, 17, 1), stride=2, dilation=2),
    Case(7, (1, 3, 5, 3), stride=2, dilation=2),  # larger than its image
]
LONG = [
    Case(3, (1, 16, 2, 6)),
    Case(5, (1, 16, 3, 4), dilation=2),
    Case(5, (1, 23, 2, 40)),
    Case(3, (1, 17, 2, 16), dilation=2),  # of 8 pixels the last run would have one, so they have 4
]
ALIKE = (1, 3, 6, 10, 11, 14, 15)  # on a CPU another shape covers the same branches
SHAPES = [
    *(
        pytest.param(shape, marks=[pytest.mark.slow] * (place in ALIKE))
        for place, shape in enumerate([*SMALL, *LONG])
    ),
    pytest.param(Case(7, (2, 8, 8, 5), stride=2), marks=pytest.mark.slow),
    pytest.param(Case(5, (4, 15, 14, 70), stride=2), marks=pytest.mark.slow),
    pytest.param(Case(5, (4, 15, 13, 70), dilation=2), marks=pytest.mark.slow),
]
LARGE = [
    pytest.param(shape, marks=pytest.mark.gpu)
    for shape in [
        Case(3, (96, 32, 32, 16)),
        Case(3, (48, 31, 29, 32)),
        Case(5, (96, 32, 32, 36), dilation=2),
        Case(5, (32, 9, 17, 16), dilation=2),
        Case(5, (96, 32, 32, 36), stride=2),
        Case(7, (24, 8, 8, 144)),
        Case(3, (32, 15, 17, 70), stride=2, dilation=2),
    ]
]


def weight_gradient(x, gradient, *like, plan, stride, relu=True):
    found = depthwise_weight_gradient(x, gradient, plan, like=like, stride=stride, relu=relu)
    for one, weight in zip(found, like, strict=True):
        assert one.shape == weight.shape
        assert one.stride() == weight.stride()
    return tuple(found)


def numbers_of(sides, shape, source):
    """Slots of one kind."""
    rows = [(one, shape.side, shape.dilation) for one in source]
    plan = plan_of(rows, inputs=INPUTS, device=torch.device(sides.device))
    return {"plan": plan, "stride": shape.stride}


def drawn(sides, shape, source, dtype=torch.float32, *, strided=False):
    """Images, half of whose pixels the ReLU takes away, weights and a gradient of the outputs.

    Strided weights lie in memory as a module has them: channels first, then taps.
    """
    kernel, stride = shape.side, shape.stride
    batch, height, width, channels = shape.size
    x = sides.draw(INPUTS, batch, height, width, channels, dtype=dtype)
    if strided:
        weight = sides.draw(len(source), channels, kernel * kernel).transpose(1, 2)
    else:
        weight = sides.draw(len(source), kernel * kernel, channels)
    size = (-(-height // stride), -(-width // stride))
    return x, weight, sides.draw(len(source), batch, *size, channels, dtype=dtype)
