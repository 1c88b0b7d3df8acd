"""ReLU and depthwise convolution of many slots at once, and their gradients.

Images are (inputs, batch, height, width, channels): channels last, so that a shifted pixel is as well
aligned as its neighbour. A slot is one convolution: it reads the input that `source` names and writes
its own output. Weights are (slots, taps, channels), taps row by row, with any strides. Convolutions are
padded so that stride 1 keeps the size; sums are made in float32 at least.

A thread computes runs of pixels, a dilation apart: a pixel that was loaded serves all taps that touch
it. The gradient of a convolution of stride 1 is one with its taps in reverse, by the same kernel.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import conv2d
from torch.nn.grad import conv2d_input, conv2d_weight

from xnas.kernels.language import compiles_for, inside, kernel, parts, power_of_two, tl
from xnas.kernels.sums import add_up

RUN = 4  # pixels a thread computes together
BLOCK = 1024  # runs x channels of a program
PROGRAMS = 1024  # of a weight gradient: several for each multiprocessor
LARGEST = 7  # side of a convolution


def depthwise(
    x: Tensor, weight: Tensor, source: Tensor, *, stride: int, dilation: int, out: Tensor | None = None
) -> Tensor:
    """Outputs (slots, batch, out height, out width, channels) for the ReLU of `x`."""
    if out is None:
        batch, height, width, channels = x.shape[1:]
        size = parts(height, stride), parts(width, stride)
        out = x.new_empty(len(weight), batch, *size, channels)
    if len(weight) and compiles_for(x):
        _launch(x, weight, source, x, out, stride, dilation, back=False, add=False)
    elif len(weight):
        out.copy_(plain_depthwise(x, weight, source, stride=stride, dilation=dilation))
    return out


def plain_depthwise(x: Tensor, weight: Tensor, source: Tensor, *, stride: int, dilation: int) -> Tensor:
    """The twin of `depthwise`: PyTorch's convolution with groups."""
    chosen, taps = _images(x.relu()[source]), _taps(weight).to(x.dtype)
    padding = dilation * (taps.shape[-1] // 2)
    found = conv2d(chosen, taps, None, stride, padding, dilation, groups=len(taps))
    return _slots(found, len(weight))


def depthwise_input_gradient(
    gradient: Tensor,
    weight: Tensor,
    first: Tensor,
    x: Tensor,
    *,
    stride: int,
    dilation: int,
    into: Tensor,
    add: bool,
) -> None:
    """Put what flows back to `x` into `into`, through the ReLU; with `add`, to what is there.

    Slots are sorted by their source: those from `first[i]` to `first[i + 1]` read input i.
    """
    if compiles_for(gradient):
        _launch(gradient, weight, first, x, into, stride, dilation, back=True, add=add)
        return
    if not add:
        into.zero_()
    if len(weight):
        plain_input_gradient(gradient, weight, first, x, stride, dilation, into)


def plain_input_gradient(
    gradient: Tensor,
    weight: Tensor,
    first: Tensor,
    x: Tensor,
    stride: int,
    dilation: int,
    into: Tensor,
) -> None:
    """The twin of `depthwise_input_gradient`."""
    taps = _taps(weight).to(gradient.dtype)
    batch, height, width, channels = into.shape[1:]
    size = torch.Size([batch, len(weight) * channels, height, width])
    padding = dilation * (taps.shape[-1] // 2)
    flown = conv2d_input(size, taps, _images(gradient), stride, padding, dilation, groups=len(taps))
    flown = _slots(flown, len(weight)).to(into.dtype)
    for index, (begin, end) in enumerate(zip(first[:-1].tolist(), first[1:].tolist(), strict=True)):
        into[index] += torch.where(x[index] > 0, flown[begin:end].sum(0), 0.0)


def depthwise_weight_gradient(
    x: Tensor, gradient: Tensor, source: Tensor, *, like: Tensor, stride: int, dilation: int
) -> Tensor:
    """Gradient of the weights, in float32 at least; laid out as `like`, which has no gaps."""
    wide = torch.promote_types(x.dtype, torch.float32)
    out = torch.empty_strided(like.shape, like.stride(), dtype=wide, device=x.device)
    if len(like) and compiles_for(x):
        _launch_weight_gradient(x, gradient, source, out, stride, dilation)
    elif len(like):
        out.copy_(
            plain_weight_gradient(x, gradient, source, math.isqrt(like.shape[1]), stride, dilation)
        )
    return out


def plain_weight_gradient(
    x: Tensor, gradient: Tensor, source: Tensor, side: int, stride: int, dilation: int
) -> Tensor:
    """The twin of `depthwise_weight_gradient`.

    In float32 at least: PyTorch's own in bfloat16 is wrong on a CPU at dilation 2 (torch 2.15).
    """
    slots, channels = len(gradient), x.shape[-1]
    wide = torch.promote_types(x.dtype, torch.float32)
    size = torch.Size([slots * channels, 1, side, side])
    padding = dilation * (side // 2)
    found: Tensor = conv2d_weight(
        _images(x.relu()[source]).to(wide),
        size,
        _images(gradient).to(wide),
        stride,
        padding,
        dilation,
        groups=slots * channels,
    )
    return found.reshape(slots, channels, side * side).transpose(1, 2)


def _images(x: Tensor) -> Tensor:
    """(slots, batch, height, width, channels) as PyTorch's (batch, slots x channels, height, width)."""
    return x.permute(1, 0, 4, 2, 3).flatten(1, 2)


def _slots(images: Tensor, slots: int) -> Tensor:
    batch, _, height, width = images.shape
    return images.view(batch, slots, -1, height, width).permute(1, 0, 3, 4, 2)


def _taps(weight: Tensor) -> Tensor:
    side = math.isqrt(weight.shape[1])
    return weight.transpose(1, 2).reshape(-1, 1, side, side)


def _runs(width: int, stride: int, dilation: int) -> tuple[int, int]:
    """Pixels of a run, and runs of a row; at stride 2 neighbours share too little."""
    return (1, width) if stride > 1 else (RUN, parts(width, RUN * dilation) * dilation)


def _launch(
    x: Tensor,
    weight: Tensor,
    table: Tensor,
    gate: Tensor,
    out: Tensor,
    stride: int,
    dilation: int,
    *,
    back: bool,
    add: bool,
) -> None:
    outputs, batch, height, width, channels = out.shape
    block_c = min(64, power_of_two(channels))
    run, row_runs = _runs(width, stride, dilation)
    runs = batch * height * row_runs
    _convolve[(parts(runs, BLOCK // block_c), outputs, parts(channels, block_c))](
        x,
        weight,
        table,
        gate,
        out,
        runs,
        row_runs,
        batch,
        int(add),
        x.shape[2],
        x.shape[3],
        height,
        width,
        dilation,
        *weight.stride(),
        channels=channels,
        side=math.isqrt(weight.shape[1]),
        together=weight.stride(2) == 1,
        stride=stride,
        back=back,
        run=run,
        block_m=BLOCK // block_c,
        block_c=block_c,
    )


@kernel(
    numbers=[
        *("runs", "row_runs", "images", "add", "from_height", "from_width", "height", "width"),
        *("dilation", "stride_slot", "stride_tap", "stride_channel"),
    ],
    tables=["table"],
)
def _convolve(
    x,
    weight,
    table,
    gate,
    out,
    runs,
    row_runs,
    images,
    add,
    from_height,
    from_width,
    height,
    width,
    dilation,
    stride_slot,
    stride_tap,
    stride_channel,
    channels: tl.constexpr,
    side: tl.constexpr,
    together: tl.constexpr,
    stride: tl.constexpr,
    back: tl.constexpr,
    run: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    """Convolve, or add up all convolutions of one input on their way back; a program writes runs."""
    which = tl.program_id(1)
    m = tl.program_id(0) * block_m + tl.arange(0, block_m)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    left = m % row_runs
    if run > 1:
        left = (left // dilation) * (dilation * run) + left % dilation
    line = m // row_runs
    top = line % height
    image = line // height
    known = c < channels
    a0 = tl.zeros((block_m, block_c), tl.float32)
    a1, a2, a3 = a0, a0, a0
    begin, end = which, which + 1
    if back:
        begin, end = tl.load(table + which), tl.load(table + which + 1)
    plane = tl.full((), channels, tl.int64) * images * from_height * from_width
    for slot in range(begin, end):
        origin = slot * plane
        if not back:
            origin = tl.load(table + slot) * plane
        for row in range(side):
            y = top + (row - side // 2) * dilation
            fits = m < runs
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
                    x + origin + ((place + z) * channels)[:, None] + c[None, :],
                    mask=there[:, None] & known[None, :],
                    other=0.0,
                ).to(tl.float32)
                if not back:
                    value = tl.where(value < 0, 0.0, value)
                for index in tl.static_range(run):
                    if step - index >= 0 and step - index < side:
                        tap = row * side + (step - index)
                        if back:
                            tap = side * side - 1 - tap
                        taps = weight + slot * stride_slot + tap * stride_tap
                        if together:
                            factor = tl.load(taps + c, mask=known, other=0.0)
                        else:
                            factor = tl.load(taps + c * stride_channel, mask=known, other=0.0)
                        found = value * factor.to(tl.float32)[None, :]
                        if index == 0:
                            a0 += found
                        if index == 1:
                            a1 += found
                        if index == 2:
                            a2 += found
                        if index == 3:
                            a3 += found
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
        place = which * plane + ((line * width + z) * channels)[:, None] + c[None, :]
        inside = ((m < runs) & (z < width))[:, None] & known[None, :]
        if back:
            passes = tl.load(gate + place, mask=inside, other=0.0) > 0
            total = tl.where(passes, total, 0.0)
            if add:
                total += tl.load(out + place, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + place, total, mask=inside)


def _launch_weight_gradient(
    x: Tensor, gradient: Tensor, source: Tensor, out: Tensor, stride: int, dilation: int
) -> None:
    """Partial sums over shares of the pixels, added up in a fixed order."""
    slots, batch, height, width, channels = gradient.shape
    side = math.isqrt(out.shape[1])
    assert side <= LARGEST  # noqa: S101 - the kernel has so many sums
    block_c = min(64, power_of_two(channels))
    block_m = BLOCK // block_c
    columns = parts(channels, block_c)
    run, row_runs = _runs(width, stride, dilation)
    runs = batch * height * row_runs
    splits = max(1, min(parts(runs, 2 * block_m), PROGRAMS // (slots * side * columns)))
    share = parts(parts(runs, splits), block_m) * block_m
    splits = parts(runs, share)
    partial = torch.empty(splits, out.numel(), dtype=torch.float32, device=x.device)
    _weight_gradient[(slots * side, splits, columns)](
        x,
        gradient,
        source,
        partial,
        runs,
        row_runs,
        share,
        out.numel(),
        x.shape[2],
        x.shape[3],
        height,
        width,
        dilation,
        *out.stride(),
        channels=channels,
        side=side,
        stride=stride,
        run=run,
        block_m=block_m,
        block_c=block_c,
    )
    add_up(partial, out)


@kernel(
    numbers=[
        *("runs", "row_runs", "share", "size", "from_height", "from_width", "height", "width"),
        *("dilation", "stride_slot", "stride_tap", "stride_channel"),
    ],
    tables=["source"],
)
def _weight_gradient(
    x,
    gradient,
    source,
    partial,
    runs,
    row_runs,
    share,
    size,
    from_height,
    from_width,
    height,
    width,
    dilation,
    stride_slot,
    stride_tap,
    stride_channel,
    channels: tl.constexpr,
    side: tl.constexpr,
    stride: tl.constexpr,
    run: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    """One program adds up one row of taps over one share of the runs."""
    slot, row, split = tl.program_id(0) // side, tl.program_id(0) % side, tl.program_id(1)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    known = c < channels
    images = runs // (row_runs * height)
    plane = tl.full((), channels, tl.int64) * images
    origin = tl.load(source + slot) * plane * from_height * from_width
    other = slot * plane * height * width
    a0 = tl.zeros((block_m, block_c), tl.float32)
    a1, a2, a3, a4, a5, a6 = a0, a0, a0, a0, a0, a0
    for start in range(split * share, tl.minimum(runs, (split + 1) * share), block_m):
        m = start + tl.arange(0, block_m)
        left = m % row_runs
        if run > 1:
            left = (left // dilation) * (dilation * run) + left % dilation
        line = m // row_runs
        g0 = _flow(gradient + other, m < runs, line, left, width, known, c, channels)
        g1, g2, g3 = g0, g0, g0
        if run > 1:
            g1 = _flow(gradient + other, m < runs, line, left + dilation, width, known, c, channels)
            g2 = _flow(gradient + other, m < runs, line, left + 2 * dilation, width, known, c, channels)
            g3 = _flow(gradient + other, m < runs, line, left + 3 * dilation, width, known, c, channels)
        y = (line % height) * stride + (row - side // 2) * dilation
        fits = (m < runs) & (y >= 0) & (y < from_height)
        place = (line // height * from_height + y) * from_width
        for step in tl.static_range(side + run - 1):
            z = left * stride + (step - side // 2) * dilation
            value = tl.load(
                x + origin + ((place + z) * channels)[:, None] + c[None, :],
                mask=(fits & (z >= 0) & (z < from_width))[:, None] & known[None, :],
                other=0.0,
            ).to(tl.float32)
            value = tl.where(value < 0, 0.0, value)
            for index in tl.static_range(run):
                flow = g0
                if index == 1:
                    flow = g1
                if index == 2:
                    flow = g2
                if index == 3:
                    flow = g3
                if step - index == 0:
                    a0 += flow * value
                if step - index == 1 and side > 1:
                    a1 += flow * value
                if step - index == 2 and side > 2:
                    a2 += flow * value
                if step - index == 3 and side > 3:
                    a3 += flow * value
                if step - index == 4 and side > 4:
                    a4 += flow * value
                if step - index == 5 and side > 5:
                    a5 += flow * value
                if step - index == 6 and side > 6:
                    a6 += flow * value
    place = split.to(tl.int64) * size + slot * stride_slot + row * side * stride_tap + c * stride_channel
    for column in tl.static_range(side):
        found = a0
        if column == 1:
            found = a1
        if column == 2:
            found = a2
        if column == 3:
            found = a3
        if column == 4:
            found = a4
        if column == 5:
            found = a5
        if column == 6:
            found = a6
        tl.store(partial + place + column * stride_tap, tl.sum(found, 0), mask=known)


@inside
def _flow(gradient, fits, line, z, width, known, c, channels: tl.constexpr):
    """The gradient of one pixel of every run."""
    return tl.load(
        gradient + ((line * width + z) * channels)[:, None] + c[None, :],
        mask=(fits & (z < width))[:, None] & known[None, :],
        other=0.0,
    ).to(tl.float32)
