"""The gradient of what a depthwise convolution of stride 2 reads.

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
        rows=gradient.shape[2],
        columns=gradient.shape[3],
        height=height,
        width=width,
        channels=channels,
        vector=vector,
        together=channels_together(weights),
        gated=gate is not None,
        sides=compiled_sides(plan),
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
    rows: tl.constexpr,
    columns: tl.constexpr,
    height: tl.constexpr,
    width: tl.constexpr,
    channels: tl.constexpr,
    vector: tl.constexpr,
    together: tl.constexpr,
    gated: tl.constexpr,
    sides: tl.constexpr,
    block: tl.constexpr,
):
    """Add up the convolutions of a group on their way back; a program writes squares."""
    which = tl.program_id(1)
    source, dilation = tl.load(group_table + 4 * which), tl.load(group_table + 4 * which + 1)
    begin, end = tl.load(group_table + 4 * which + 2), tl.load(group_table + 4 * which + 3)
    groups: tl.constexpr = channels // vector
    lane = tl.program_id(0) * block + tl.arange(0, block)
    c = (lane % groups * vector)[:, None] + tl.arange(0, vector)[None, :]
    column = lane // groups % columns
    line = lane // groups // columns
    row, image = line % rows, line // rows
    fits = image < images
    totals = (tl.zeros((block, vector), tl.float32),) * 4
    plane = tl.full((), channels * rows * columns, tl.int64) * images
    for number in range(begin, end):
        origin = gradient + tl.load(members + 4 * number) * plane
        side = tl.load(members + 4 * number + 1)
        place = tl.load(members + 4 * number + 2)
        for known in tl.static_range(3, 8, 2):
            if sides >> known & 1:  # noqa: SIM102 - or it would be compiled
                if side == known:
                    weight = weight3 if known == 3 else weight5 if known == 5 else weight7
                    totals = _add_slot(
                        totals, origin, weight + place * (known * known * channels), image, row,
                        column, fits, c, rows, columns, dilation, channels, known, together,
                    )  # fmt: skip
    plane = tl.full((), channels * height * width, tl.int64) * images
    place = (((image * height + 2 * row) * width + 2 * column) * channels)[:, None] + c
    if gated:  # all of them before a store: no load may overtake one
        pixel = gate + source * plane + place
        for index in tl.static_range(4):
            there = fits & (2 * row + index // 2 < height) & (2 * column + index % 2 < width)
            away = (index // 2 * width + index % 2) * channels
            passes = tl.load(pixel + away, mask=there[:, None], other=0.0) > 0
            totals = replaced(totals, index, tl.where(passes, totals[index], 0.0))
    pixel = out + which * plane + place
    for index in tl.static_range(4):
        there = fits & (2 * row + index // 2 < height) & (2 * column + index % 2 < width)
        away = (index // 2 * width + index % 2) * channels
        tl.store(pixel + away, totals[index], mask=there[:, None])


@inside
def _add_slot(
    totals,
    gradient,
    weight,
    image,
    row,
    column,
    fits,
    c,
    rows: tl.constexpr,
    columns: tl.constexpr,
    dilation,
    channels: tl.constexpr,
    side: tl.constexpr,
    together: tl.constexpr,
):
    """Add one convolution to the pixels of every square."""
    half: tl.constexpr = side // 2
    apart: tl.constexpr = channels if together else 1
    taps = first_tap(weight, c, side, together)
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
