"""What the kernels of depthwise convolutions share: how pixels are dealt out, and where taps lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from xnas.kernels.blocks import parts
from xnas.kernels.depthwise_plan import Plan
from xnas.kernels.language import inside, tl

RUN = 4  # pixels a lane computes together
LONG_RUN = 8  # of half as many channels
BLOCK = 1024  # lanes x channels of a program
SIDES = (3, 5, 7)


class Geometry(NamedTuple):
    """Sizes and layouts that a kernel of depthwise convolutions is compiled for."""

    from_height: int
    """Of the images that a convolution reads; `height` and `width` are those of its output."""
    from_width: int
    height: int
    width: int
    channels: int
    stride: int
    run: int
    """Pixels of one column that are computed together."""
    paired: bool
    """Two bfloat16 are loaded as one number of 32 bits (`in_pairs`)."""
    together: bool
    """The channels of a tap lie together in memory; otherwise the taps of a channel do."""
    sides: int
    """Kernel sizes that may occur: bit 3 is that of side 3 (`compiled_sides`)."""


def runs_of(height: int, stride: int, dilations: Sequence[int], run: int = RUN) -> tuple[int, int]:
    """Pixels of a run, and most runs of a column; at stride 2 neighbours share too little."""
    if stride > 1:
        return 1, height
    return run, max(_runs(height, dilation, run) for dilation in dilations)


def longest_run(height: int, plan: Plan) -> int:
    """Pixels of a run at stride 1: 8 where of 4 no fewer would lie below the image, at any dilation.

    Where slots that share inputs may be deleted, a dilation may go with them, which should compile
    nothing: runs are those of either. Slots alone are second halves of convolutions, of one dilation.
    """
    dilations = [1, 2] if plan.shrinks and not plan.alone else plan.dilations
    fit = all(LONG_RUN * _runs(height, d, LONG_RUN) <= RUN * _runs(height, d, RUN) for d in dilations)
    return LONG_RUN if fit else RUN


def _runs(height: int, dilation: int, run: int) -> int:
    """Runs of a column: as many begin side by side as pixels are apart."""
    return parts(height, run * dilation) * dilation


def channels_together(weights: Sequence[Tensor]) -> bool:
    """Whether the channels of a tap lie together in memory; otherwise the taps of a channel do."""
    return all(weight.is_contiguous() for weight in weights)


def compiled_sides(plan: Plan) -> int:
    """For which sides to compile a kernel, those that occur and may occur: bit 3 is that of side 3."""
    sides = {*plan.sides, 3, 5} if plan.shrinks else plan.sides
    return sum(1 << side for side in sides)


def require_sides(plan: Plan) -> None:
    """The kernels know no others."""
    unknown = set(plan.sides).difference(SIDES)
    assert not unknown, unknown  # noqa: S101


def of_every_side(weights: Sequence[Tensor], plan: Plan) -> list[Tensor]:
    """Weights of side 3, 5 and 7; any tensor where there are none."""
    require_sides(plan)
    given = dict(zip(plan.sides, weights, strict=True))
    return [given.get(side, weights[0]) for side in SIDES]


def in_pairs(*images: Tensor) -> tuple[bool, Sequence[Tensor]]:
    """Whether two bfloat16 of each can be loaded as one number of 32 bits, and the images as such.

    To make two float32 of them takes two instructions; of two bfloat16 it would take three.
    """
    paired = all(x.dtype == torch.bfloat16 and not x.shape[-1] % 2 for x in images)
    return paired, [x.view(torch.int32) for x in images] if paired else images


@inside
def numbers_at(pixel, there, paired: tl.constexpr):  # noqa: ANN201 - Triton's
    """Channels of one pixel of every lane in float32, 0 where there is none."""
    found = tl.load(pixel, mask=there, other=0)
    if paired:
        first = (found << 16).to(tl.float32, bitcast=True)
        second = (found & -65536).to(tl.float32, bitcast=True)
        found = tl.join(first, second).reshape(found.shape[0], 2 * found.shape[1])
    return found.to(tl.float32)


@inside
def begins(number, apart: tl.constexpr, run: tl.constexpr):  # noqa: ANN201 - Triton's
    """Where a run begins in its column."""
    return number // apart * (apart * run) + number % apart


@inside
def first_tap(weight, c, side: tl.constexpr, together: tl.constexpr):  # noqa: ANN201 - Triton's
    """Addresses of the first tap of these channels."""
    place = c * (side * side)
    if together:
        place = c
    return weight + place


@inside
def replaced(numbers, index: tl.constexpr, by):  # noqa: ANN201 - Triton's
    """The tuple with another number in this place."""
    return numbers[:index] + (by,) + numbers[index + 1 :]  # noqa: RUF005 - Triton's
