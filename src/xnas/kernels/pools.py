"""3x3 pools over images (inputs, batch, height, width, channels).

Maximum and average of an input are computed together. The maximum remembers which of its nine pixels it
took, the first of equal ones as PyTorch does; the average counts no padding. `pool_gradients` has the
backward kernels.

A thread computes two pixels, one above the other, of the same channels: their windows share lines, and
what a line gives (its maximum, its sum) is computed once. Strides are 1 or 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, max_pool2d

from xnas.kernels.blocks import channel_block, lane_width, parts
from xnas.kernels.language import compiles_for, inside, kernel, tl
from xnas.kernels.moments import Moments, combine_moments, plain_moments

KINDS = "largest", "average"
BLOCK = 1024  # numbers of a line that a program computes


def max_pool(x: Tensor, *, stride: int, out: Tensor) -> Tensor:
    """Put maxima into `out`; gives the place (0 to 8) of each in its window, for the gradient."""
    return pool(x, alone(len(x), x.device, largest=True), stride=stride, out=out, kinds=("largest",))


def average_pool(x: Tensor, *, stride: int, out: Tensor) -> None:
    """Put means over the pixels that exist into `out`."""
    pool(x, alone(len(x), x.device, largest=False), stride=stride, out=out, kinds=("average",))


def pool(
    x: Tensor,
    places: Tensor,
    *,
    stride: int,
    out: Tensor,
    into: Moments | None = None,
    kinds: Sequence[str] = KINDS,
) -> Tensor:
    """Put maxima and means into `out`, and the statistics of its slots into `into`.

    `places` (inputs, 2) says which slot of `out` the maximum of an input goes to, and which its mean;
    -1 for none. `kinds` are those that occur. Gives the place (0 to 8) of each maximum in its window.
    """
    taken = torch.empty(len(x), *out.shape[1:], dtype=torch.uint8, device=x.device)
    if not len(x) or not len(out):
        return taken
    if compiles_for(x):
        _launch(x, places, out, taken, stride, into, kinds)
    else:
        plain_pool(x, places, out, taken, stride)
        if into is not None:
            plain_moments(out.flatten(1, 3), into)
    return taken


def plain_pool(x: Tensor, places: Tensor, out: Tensor, taken: Tensor, stride: int) -> None:
    """The plain PyTorch version of `pool`."""
    for index, (largest, average) in enumerate(places.tolist()):
        one = x[index : index + 1]
        if largest >= 0:
            maxima, chosen = _maxima(one, stride)
            out[largest], taken[index] = maxima[0], chosen[0]
        if average >= 0:
            means = avg_pool2d(channels_first(one), 3, stride, 1, count_include_pad=False)
            out[average] = channels_last(means, one)[0]


def _maxima(x: Tensor, stride: int) -> tuple[Tensor, Tensor]:
    """The largest of every window, and its place there."""
    found, flat = max_pool2d(channels_first(x), 3, stride, 1, return_indices=True)
    height, width = found.shape[-2:]
    rows = flat // x.shape[3] - torch.arange(height, device=x.device)[:, None] * stride + 1
    columns = flat % x.shape[3] - torch.arange(width, device=x.device) * stride + 1
    return channels_last(found, x), channels_last(3 * rows + columns, x)


@cache
def alone(inputs: int, device: torch.device, *, largest: bool) -> Tensor:
    """Every input has one pool, whose slot is the input's."""
    slots = torch.arange(inputs, dtype=torch.int32, device=device)
    none = torch.full_like(slots, -1)
    return torch.stack([slots, none] if largest else [none, slots], 1)


def channels_first(x: Tensor) -> Tensor:
    """Channels first, as PyTorch's pools want them; contiguous, where their gradients are right."""
    return x.flatten(0, 1).permute(0, 3, 1, 2).contiguous()


def channels_last(images: Tensor, like: Tensor) -> Tensor:
    """The inverse of `channels_first`, with as many inputs and images of each as `like` has."""
    last = images.permute(0, 2, 3, 1)
    return last.reshape(*like.shape[:2], *last.shape[1:])


def _launch(
    x: Tensor,
    places: Tensor,
    out: Tensor,
    taken: Tensor,
    stride: int,
    into: Moments | None,
    kinds: Sequence[str],
) -> None:
    slots, batch, out_height, out_width, channels = out.shape
    run = 2 - out_height % 2
    strips = batch * (out_height // run) * out_width
    partial = None
    if into is None:  # threads side by side take all channels of a pixel, then the next pixel
        block_c = lane_width(channels)
        block_m = BLOCK // block_c
        grid = parts(strips * (channels // block_c), block_m), len(x), 1
    else:
        block_c = channel_block(channels, least=32)
        block_m = BLOCK // block_c
        grid = parts(strips, block_m), len(x), parts(channels, block_c)
        partial = torch.empty(slots, grid[0], 2, channels, dtype=torch.float32, device=x.device)
    _pool[grid](
        x,
        places,
        out,
        taken,
        out if partial is None else partial,
        strips,
        x.shape[2],
        x.shape[3],
        out_height,
        out_width,
        channels=channels,
        stride=stride,
        run=run,
        largest="largest" in kinds,
        average="average" in kinds,
        moments=partial is not None,
        block_m=block_m,
        block_c=block_c,
        num_warps=4 if partial is None else 8,
    )
    if into is not None and partial is not None:
        combine_moments(partial, strips * run, block_m * run, into)


@inside
def _line(x, there, left, right, channels: tl.constexpr):
    """Of three pixels side by side the largest, its place and their sum; the second one exists."""
    first = tl.load(x, mask=there & left, other=0.0).to(tl.float32)
    second = tl.load(x + channels, mask=there, other=0.0).to(tl.float32)
    third = tl.load(x + 2 * channels, mask=there & right, other=0.0).to(tl.float32)
    best = tl.where(left, first, float("-inf"))
    better = (second > best) | (second != second)  # noqa: PLR0124 - NaN
    best = tl.where(better, second, best)
    place = tl.where(better, 1, tl.where(left, 0, 1))
    better = ((third > best) & right) | (third != third)  # noqa: PLR0124
    return tl.where(better, third, best), tl.where(better, 2, place), first + second + third


@inside
def _window(best0, place0, best1, place1, best2, place2, top, bottom):
    """Of three lines the largest and its place; the first exists at `top`, the third at `bottom`."""
    best = tl.where(top, best0, float("-inf"))
    better = (best1 > best) | (best1 != best1)  # noqa: PLR0124 - NaN
    best = tl.where(better, best1, best)
    place = tl.where(better, place1 + 3, tl.where(top, place0, place1 + 3))
    better = ((best2 > best) & bottom) | (best2 != best2)  # noqa: PLR0124
    return tl.where(better, best2, best), tl.where(better, place2 + 6, place)


@kernel(numbers=["strips", "height", "width", "out_height", "out_width"], tables=["places"])
def _pool(
    x,
    places,
    out,
    taken,
    partial,
    strips,
    height,
    width,
    out_height,
    out_width,
    channels: tl.constexpr,
    stride: tl.constexpr,
    run: tl.constexpr,
    largest: tl.constexpr,
    average: tl.constexpr,
    moments: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    block = tl.program_id(0)
    m = block * block_m + tl.arange(0, block_m)
    channel = tl.program_id(2) * block_c + tl.arange(0, block_c)
    c = channel[None, :]
    if not moments:
        c = c + (m % (channels // block_c) * block_c)[:, None]
        m = m // (channels // block_c)
    there = (m < strips)[:, None]
    if channels % block_c != 0:
        there = there & (c < channels)
    line, column = m // out_width, m % out_width
    image, number = line // (out_height // run), line % (out_height // run)
    top, left = number * (run * stride) - 1, column * stride - 1
    which = tl.program_id(1).to(tl.int64)
    batch = strips // (out_height // run * out_width)
    source = x + which * batch * (height * width * channels)
    source += (((image * height + top) * width + left) * channels)[:, None] + c
    down = width * channels
    before, behind = (left >= 0)[:, None], (left + 2 < width)[:, None]
    high, low = (top >= 0)[:, None], (top + (run - 1) * stride + 2 < height)[:, None]
    always = tl.full((block_m, 1), 1, tl.int1)
    middle = low if run == 1 else always
    wide = 1 + before.to(tl.int32) + behind.to(tl.int32)
    best0, place0, sum0 = _line(source, there & high, before, behind, channels)
    best1, place1, sum1 = _line(source + down, there, before, behind, channels)
    best2, place2, sum2 = _line(source + 2 * down, there & middle, before, behind, channels)
    upper, upper_place = _window(best0, place0, best1, place1, best2, place2, high, middle)
    count = wide * (1 + high.to(tl.int32) + middle.to(tl.int32))
    upper_mean = (sum0 + sum1 + sum2) * (1.0 / count.to(tl.float32))
    if run == 2:
        if stride == 1:
            best0, place0, sum0, best1, place1, sum1 = best1, place1, sum1, best2, place2, sum2
        else:
            best0, place0, sum0 = best2, place2, sum2
            best1, place1, sum1 = _line(source + 3 * down, there, before, behind, channels)
        source += (stride + 2) * down
        best2, place2, sum2 = _line(source, there & low, before, behind, channels)
        lower, lower_place = _window(best0, place0, best1, place1, best2, place2, always, low)
        count = wide * (2 + low.to(tl.int32))
        lower_mean = (sum0 + sum1 + sum2) * (1.0 / count.to(tl.float32))
    place = (((image * out_height + number * run) * out_width + column) * channels)[:, None] + c
    below = place + out_width * channels
    plane = tl.full((), channels, tl.int64) * batch * (out_height * out_width)
    if largest:
        tl.store(taken + which * plane + place, upper_place.to(tl.uint8), mask=there)
        if run == 2:
            tl.store(taken + which * plane + below, lower_place.to(tl.uint8), mask=there)
    for kind in tl.static_range(2):
        if largest if kind == 0 else average:
            slot = tl.load(places + which * 2 + kind).to(tl.int64)
            if slot >= 0:
                one = (upper if kind == 0 else upper_mean).to(out.dtype.element_ty)
                tl.store(out + slot * plane + place, one, mask=there)
                if run == 2:
                    two = (lower if kind == 0 else lower_mean).to(out.dtype.element_ty)
                    tl.store(out + slot * plane + below, two, mask=there)
                if moments:
                    total = tl.where(there, one.to(tl.float32), 0.0)
                    if run == 2:
                        total += tl.where(there, two.to(tl.float32), 0.0)
                    centre = tl.sum(total, 0) / (run * tl.minimum(block_m, strips - block * block_m))
                    apart = tl.where(there, one.to(tl.float32) - centre[None, :], 0.0)
                    squares = apart * apart
                    if run == 2:
                        apart = tl.where(there, two.to(tl.float32) - centre[None, :], 0.0)
                        squares += apart * apart
                    end = partial + (slot * tl.num_programs(0) + block) * 2 * channels + channel
                    tl.store(end, centre, mask=channel < channels)
                    tl.store(end + channels, tl.sum(squares, 0), mask=channel < channels)
