"""Shapes and data of the tests of pointwise convolutions."""

import pytest
import torch

# slots, pixels, channels in, channels out. Blocks have 128 pixels for up to 16 channels out, else 64; up
# to 32 channels in, in float32, are one step, and up to 64 or 128 in bfloat16.
SMALL = [
    (1, 1, 1, 1),
    (2, 300, 3, 5),
    (3, 256, 16, 16),
    (2, 129, 40, 70),
    (1, 130, 70, 40),  # 40 channels as 32 and 16
    (2, 33, 5, 140),  # 140 channels as three times 32 and 16
    (2, 65, 20, 72),  # 72 channels as 64 and 16
]
LARGE = [
    pytest.param(shape, marks=pytest.mark.gpu)
    for shape in [
        *((6, 98304, 16, 16), (4, 24576, 36, 72), (3, 6144, 144, 144), (2, 6145, 70, 300)),
        *((1, 98304, 36, 36), (1, 98305, 144, 36), (2, 24576, 72, 72), (1, 6144, 576, 144)),
    ]
]
SHAPES = [*SMALL, pytest.param((3, 1500, 70, 140), marks=pytest.mark.slow), *LARGE]


def drawn(sides, shape, *, transposed=False, dtype=torch.float32):
    slots, pixels, channels, outputs = shape
    x = sides.draw(slots, pixels, channels, dtype=dtype)
    if transposed:
        return x, sides.draw(slots, outputs, channels).transpose(1, 2)
    return x, sides.draw(slots, channels, outputs)
