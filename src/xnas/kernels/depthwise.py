"""ReLU and depthwise convolution of many slots in one launch, and the gradients of their inputs.

Images are (inputs, batch, height, width, channels): channels last, so that a shifted pixel is as well
aligned as its neighbour. A slot is one convolution: it reads the input that a `Plan` names, with its
side and dilation, and writes its own output. Weights are (slots, taps, channels) for each side, taps row
by row, in this order in memory or with taps last. Convolutions are padded so that stride 1 keeps the
size; sums are made in float32 at least.

A lane computes a few channels of a run: pixels of one column, a dilation apart. A pixel that was loaded
serves all taps that touch it, a tap all pixels of its run, and neighbouring lanes load what lies
together in memory. A tap costs every lane a load, though many load the same, so runs are long and have
few channels where images are high enough. The gradient of a convolution of stride 1 is one with its taps
in reverse, by the same kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from xnas.kernels.blocks import LANE, lane_width, parts
from xnas.kernels.depthwise_plan import Plan, plain_depthwise, plain_depthwise_input_gradient
from xnas.kernels.depthwise_squares import launch_squares
from xnas.kernels.depthwise_taps import (
    BLOCK,
    RUN,
    Geometry,
    begins,
    channels_together,
    compiled_sides,
    first_tap,
    in_pairs,
    longest_run,
    numbers_at,
    of_every_side,
    replaced,
    runs_of,
)
from xnas.kernels.language import compiles_for, inside, kernel, tl


def depthwise(
    x: Tensor,
    weights: Sequence[Tensor],
    plan: Plan,
    *,
    stride: int,
    relu: bool,
    out: Tensor | None = None,
) -> Tensor:
    """Outputs (slots, batch, out height, out width, channels) for `x` or its ReLU.

    `weights` holds one tensor for each of the plan's sides.
    """
    if out is None:
        batch, height, width, channels = x.shape[1:]
        size = parts(height, stride), parts(width, stride)
        out = x.new_empty(len(plan.rows), batch, *size, channels)
    if plan.rows and compiles_for(x):
        _launch(x, weights, plan, None, out, stride, back=False, relu=relu)
    elif plan.rows:
        plain_depthwise(x.relu() if relu else x, weights, plan, stride, out)
    return out


def depthwise_input_gradient(
    gradient: Tensor,
    weights: Sequence[Tensor],
    plan: Plan,
    x: Tensor | None,
    *,
    stride: int,
    into: Tensor,
) -> None:
    """Put the gradient of the input of each of the plan's groups, through the ReLU, into `into`.

    `into` is (groups, batch, height, width, channels). Either `x` or its ReLU will do; with None there
    was no ReLU.
    """
    if not plan.rows:
        return
    if not compiles_for(gradient):
        plain_depthwise_input_gradient(gradient, weights, plan, x, stride, into)
    elif stride == 1:
        _launch(gradient, weights, plan, x, into, stride, back=True, relu=False)
    else:
        launch_squares(gradient, weights, plan, x, into)


def _launch(
    x: Tensor,
    weights: Sequence[Tensor],
    plan: Plan,
    gate: Tensor | None,
    out: Tensor,
    stride: int,
    *,
    back: bool,
    relu: bool,
) -> None:
    outputs, batch, height, width, channels = out.shape
    run, runs = runs_of(height, stride, plan.dilations, longest_run(height, plan))
    shorter = max(1, run // RUN)  # lanes of longer runs: a thread has no room for more outputs
    vector = lane_width(channels, LANE // shorter)
    block = BLOCK // shorter // vector
    from_height, from_width = x.shape[2:4]
    paired, (x,) = in_pairs(x)
    _convolve[(parts(batch * runs * width * (channels // vector), block), outputs)](
        x,
        *of_every_side(weights, plan),
        plan.table,
        plan.group_table,
        plan.members,
        out if gate is None else gate,
        out,
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
            together=channels_together(weights),
            sides=compiled_sides(plan),
        ),
        mode=_Mode(
            back=back,
            grouped=back and not plan.alone,
            relu=relu,
            gated=gate is not None,
            vector=vector,
            block=block,
        ),
    )


class _Mode(NamedTuple):
    """What a launch of `_convolve` computes, and in which blocks."""

    back: bool
    """Gradients of what was read: taps in reverse."""
    grouped: bool
    """Add up the convolutions of a group."""
    relu: bool
    gated: bool
    vector: int
    """Channels of a lane."""
    block: int
    """Readers of a program."""


@kernel(numbers=["images"], tables=["table", "group_table", "members"])
def _convolve(
    x,
    weight3,
    weight5,
    weight7,
    table,
    group_table,
    members,
    gate,
    out,
    images,
    shape: tl.constexpr,
    mode: tl.constexpr,
):
    """Convolve, or add up the gradients of the convolutions of a group; a program writes runs."""
    which = tl.program_id(1)
    dilation = tl.load(group_table + 4 * which + 1 if mode.grouped else table + 4 * which + 2)
    weights = (weight3, weight5, weight7)
    tables = (table, group_table, members)
    if dilation == 1:  # not a loop over both, which takes more registers and instructions
        _write_runs(x, weights, tables, gate, out, images, shape, mode, 1)
    else:
        _write_runs(x, weights, tables, gate, out, images, shape, mode, 2)


@inside
def _write_runs(
    x,
    weights,
    tables,
    gate,
    out,
    images,
    shape: tl.constexpr,
    mode: tl.constexpr,
    dilation: tl.constexpr,
):
    """Write the runs of a program, of the one slot or group that is its own."""
    which = tl.program_id(1)
    source, begin, end = _members_of(tables, which, mode.grouped)
    groups: tl.constexpr = shape.channels // mode.vector
    lane = tl.program_id(0) * mode.block + tl.arange(0, mode.block)
    c = (lane % groups * mode.vector)[:, None] + tl.arange(0, mode.vector)[None, :]
    loaded: tl.constexpr = mode.vector // 2 if shape.paired else mode.vector
    unit = (lane % groups * loaded)[:, None] + tl.arange(0, loaded)[None, :]
    left = lane // groups % shape.width
    line = lane // groups // shape.width
    apart: tl.constexpr = dilation if shape.run > 1 else 1
    runs: tl.constexpr = (shape.height + shape.run * apart - 1) // (shape.run * apart) * apart
    image = line // runs
    top = begins(line % runs, apart, shape.run)
    fits = image < images
    place = image, top, left, fits
    rows = begin, end
    totals = _added_up(x, weights, tables, source, rows, place, c, unit, images, shape, mode, dilation)
    _store_runs(totals, gate, out, source, place, c, images, shape, mode, dilation)


@inside
def _members_of(tables, which, grouped: tl.constexpr):
    """The input that a slot or group reads or writes, and which of the rows are its own."""
    table, group_table, _ = tables
    begin, end = which, which + 1
    if grouped:
        source = tl.load(group_table + 4 * which)
        begin, end = tl.load(group_table + 4 * which + 2), tl.load(group_table + 4 * which + 3)
    else:
        source = tl.load(table + 4 * which)
    return source, begin, end


@inside
def _added_up(
    x,
    weights,
    tables,
    source,
    rows,
    place,
    c,
    unit,
    images,
    shape: tl.constexpr,
    mode: tl.constexpr,
    dilation: tl.constexpr,
):
    """The pixels of every run, a block of them each: one convolution, or all of a group added up."""
    table, _, members = tables
    begin, end = rows
    block: tl.constexpr = mode.block
    vector: tl.constexpr = mode.vector
    run: tl.constexpr = shape.run
    totals = (tl.zeros((block, vector), tl.float32),) * run
    units: tl.constexpr = shape.channels // 2 if shape.paired else shape.channels  # of a pixel
    plane = tl.full((), units * shape.from_height * shape.from_width, tl.int64) * images
    for number in range(begin, end):
        if mode.grouped:
            side = tl.load(members + 4 * number + 1)
            row = tl.load(members + 4 * number + 2)
            slot = tl.load(members + 4 * number)
        else:
            side = tl.load(table + 4 * number + 1)
            row = tl.load(table + 4 * number + 3)
            slot = tl.program_id(1) if mode.back else source
        origin = x + slot * plane
        for known in tl.static_range(3, 8, 2):
            if shape.sides >> known & 1:  # noqa: SIM102 - or it would be compiled
                if side == known:
                    pixel = origin + unit
                    weight = weights[(known - 3) // 2] + row * (known * known * shape.channels)
                    totals = _add_taps(totals, pixel, weight, place, c, shape, mode, dilation, known)
    return totals


@inside
def _add_taps(
    totals,
    x,
    weight,
    place,
    c,
    shape: tl.constexpr,
    mode: tl.constexpr,
    dilation: tl.constexpr,
    side: tl.constexpr,
):
    """Add one convolution to the pixels of every run, column by column of its taps.

    Constants are added to addresses, not to places: the hardware does it while loading.
    """
    image, top, left, lanes = place
    above = top * shape.stride - side // 2 * dilation
    units: tl.constexpr = shape.channels // 2 if shape.paired else shape.channels  # of a pixel
    corner = (image * shape.from_height + above) * shape.from_width + left * shape.stride
    first = x + (corner * units)[:, None]
    taps = first_tap(weight, c, side, shape.together)
    apart: tl.constexpr = shape.channels if shape.together else 1
    row: tl.constexpr = side * apart
    run: tl.constexpr = shape.run
    for column in range(side):
        away = (column - side // 2) * dilation
        z = left * shape.stride + away
        fits = lanes & (z >= 0) & (z < shape.from_width)
        pixel = first + away * units
        tap = taps + column * apart
        if mode.back:
            tap = taps + (side * side - 1 - column) * apart
        for step in tl.static_range(side + run - 1):
            y = above + step * dilation
            there = (fits & (y >= 0) & (y < shape.from_height))[:, None]
            value = numbers_at(pixel + step * (dilation * shape.from_width * units), there, shape.paired)
            if mode.relu:
                value = tl.maximum(value, 0.0, propagate_nan=tl.PropagateNan.ALL)
            for index in tl.static_range(run):
                if step - index >= 0 and step - index < side:
                    factor = tl.load(tap + (step - index) * (-row if mode.back else row)).to(tl.float32)
                    totals = replaced(totals, index, totals[index] + value * factor)
    return totals


@inside
def _store_runs(
    totals,
    gate,
    out,
    source,
    place,
    c,
    images,
    shape: tl.constexpr,
    mode: tl.constexpr,
    dilation: tl.constexpr,
):
    """Store the pixels of every run, 0 where the gate is closed."""
    image, top, left, fits = place
    plane = tl.full((), shape.channels * shape.height * shape.width, tl.int64) * images
    first = (((image * shape.height + top) * shape.width + left) * shape.channels)[:, None] + c
    below: tl.constexpr = dilation * shape.width * shape.channels
    run: tl.constexpr = shape.run
    if mode.gated:  # all of them before a store: no load may overtake one
        pixel = gate + source * plane + first
        for index in tl.static_range(run):
            there = (fits & (top + index * dilation < shape.height))[:, None]
            passes = tl.load(pixel + index * below, mask=there, other=0.0) > 0
            totals = replaced(totals, index, tl.where(passes, totals[index], 0.0))
    pixel = out + tl.program_id(1) * plane + first
    for index in tl.static_range(run):
        there = (fits & (top + index * dilation < shape.height))[:, None]
        tl.store(pixel + index * below, totals[index], mask=there)
