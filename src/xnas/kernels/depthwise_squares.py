"""The gradient of the input of depthwise convolutions of stride 2.

A lane computes a square of two by two pixels of the image, to which belongs one pixel of the gradient.
Which taps lead from a pixel of the gradient to a pixel of the square is known beforehand: of dilation
1, tap t of a row or column leads from the gradient `away` squares off to pixel t + 2 away of the
square, so a fourth of the taps leads to each pixel; of dilation 2 all taps lead to the first pixel.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from xnas.kernels.blocks import lane_width, parts
from xnas.kernels.depthwise_plan import Plan
from xnas.kernels.depthwise_taps import (
    BLOCK,
    Geometry,
    channels_together,
    compiled_sides,
    first_tap,
    of_every_side,
    replaced,
)
from xnas.kernels.language import inside, kernel, tl


def launch_squares(
    gradient: Tensor, weights: Sequence[Tensor], plan: Plan, gate: Tensor | None, into: Tensor
) -> None:
    """The kernel of `depthwise_input_gradient` at stride 2."""
    groups, batch, height, width, channels = into.shape
    vector = lane_width(channels)
    block = BLOCK // vector
    assert set(plan.dilations) <= {1, 2}, plan.dilations  # noqa: S101
    lanes = batch * gradient.shape[2] * gradient.shape[3] * (channels // vector)
    _spread[(parts(lanes, block), groups)](
        gradient,
        *of_every_side(weights, plan),
        plan.group_table,
        plan.members,
        into if gate is None else gate,
        into,
        batch,
        shape=Geometry(
            from_height=height,
            from_width=width,
            height=gradient.shape[2],
            width=gradient.shape[3],
            channels=channels,
            stride=2,
            run=1,
            paired=False,
            together=channels_together(weights),
            sides=compiled_sides(plan),
        ),
        vector=vector,
        gated=gate is not None,
        block=block,
    )


@kernel(numbers=["images"], tables=["group_table", "members"])
def _spread(
    gradient,
    weight3,
    weight5,
    weight7,
    group_table,
    members,
    gate,
    out,
    images,
    shape: tl.constexpr,
    vector: tl.constexpr,
    gated: tl.constexpr,
    block: tl.constexpr,
):
    """Add up the gradients of the convolutions of a group; a program writes squares."""
    weights = (weight3, weight5, weight7)
    which = tl.program_id(1)
    source, dilation = tl.load(group_table + 4 * which), tl.load(group_table + 4 * which + 1)
    begin, end = tl.load(group_table + 4 * which + 2), tl.load(group_table + 4 * which + 3)
    groups: tl.constexpr = shape.channels // vector
    lane = tl.program_id(0) * block + tl.arange(0, block)
    c = (lane % groups * vector)[:, None] + tl.arange(0, vector)[None, :]
    column = lane // groups % shape.width
    line = lane // groups // shape.width
    row, image = line % shape.height, line // shape.height
    fits = image < images
    place = image, row, column, fits
    totals = (tl.zeros((block, vector), tl.float32),) * 4
    plane = tl.full((), shape.channels * shape.height * shape.width, tl.int64) * images
    for number in range(begin, end):
        origin = gradient + tl.load(members + 4 * number) * plane
        side = tl.load(members + 4 * number + 1)
        index = tl.load(members + 4 * number + 2)
        for known in tl.static_range(3, 8, 2):
            if shape.sides >> known & 1:  # noqa: SIM102 - or it would be compiled
                if side == known:
                    weight = weights[(known - 3) // 2] + index * (known * known * shape.channels)
                    totals = _add_slot(totals, origin, weight, place, c, dilation, shape, known)
    _store_squares(totals, gate, out, source, place, c, images, shape, gated)


@inside
def _store_squares(
    totals, gate, out, source, place, c, images, shape: tl.constexpr, gated: tl.constexpr
):
    """Store the pixels of every square that exist, 0 where the gate is closed."""
    image, row, column, fits = place
    height: tl.constexpr = shape.from_height
    width: tl.constexpr = shape.from_width
    plane = tl.full((), shape.channels * height * width, tl.int64) * images
    first = (((image * height + 2 * row) * width + 2 * column) * shape.channels)[:, None] + c
    if gated:  # all of them before a store: no load may overtake one
        pixel = gate + source * plane + first
        for index in tl.static_range(4):
            there = fits & (2 * row + index // 2 < height) & (2 * column + index % 2 < width)
            away = (index // 2 * width + index % 2) * shape.channels
            passes = tl.load(pixel + away, mask=there[:, None], other=0.0) > 0
            totals = replaced(totals, index, tl.where(passes, totals[index], 0.0))
    pixel = out + tl.program_id(1) * plane + first
    for index in tl.static_range(4):
        there = fits & (2 * row + index // 2 < height) & (2 * column + index % 2 < width)
        away = (index // 2 * width + index % 2) * shape.channels
        tl.store(pixel + away, totals[index], mask=there[:, None])


@inside
def _add_slot(totals, gradient, weight, place, c, dilation, shape: tl.constexpr, side: tl.constexpr):
    """Add one convolution to the pixels of every square."""
    image, row, column, fits = place
    rows: tl.constexpr = shape.height
    columns: tl.constexpr = shape.width
    channels: tl.constexpr = shape.channels
    half: tl.constexpr = side // 2
    apart: tl.constexpr = channels if shape.together else 1
    taps = first_tap(weight, c, side, shape.together)
    first = gradient + (((image * rows + row) * columns + column) * channels)[:, None] + c
    if dilation == 2:
        for down in range(-half, half + 1):
            there = fits & (row + down >= 0) & (row + down < rows)
            tap = taps + (half - down) * (side * apart)
            for right in tl.static_range(-half, half + 1):
                inside = there & (column + right >= 0) & (column + right < columns)
                pixel = first + down * (columns * channels) + right * channels
                flow = tl.load(pixel, mask=inside[:, None], other=0.0).to(tl.float32)
                factor = tl.load(tap + (half - right) * apart).to(tl.float32)
                totals = replaced(totals, 0, totals[0] + flow * factor)
    else:
        for down in tl.static_range(-(half // 2), (half + 1) // 2 + 1):
            there = fits & (row + down >= 0) & (row + down < rows)
            for right in tl.static_range(-(half // 2), (half + 1) // 2 + 1):
                inside = there & (column + right >= 0) & (column + right < columns)
                pixel = first + (down * columns + right) * channels
                flow = tl.load(pixel, mask=inside[:, None], other=0.0).to(tl.float32)
                for index in tl.static_range(4):
                    along, across = index // 2 - 2 * down + half, index % 2 - 2 * right + half
                    if along >= 0 and along < side and across >= 0 and across < side:
                        factor = tl.load(taps + (along * side + across) * apart).to(tl.float32)
                        totals = replaced(totals, index, totals[index] + flow * factor)
    return totals
