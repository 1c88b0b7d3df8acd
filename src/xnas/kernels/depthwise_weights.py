"""Gradients of the weights of depthwise convolutions, of many slots in one launch.

A program adds up one column of a slot's taps over a share of the runs of pixels (`depthwise`), so that
the pixels of a column of the image serve all its taps; shares are added up in a fixed order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from xnas.kernels.blocks import channel_block, parts
from xnas.kernels.depthwise_plan import Plan, plain_depthwise_weight_gradient
from xnas.kernels.depthwise_taps import (
    BLOCK,
    Geometry,
    begins,
    channels_together,
    compiled_sides,
    in_pairs,
    numbers_at,
    replaced,
    require_sides,
    runs_of,
)
from xnas.kernels.language import compiles_for, inside, kernel, tl
from xnas.kernels.sums import add_up

PROGRAMS = 2048  # many for each multiprocessor: those of large convolutions take longer


def depthwise_weight_gradient(
    x: Tensor, gradient: Tensor, plan: Plan, *, like: Sequence[Tensor], stride: int, relu: bool
) -> list[Tensor]:
    """Gradients of the weights, in float32 at least; laid out as `like`, which has no gaps."""
    wide = torch.promote_types(x.dtype, torch.float32)
    together = x.new_empty(sum(weight.numel() for weight in like), dtype=wide)
    found, begin = [], 0
    for weight in like:
        found.append(together.as_strided(weight.shape, weight.stride(), begin))
        begin += weight.numel()
    if plan.rows and compiles_for(x):
        _launch_weight_gradient(x, gradient, plan, like, together, stride, relu=relu)
    elif plan.rows:
        plain_depthwise_weight_gradient(x.relu() if relu else x, gradient, plan, stride, found)
    return found


def _launch_weight_gradient(
    x: Tensor,
    gradient: Tensor,
    plan: Plan,
    like: Sequence[Tensor],
    out: Tensor,
    stride: int,
    *,
    relu: bool,
) -> None:
    """Partial sums over shares of the pixels, added up in a fixed order."""
    slots, batch, height, width, channels = gradient.shape
    block_c = channel_block(channels, least=16)
    block_m = BLOCK // block_c
    blocks = parts(channels, block_c)
    run, runs = runs_of(height, stride, plan.dilations)
    runs *= batch * width
    columns = sum(side for _, side, _ in plan.rows)
    splits = max(1, min(parts(runs, 2 * block_m), PROGRAMS // (columns * blocks)))
    share = parts(parts(runs, splits), block_m) * block_m
    splits = parts(runs, share)
    partial = torch.empty(splits, out.numel(), dtype=torch.float32, device=x.device)
    sizes = {side: weight.numel() for side, weight in zip(plan.sides, like, strict=True)}
    begin5 = sizes.get(3, 0)
    most = plan.sides[-1]
    require_sides(plan)
    from_height, from_width = x.shape[2:4]
    paired, (x, gradient) = in_pairs(x, gradient)
    _weight_gradient[(slots * most, splits, blocks)](
        x,
        gradient,
        plan.table,
        partial,
        most,
        share,
        out.numel(),
        begin5,
        begin5 + sizes.get(5, 0),
        batch,
        shape=Geometry(
            from_height=from_height,
            from_width=from_width,
            height=height,
            width=width,
            channels=channels,
            stride=stride,
            run=run,
            paired=paired,
            together=channels_together(like),
            sides=compiled_sides(plan),
        ),
        blocks=_Blocks(pixels=block_m, channels=block_c, relu=relu),
    )
    add_up(partial, out)


class _Blocks(NamedTuple):
    """What a program reads at a time: runs of pixels and channels, or their ReLU."""

    pixels: int
    channels: int
    relu: bool


@kernel(numbers=["most", "share", "size", "begin5", "begin7", "images"], tables=["table"])
def _weight_gradient(
    x,
    gradient,
    table,
    partial,
    most,
    share,
    size,
    begin5,
    begin7,
    images,
    shape: tl.constexpr,
    blocks: tl.constexpr,
):
    """One program adds up one column of taps over a share of the runs; there may be no such column."""
    slot, column, split = tl.program_id(0) // most, tl.program_id(0) % most, tl.program_id(1)
    c = tl.program_id(2) * blocks.channels + tl.arange(0, blocks.channels)
    side = tl.load(table + 4 * slot + 1)
    dilation = tl.load(table + 4 * slot + 2)
    number = tl.load(table + 4 * slot + 3) * shape.channels
    plane = tl.full((), shape.channels // 2 if shape.paired else shape.channels, tl.int64) * images
    x += tl.load(table + 4 * slot) * plane * shape.from_height * shape.from_width
    gradient += slot * plane * shape.height * shape.width
    partial += split.to(tl.int64) * size
    task = (side, column, number)
    offsets = (0, begin5, begin7)
    if dilation == 1:  # not a loop over both, which takes more registers and instructions
        _add_up_taps(x, gradient, partial, task, offsets, split, share, images, c, shape, blocks, 1)
    else:
        _add_up_taps(x, gradient, partial, task, offsets, split, share, images, c, shape, blocks, 2)


@inside
def _add_up_taps(
    x,
    gradient,
    partial,
    task,
    offsets,
    split,
    share,
    images,
    c,
    shape: tl.constexpr,
    blocks: tl.constexpr,
    dilation: tl.constexpr,
):
    """Add up a column of taps by what was compiled for the side of its convolution."""
    side, column, number = task
    for known in tl.static_range(3, 8, 2):
        if shape.sides >> known & 1:  # noqa: SIM102 - or it would be compiled
            if side == known:
                into = partial + offsets[(known - 3) // 2] + number * (known * known)
                _add_up_column(
                    x, gradient, into, column, split, share, images, c, shape, blocks, dilation, known
                )


@inside
def _add_up_column(
    x,
    gradient,
    partial,
    column,
    split,
    share,
    images,
    c,
    shape: tl.constexpr,
    blocks: tl.constexpr,
    dilation: tl.constexpr,
    side: tl.constexpr,
):
    """Add up one column of a convolution's taps over a share of the runs, if there is such a column."""
    height: tl.constexpr = shape.height
    width: tl.constexpr = shape.width
    channels: tl.constexpr = shape.channels
    run: tl.constexpr = shape.run
    paired: tl.constexpr = shape.paired
    block_m: tl.constexpr = blocks.pixels
    block_c: tl.constexpr = blocks.channels
    known = c < tl.where(column < side, channels, 0)
    units: tl.constexpr = channels // 2 if paired else channels  # of a pixel
    loaded: tl.constexpr = block_c // 2 if paired else block_c
    unit = tl.program_id(2) * loaded + tl.arange(0, loaded)[None, :]
    exists = unit < tl.where(column < side, units, 0)
    apart: tl.constexpr = dilation if run > 1 else 1
    of_column: tl.constexpr = (height + run * apart - 1) // (run * apart) * apart
    runs = images * width * of_column
    end = tl.minimum(runs, (split + 1) * share)
    if column >= side:
        end = 0
    taps = (tl.zeros((block_m, block_c), tl.float32),) * side
    below: tl.constexpr = dilation * width * units
    for start in range(split * share, end, block_m):
        m = start + tl.arange(0, block_m)
        left, line = m % width, m // width
        top, image = begins(line % of_column, apart, run), line // of_column
        fits = m < runs
        pixel = gradient + (((image * height + top) * width + left) * units)[:, None] + unit
        flows = (numbers_at(pixel, (fits & (top < height))[:, None] & exists, paired),) * run
        for index in tl.static_range(1, run):
            there = (fits & (top + index * dilation < height))[:, None] & exists
            flows = replaced(flows, index, numbers_at(pixel + index * below, there, paired))
        z = left * shape.stride + (column - side // 2) * dilation
        above = top * shape.stride - side // 2 * dilation
        fits = fits & (z >= 0) & (z < shape.from_width)
        pixel = (
            x + (((image * shape.from_height + above) * shape.from_width + z) * units)[:, None] + unit
        )
        for step in tl.static_range(side + run - 1):
            y = above + step * dilation
            there = (fits & (y >= 0) & (y < shape.from_height))[:, None] & exists
            value = numbers_at(pixel + step * (dilation * shape.from_width * units), there, paired)
            if blocks.relu:
                value = tl.maximum(value, 0.0, propagate_nan=tl.PropagateNan.ALL)
            for index in tl.static_range(run):
                if step - index >= 0 and step - index < side:
                    tap = taps[step - index] + flows[index] * value
                    taps = replaced(taps, step - index, tap)
    for row in tl.static_range(side):
        number = row * side + column
        place = number + c * (side * side)
        if shape.together:
            place = number * channels + c
        tl.store(partial + place, tl.sum(taps[row], 0), mask=known)
