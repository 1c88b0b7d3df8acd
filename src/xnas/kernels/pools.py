"""3x3 pools over images (inputs, batch, height, width, channels), and their gradients.

Maximum and average of an input are computed together. The maximum remembers which of its nine pixels it
took, the first of equal ones as PyTorch does; the average counts no padding. Gradients gather, so that
no two programs write to one pixel; whatever else flows back to an input is added in the same pass.

A thread computes two pixels, one above the other, of the same channels: their windows share lines, and
what a line gives (its maximum, its sum) is computed once. Strides are 1 or 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import gcd

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, max_pool2d

from xnas.kernels.language import compiles_for, inside, kernel, parts, tl
from xnas.kernels.mixing import Lanes, alignment, columns
from xnas.kernels.moments import Moments, combine_moments, plain_moments

KINDS = "largest", "average"
BLOCK = 1024  # numbers of a line that a program computes
GRADIENT_BLOCK = 512


def max_pool(x: Tensor, *, stride: int, out: Tensor) -> Tensor:
    """Put maxima into `out`; gives the place (0 to 8) of each in its window, for the gradient."""
    return pool(x, _alone(len(x), x.device, largest=True), stride=stride, out=out, kinds=("largest",))


def average_pool(x: Tensor, *, stride: int, out: Tensor) -> None:
    """Put means over the pixels that exist into `out`."""
    pool(x, _alone(len(x), x.device, largest=False), stride=stride, out=out, kinds=("average",))


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
        return taken
    for images, found, (largest, average) in zip(x, taken, places.tolist(), strict=True):
        if largest >= 0:
            maxima, chosen = plain_max_pool(images[None], stride)
            out[largest] = maxima[0]
            found.copy_(chosen[0])
        if average >= 0:
            means = avg_pool2d(_first(images[None]), 3, stride, 1, count_include_pad=False)
            out[average] = _last(means, images[None])[0]
    if into is not None:
        plain_moments(out.flatten(1, 3), into)
    return taken


def max_pool_gradient(gradient: Tensor, taken: Tensor, *, stride: int, into: Tensor) -> None:
    """Add the gradient of each maximum to the pixel it took."""
    places = _alone(len(into), into.device, largest=True)
    pooled = Pooled(gradient, taken, places)
    input_gradient(pooled, stride=stride, into=into, add=True, kinds=("largest",))


def average_pool_gradient(gradient: Tensor, *, stride: int, into: Tensor) -> None:
    """Add the gradient of each mean to its pixels, in equal parts."""
    places = _alone(len(into), into.device, largest=False)
    pooled = Pooled(gradient, gradient, places)
    input_gradient(pooled, stride=stride, into=into, add=True, kinds=("average",))


@dataclass(frozen=True, slots=True)
class Pooled:
    """What flows back to the pools: gradients of the slots, what the maxima took, and `places`."""

    gradient: Tensor
    taken: Tensor
    places: Tensor


@dataclass(frozen=True, slots=True)
class Passed:
    """Gradients of nodes (nodes, pixels, channels) that took an input as it is, as terms of a lane."""

    gradients: Tensor
    targets: Tensor
    weights: Tensor
    lanes: Lanes


@dataclass(frozen=True, slots=True)
class Convolved:
    """What flows back to input i from convolutions: flows[first[i] : first[i + 1]]."""

    flows: Tensor
    first: Tensor


def input_gradient(
    pooled: Pooled,
    *,
    stride: int,
    into: Tensor,
    add: bool,
    convolved: Convolved | None = None,
    passed: Passed | None = None,
    kinds: Sequence[str] = KINDS,
) -> None:
    """Put all that flows back to the inputs into `into`, or add it to what is there.

    `into` is (inputs, batch, height, width, channels); pixels may lie apart. `kinds` are the pools
    that occur.
    """
    if not len(into):
        return
    if compiles_for(into):
        _launch_gradient(pooled, convolved, passed, stride, into, kinds, add=add)
        return
    wide = torch.promote_types(into.dtype, torch.float32)
    total = into.to(wide) if add else torch.zeros_like(into, dtype=wide)
    for index, (largest, average) in enumerate(pooled.places.tolist()):
        one = total[index : index + 1]
        if largest >= 0:
            flow = pooled.gradient[largest][None]
            for tap in range(9):
                _scatter(flow.where(pooled.taken[index] == tap, 0), tap, stride, one)
        if average >= 0:
            ones = torch.ones_like(one[:, :1])
            count = _last(avg_pool2d(_first(ones), 3, stride, 1, divisor_override=1), ones)
            for tap in range(9):
                _scatter(pooled.gradient[average][None] / count, tap, stride, one)
        if convolved is not None:
            first, last = convolved.first[index : index + 2].tolist()
            one += convolved.flows[first:last].sum(0)
        if passed is not None:
            first, last = passed.lanes.first[index : index + 2].tolist()
            for term in passed.lanes.terms[first:last].tolist():
                flow = passed.weights[term] * passed.gradients[int(passed.targets[term])]
                one += flow.view_as(one)
    into.copy_(total)


@cache
def _alone(inputs: int, device: torch.device, *, largest: bool) -> Tensor:
    """Every input has one pool, whose slot is the input's."""
    slots = torch.arange(inputs, dtype=torch.int32, device=device)
    none = torch.full_like(slots, -1)
    return torch.stack([slots, none] if largest else [none, slots], 1)


@cache
def _nothing(inputs: int, device: torch.device) -> Tensor:
    return torch.zeros(inputs + 1, dtype=torch.int32, device=device)


def plain_max_pool(x: Tensor, stride: int) -> tuple[Tensor, Tensor]:
    """The twin of `max_pool`."""
    found, flat = max_pool2d(_first(x), 3, stride, 1, return_indices=True)
    height, width = found.shape[-2:]
    rows = flat // x.shape[3] - torch.arange(height, device=x.device)[:, None] * stride + 1
    columns = flat % x.shape[3] - torch.arange(width, device=x.device) * stride + 1
    return _last(found, x), _last(3 * rows + columns, x)


def _scatter(gradient: Tensor, tap: int, stride: int, into: Tensor) -> None:
    """Add what belongs to one pixel of every window, where that pixel exists."""
    _, _, height, width, _ = into.shape
    row, column = tap // 3 - 1, tap % 3 - 1
    up, left = int(row < 0), int(column < 0)  # windows whose pixel lies in the padding
    y0, x0 = up * stride + row, left * stride + column
    high = min(gradient.shape[2] - up, parts(height - y0, stride))
    wide = min(gradient.shape[3] - left, parts(width - x0, stride))
    part = gradient[:, :, up : up + high, left : left + wide]
    into[:, :, y0 : y0 + high * stride : stride, x0 : x0 + wide * stride : stride] += part


def _first(x: Tensor) -> Tensor:
    """Channels first, as PyTorch's pools want them; contiguous, where their gradients are right."""
    return x.flatten(0, 1).permute(0, 3, 1, 2).contiguous()


def _last(images: Tensor, like: Tensor) -> Tensor:
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
        block_c = gcd(channels, 8)
        block_m = BLOCK // block_c
        grid = parts(strips * (channels // block_c), block_m), len(x), 1
    else:
        block_c = columns(channels)
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


def _launch_gradient(
    pooled: Pooled,
    convolved: Convolved | None,
    passed: Passed | None,
    stride: int,
    into: Tensor,
    kinds: Sequence[str],
    *,
    add: bool,
) -> None:
    inputs, batch, height, width, channels = into.shape
    block_c = gcd(channels, 8)
    block_m = GRADIENT_BLOCK // block_c
    strips = batch * parts(height, 2) * width
    none = _nothing(inputs, into.device)
    gradient = pooled.gradient
    nodes = gradient.flatten(1, 3) if passed is None else passed.gradients
    _input_gradient[(parts(strips * (channels // block_c), block_m), inputs)](
        gradient,
        pooled.taken,
        pooled.places,
        gradient if convolved is None else convolved.flows,
        none if convolved is None else convolved.first,
        nodes,
        none if passed is None else passed.targets,
        none if passed is None else passed.weights,
        none if passed is None else passed.lanes.first,
        none if passed is None else passed.lanes.terms,
        into,
        strips,
        height,
        width,
        gradient.shape[2],
        gradient.shape[3],
        nodes.stride(0),
        into.stride(0),
        int(add),
        node_row=nodes.stride(1),
        row=into.stride(3),
        node_aligned=alignment(nodes, steps=(*nodes.stride()[:2], channels)),
        aligned=alignment(into, steps=(into.stride(0), into.stride(3), channels)),
        channels=channels,
        stride=stride,
        largest="largest" in kinds,
        average="average" in kinds,
        block_m=block_m,
        block_c=block_c,
        num_warps=2,
    )


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


@inside
def _exists(y, z, height, width):
    return (y >= 0) & (y < height) & (z >= 0) & (z < width)


@inside
def _share(window, size, stride: tl.constexpr):
    """One of the lines, or columns, that a window has of an image."""
    count = tl.minimum(window * stride + 2, size) - tl.maximum(window * stride - 1, 0)
    return 1.0 / tl.maximum(count, 1).to(tl.float32)


@kernel(
    numbers=[
        *("strips", "height", "width", "out_height", "out_width"),
        *("node", "apart", "add"),
    ],
    tables=["places", "first_flow", "targets", "weights", "first", "terms"],
)
def _input_gradient(
    gradient,
    taken,
    places,
    flows,
    first_flow,
    nodes,
    targets,
    weights,
    first,
    terms,
    into,
    strips,
    height,
    width,
    out_height,
    out_width,
    node,
    apart,
    add,
    node_row: tl.constexpr,
    row: tl.constexpr,
    node_aligned: tl.constexpr,
    aligned: tl.constexpr,
    channels: tl.constexpr,
    stride: tl.constexpr,
    largest: tl.constexpr,
    average: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    which = tl.program_id(1).to(tl.int64)
    most = tl.load(places + which * 2).to(tl.int64)
    mean = tl.load(places + which * 2 + 1).to(tl.int64)
    flow_begin, flow_end = tl.load(first_flow + which), tl.load(first_flow + which + 1)
    term_begin, term_end = tl.load(first + which), tl.load(first + which + 1)
    m = tl.program_id(0) * block_m + tl.arange(0, block_m)
    c = (m % (channels // block_c) * block_c)[:, None] + tl.arange(0, block_c)[None, :]
    m = m // (channels // block_c)
    rows = (height + 1) // 2
    batch = strips // (rows * width)
    line, column = m // width, m % width
    image, top = line // rows, line % rows * 2
    there = (m < strips)[:, None]
    below = there & (top + 1 < height)[:, None]
    pixel = (image * height + top) * width + column
    end = tl.multiple_of(into + which * apart + (pixel * row)[:, None] + c, (1, aligned))
    before = (m < tl.where(add > 0, strips, 0))[:, None]
    upper = tl.load(end, mask=before, other=0.0).to(tl.float32)
    lower = tl.load(end + width * row, mask=before & below, other=0.0).to(tl.float32)
    plane = tl.full((), channels, tl.int64) * batch * (out_height * out_width)
    maxima = m < tl.where(most >= 0, strips, 0)  # no branches: they would wait for every load
    means = m < tl.where(mean >= 0, strips, 0)
    side = (column + 1) % stride  # of the first window, where the pixel is
    if largest:
        for i in tl.static_range(4 // stride):
            for j in tl.static_range((stride + 2) // stride):
                y, z = (top + 2) // stride - i, (column + 1) // stride - j
                known = _exists(y, z, out_height, out_width) & (side + stride * j < 3) & maxima
                place = (((image * out_height + y) * out_width + z) * channels)[:, None] + c
                flow = tl.load(gradient + most * plane + place, mask=known[:, None], other=0.0)
                took = tl.load(taken + which * plane + place, mask=known[:, None], other=255)
                took = took.to(tl.int32) - (side + stride * j)[:, None]
                if stride * i >= 1:
                    upper += tl.where(took == 3 * (stride * i - 1), flow.to(tl.float32), 0.0)
                if stride * i <= 2:
                    lower += tl.where(took == 3 * stride * i, flow.to(tl.float32), 0.0)
    place = (pixel * channels)[:, None] + c
    whole = tl.full((), channels, tl.int64) * batch * (height * width)
    for number in range(flow_begin, flow_end):
        source = flows + number * whole + place
        upper += tl.load(source, mask=there, other=0.0).to(tl.float32)
        lower += tl.load(source + width * channels, mask=below, other=0.0).to(tl.float32)
    for number in range(term_begin, term_end):
        term = tl.load(terms + number)
        weight = tl.load(weights + term).to(tl.float32)
        source = nodes + tl.load(targets + term).to(tl.int64) * node
        source = tl.multiple_of(source + (pixel * node_row)[:, None] + c, (1, node_aligned))
        upper += weight * tl.load(source, mask=there, other=0.0).to(tl.float32)
        lower += weight * tl.load(source + width * node_row, mask=below, other=0.0).to(tl.float32)
    if average:  # behind the loops, which part its registers from those of the maxima
        for i in tl.static_range(4 // stride):
            y = (top + 2) // stride - i
            total = tl.zeros((block_m, block_c), tl.float32)
            for j in tl.static_range((stride + 2) // stride):
                z = (column + 1) // stride - j
                known = _exists(y, z, out_height, out_width) & (side + stride * j < 3) & means
                place = (((image * out_height + y) * out_width + z) * channels)[:, None] + c
                flow = tl.load(gradient + mean * plane + place, mask=known[:, None], other=0.0)
                total += flow.to(tl.float32) * _share(z, width, stride)[:, None]
            total *= _share(y, height, stride)[:, None]
            if stride * i >= 1:
                upper += total
            if stride * i <= 2:
                lower += total
    tl.store(end, upper, mask=there)
    tl.store(end + width * row, lower, mask=below)
