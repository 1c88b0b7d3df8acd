"""ReLU and depthwise convolution of many slots at once, and the gradients of what they read.

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

from torch import Tensor

from xnas.kernels.blocks import LANE, lane_width, parts
from xnas.kernels.depthwise_plan import Plan, plain_depthwise, plain_depthwise_input_gradient
from xnas.kernels.depthwise_squares import launch_squares
from xnas.kernels.depthwise_taps import (
    BLOCK,
    RUN,
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
    """Put what flows back from each of the plan's groups, through the ReLU, into `into`.

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
        from_height=from_height,
        from_width=from_width,
        height=height,
        width=width,
        channels=channels,
        vector=vector,
        paired=paired,
        together=channels_together(weights),
        stride=stride,
        back=back,
        grouped=back and not plan.alone,
        relu=relu,
        gated=gate is not None,
        sides=compiled_sides(plan),
        run=run,
        block=block,
    )


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
    from_height: tl.constexpr,
    from_width: tl.constexpr,
    height: tl.constexpr,
    width: tl.constexpr,
    channels: tl.constexpr,
    vector: tl.constexpr,
    paired: tl.constexpr,
    together: tl.constexpr,
    stride: tl.constexpr,
    back: tl.constexpr,
    grouped: tl.constexpr,
    relu: tl.constexpr,
    gated: tl.constexpr,
    sides: tl.constexpr,
    run: tl.constexpr,
    block: tl.constexpr,
):
    """Convolve, or add up the convolutions of a group on their way back; a program writes runs."""
    which = tl.program_id(1)
    dilation = tl.load(group_table + 4 * which + 1 if grouped else table + 4 * which + 2)
    if dilation == 1:  # not a loop over both, which takes more registers and instructions
        _write_runs(
            x, weight3, weight5, weight7, table, group_table, members, gate, out, images, from_height,
            from_width, height, width, channels, vector, paired, together, stride, back, grouped, relu,
            gated, sides, run, block, 1,
        )  # fmt: skip
    else:
        _write_runs(
            x, weight3, weight5, weight7, table, group_table, members, gate, out, images, from_height,
            from_width, height, width, channels, vector, paired, together, stride, back, grouped, relu,
            gated, sides, run, block, 2,
        )  # fmt: skip


@inside
def _write_runs(
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
    from_height: tl.constexpr,
    from_width: tl.constexpr,
    height: tl.constexpr,
    width: tl.constexpr,
    channels: tl.constexpr,
    vector: tl.constexpr,
    paired: tl.constexpr,
    together: tl.constexpr,
    stride: tl.constexpr,
    back: tl.constexpr,
    grouped: tl.constexpr,
    relu: tl.constexpr,
    gated: tl.constexpr,
    sides: tl.constexpr,
    run: tl.constexpr,
    block: tl.constexpr,
    dilation: tl.constexpr,
):
    """Write the runs of a program, of the one slot or group that is its own."""
    which = tl.program_id(1)
    begin, end, rows = which, which + 1, table
    if grouped:
        source = tl.load(group_table + 4 * which)
        begin, end = tl.load(group_table + 4 * which + 2), tl.load(group_table + 4 * which + 3)
        rows = members
    else:
        source = tl.load(table + 4 * which)
    groups: tl.constexpr = channels // vector
    lane = tl.program_id(0) * block + tl.arange(0, block)
    c = (lane % groups * vector)[:, None] + tl.arange(0, vector)[None, :]
    loaded: tl.constexpr = vector // 2 if paired else vector
    unit = (lane % groups * loaded)[:, None] + tl.arange(0, loaded)[None, :]
    left = lane // groups % width
    line = lane // groups // width
    apart: tl.constexpr = dilation if run > 1 else 1
    runs: tl.constexpr = (height + run * apart - 1) // (run * apart) * apart
    image = line // runs
    top = begins(line % runs, apart, run)
    fits = image < images
    totals = (tl.zeros((block, vector), tl.float32),) * run
    plane = tl.full((), groups * loaded * from_height * from_width, tl.int64) * images
    for number in range(begin, end):
        side = tl.load(rows + 4 * number + 1)
        row = tl.load(rows + 4 * number + (2 if grouped else 3))
        slot = source
        if back:
            slot = which
        if grouped:
            slot = tl.load(members + 4 * number)
        origin = x + slot * plane
        for known in tl.static_range(3, 8, 2):
            if sides >> known & 1:  # noqa: SIM102 - or it would be compiled
                if side == known:
                    weight = weight3 if known == 3 else weight5 if known == 5 else weight7
                    totals = _add_taps(
                        totals, origin + unit, weight + row * (known * known * channels), image,
                        top, left, fits, c, from_height, from_width, dilation, channels, known, paired,
                        together, stride, back, relu, run,
                    )  # fmt: skip
    plane = tl.full((), channels * height * width, tl.int64) * images
    place = (((image * height + top) * width + left) * channels)[:, None] + c
    below: tl.constexpr = dilation * width * channels
    if gated:  # all of them before a store: no load may overtake one
        pixel = gate + source * plane + place
        for index in tl.static_range(run):
            there = (fits & (top + index * dilation < height))[:, None]
            passes = tl.load(pixel + index * below, mask=there, other=0.0) > 0
            totals = replaced(totals, index, tl.where(passes, totals[index], 0.0))
    pixel = out + which * plane + place
    for index in tl.static_range(run):
        there = (fits & (top + index * dilation < height))[:, None]
        tl.store(pixel + index * below, totals[index], mask=there)


@inside
def _add_taps(
    totals,
    x,
    weight,
    image,
    top,
    left,
    lanes,
    c,
    from_height: tl.constexpr,
    from_width: tl.constexpr,
    dilation: tl.constexpr,
    channels: tl.constexpr,
    side: tl.constexpr,
    paired: tl.constexpr,
    together: tl.constexpr,
    stride: tl.constexpr,
    back: tl.constexpr,
    relu: tl.constexpr,
    run: tl.constexpr,
):
    """Add one convolution to the pixels of every run, column by column of its taps.

    Constants are added to addresses, not to places: the hardware does it while loading.
    """
    above = top * stride - side // 2 * dilation
    units: tl.constexpr = channels // 2 if paired else channels  # of a pixel
    first = x + (((image * from_height + above) * from_width + left * stride) * units)[:, None]
    taps = first_tap(weight, c, side, together)
    apart: tl.constexpr = channels if together else 1
    row: tl.constexpr = side * apart
    for column in range(side):
        away = (column - side // 2) * dilation
        fits = lanes & (left * stride + away >= 0) & (left * stride + away < from_width)
        pixel = first + away * units
        tap = taps + column * apart
        if back:
            tap = taps + (side * side - 1 - column) * apart
        for step in tl.static_range(side + run - 1):
            y = above + step * dilation
            there = (fits & (y >= 0) & (y < from_height))[:, None]
            value = numbers_at(pixel + step * (dilation * from_width * units), there, paired)
            if relu:
                value = tl.maximum(value, 0.0, propagate_nan=tl.PropagateNan.ALL)
            for index in tl.static_range(run):
                if step - index >= 0 and step - index < side:
                    factor = tl.load(tap + (step - index) * (-row if back else row)).to(tl.float32)
                    totals = replaced(totals, index, totals[index] + value * factor)
    return totals
