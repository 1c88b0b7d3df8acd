"""ReLU and depthwise convolution of many slots at once, and the gradients of what they read.

Images are (inputs, batch, height, width, channels): channels last, so that a shifted pixel is as well
aligned as its neighbour. A slot is one convolution: it reads the input that a `Plan` names, with its
side and dilation, and writes its own output. Weights are (slots, taps, channels) for each side, taps row
by row, in this order in memory or with taps last. Convolutions are padded so that stride 1 keeps the
size; sums are made in float32 at least.

A thread computes runs of pixels, a dilation apart: a pixel that was loaded serves all taps that touch
it. The gradient of a convolution of stride 1 is one with its taps in reverse, by the same kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from xnas.kernels.depthwise_plan import Plan, plain_depthwise, plain_input_gradient
from xnas.kernels.language import compiles_for, inside, kernel, parts, power_of_two, tl

RUN = 4  # pixels a thread computes together
BLOCK = 1024  # runs x channels of a program
SIDES = (3, 5, 7)


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
        _launch(x, weights, plan, x, out, stride, back=False, relu=relu)
    elif plan.rows:
        plain_depthwise(x.relu() if relu else x, weights, plan, stride, out)
    return out


def depthwise_input_gradient(
    gradient: Tensor, weights: Sequence[Tensor], plan: Plan, x: Tensor, *, stride: int, into: Tensor
) -> None:
    """Put what flows back from each of the plan's groups, through the ReLU, into `into`.

    `into` is (groups, batch, height, width, channels). Either `x` or its ReLU will do.
    """
    if not plan.rows:
        return
    if compiles_for(gradient):
        _launch(gradient, weights, plan, x, into, stride, back=True, relu=False)
    else:
        plain_input_gradient(gradient, weights, plan, x, stride, into)


def runs_of(width: int, stride: int, dilation: int) -> tuple[int, int]:
    """Pixels of a run, and runs of a row; at stride 2 neighbours share too little."""
    return (1, width) if stride > 1 else (RUN, parts(width, RUN * dilation) * dilation)


def channels_together(weights: Sequence[Tensor]) -> bool:
    """Whether the channels of a tap lie together in memory; otherwise the taps of a channel do."""
    return all(weight.is_contiguous() for weight in weights)


def compiled_sides(weights: Sequence[Tensor], plan: Plan) -> dict[str, bool]:
    """For which sides to compile a kernel: those that occur, and for packed weights 3 and 5 anyway.

    A deletion may leave a search one of them, and should compile nothing.
    """
    packed = channels_together(weights)
    return {
        "three": packed or 3 in plan.sides,
        "five": packed or 5 in plan.sides,
        "seven": 7 in plan.sides,
    }


def require_sides(plan: Plan) -> None:
    """The kernels know no others."""
    unknown = set(plan.sides).difference(SIDES)
    assert not unknown, unknown  # noqa: S101


def of_every_side(weights: Sequence[Tensor], plan: Plan) -> list[Tensor]:
    """Weights of side 3, 5 and 7; any tensor where there are none."""
    require_sides(plan)
    given = dict(zip(plan.sides, weights, strict=True))
    return [given.get(side, weights[0]) for side in SIDES]


def _launch(
    x: Tensor,
    weights: Sequence[Tensor],
    plan: Plan,
    gate: Tensor,
    out: Tensor,
    stride: int,
    *,
    back: bool,
    relu: bool,
) -> None:
    outputs, batch, height, width, channels = out.shape
    block_c = min(64, power_of_two(channels))
    block_m = BLOCK // block_c
    runs = [runs_of(width, stride, dilation) for dilation in plan.dilations]
    blocks = parts(batch * height * max(row_runs for _, row_runs in runs), block_m)
    _convolve[(blocks, outputs, parts(channels, block_c))](
        x,
        *of_every_side(weights, plan),
        plan.table,
        plan.first,
        plan.order,
        gate,
        out,
        batch,
        x.shape[2],
        x.shape[3],
        height,
        width,
        channels=channels,
        together=channels_together(weights),
        stride=stride,
        back=back,
        relu=relu,
        **compiled_sides(weights, plan),
        run=runs[0][0],
        block_m=block_m,
        block_c=block_c,
    )


@kernel(
    numbers=["images", "from_height", "from_width", "height", "width"],
    tables=["table", "first", "order"],
)
def _convolve(
    x,
    weight3,
    weight5,
    weight7,
    table,
    first,
    order,
    gate,
    out,
    images,
    from_height,
    from_width,
    height,
    width,
    channels: tl.constexpr,
    together: tl.constexpr,
    stride: tl.constexpr,
    back: tl.constexpr,
    relu: tl.constexpr,
    three: tl.constexpr,
    five: tl.constexpr,
    seven: tl.constexpr,
    run: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    """Convolve, or add up the convolutions of a group on their way back; a program writes runs."""
    which = tl.program_id(1)
    begin, end, leader = which, which + 1, which
    if back:
        begin, end = tl.load(first + which), tl.load(first + which + 1)
        leader = tl.load(order + begin)
    source = tl.load(table + 4 * leader)
    dilation = tl.load(table + 4 * leader + 2)
    m = tl.program_id(0) * block_m + tl.arange(0, block_m)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    row_runs = row_runs_of(width, dilation, run)
    left = begins(m, row_runs, dilation, run)
    line = m // row_runs
    top = line % height
    image = line // height
    fits = image < images
    known = c < channels
    a0 = tl.zeros((block_m, block_c), tl.float32)
    a1, a2, a3 = a0, a0, a0
    plane = tl.full((), channels, tl.int64) * images * from_height * from_width
    for number in range(begin, end):
        slot = number
        origin = x + source * plane
        if back:
            slot = tl.load(order + number)
            origin = x + slot * plane
        side = tl.load(table + 4 * slot + 1)
        row = tl.load(table + 4 * slot + 3)
        if three:  # noqa: SIM102 - or it would be compiled; so below
            if side == 3:
                a0, a1, a2, a3 = _add_taps(
                    a0, a1, a2, a3, origin, weight3 + row * (9 * channels), image, top, left, fits, c,
                    known, from_height, from_width, dilation, channels, 3, together, stride, back, relu,
                    run,
                )  # fmt: skip
        if five:  # noqa: SIM102
            if side == 5:
                a0, a1, a2, a3 = _add_taps(
                    a0, a1, a2, a3, origin, weight5 + row * (25 * channels), image, top, left, fits, c,
                    known, from_height, from_width, dilation, channels, 5, together, stride, back, relu,
                    run,
                )  # fmt: skip
        if seven:  # noqa: SIM102
            if side == 7:
                a0, a1, a2, a3 = _add_taps(
                    a0, a1, a2, a3, origin, weight7 + row * (49 * channels), image, top, left, fits, c,
                    known, from_height, from_width, dilation, channels, 7, together, stride, back, relu,
                    run,
                )  # fmt: skip
    plane = tl.full((), channels, tl.int64) * images * height * width
    for index in tl.static_range(run):
        total = a0
        if index == 1:
            total = a1
        if index == 2:
            total = a2
        if index == 3:
            total = a3
        z = left + index * dilation
        place = ((line * width + z) * channels)[:, None] + c[None, :]
        inside = (fits & (z < width))[:, None] & known[None, :]
        if back:
            passes = tl.load(gate + source * plane + place, mask=inside, other=0.0) > 0
            total = tl.where(passes, total, 0.0)
        tl.store(out + which * plane + place, total, mask=inside)


@inside
def row_runs_of(width, dilation, run: tl.constexpr):  # noqa: ANN201 - Triton's
    """Runs of a row."""
    number = width
    if run > 1:
        number = (width + run * dilation - 1) // (run * dilation) * dilation
    return number


@inside
def begins(m, row_runs, dilation, run: tl.constexpr):  # noqa: ANN201 - Triton's
    """Where a run begins in its row."""
    left = m % row_runs
    if run > 1:
        left = (left // dilation) * (dilation * run) + left % dilation
    return left


@inside
def _add_taps(
    a0,
    a1,
    a2,
    a3,
    x,
    weight,
    image,
    top,
    left,
    lines,
    c,
    known,
    from_height,
    from_width,
    dilation,
    channels: tl.constexpr,
    side: tl.constexpr,
    together: tl.constexpr,
    stride: tl.constexpr,
    back: tl.constexpr,
    relu: tl.constexpr,
    run: tl.constexpr,
):
    """Add one convolution to the pixels of every run."""
    for row in range(side):
        y = top + (row - side // 2) * dilation
        fits = lines
        if back and stride > 1:
            fits = fits & (y % stride == 0)
            y = tl.where(y < 0, -1, y // stride)
        elif stride > 1:
            y = top * stride + (row - side // 2) * dilation
        fits = fits & (y >= 0) & (y < from_height)
        place = (image * from_height + y) * from_width
        for step in tl.static_range(side + run - 1):
            z = left + (step - side // 2) * dilation
            there = fits
            if back and stride > 1:
                there = there & (z % stride == 0)
                z = tl.where(z < 0, -1, z // stride)
            elif stride > 1:
                z = left * stride + (step - side // 2) * dilation
            there = there & (z >= 0) & (z < from_width)
            value = tl.load(
                x + ((place + z) * channels)[:, None] + c[None, :],
                mask=there[:, None] & known[None, :],
                other=0.0,
            ).to(tl.float32)
            if relu:
                value = tl.maximum(value, 0.0, propagate_nan=tl.PropagateNan.ALL)
            for index in tl.static_range(run):
                if step - index >= 0 and step - index < side:
                    tap = row * side + (step - index)
                    if back:
                        tap = side * side - 1 - tap
                    if together:
                        factor = tl.load(weight + tap * channels + c, mask=known, other=0.0)
                    else:
                        factor = tl.load(weight + tap + c * (side * side), mask=known, other=0.0)
                    found = value * factor.to(tl.float32)[None, :]
                    if index == 0:
                        a0 += found
                    if index == 1:
                        a1 += found
                    if index == 2:
                        a2 += found
                    if index == 3:
                        a3 += found
    return a0, a1, a2, a3
