"""3x3 pools over images (inputs, batch, height, width, channels), and their gradients.

Maximum and average of an input are computed together. The maximum remembers which of its nine pixels it
took, the first of equal ones as PyTorch does; the average counts no padding. Gradients gather, so that
no two programs write to one pixel; whatever else flows back to an input is added in the same pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, max_pool2d

from xnas.kernels.language import compiles_for, kernel, parts, power_of_two, tl
from xnas.kernels.mixing import Lanes
from xnas.kernels.moments import Moments, combine_moments, plain_moments

BLOCK = 1024


def max_pool(x: Tensor, *, stride: int, out: Tensor) -> Tensor:
    """Put maxima into `out`; gives the place (0 to 8) of each in its window, for the gradient."""
    return pool(x, _alone(len(x), x.device, largest=True), stride=stride, out=out)


def average_pool(x: Tensor, *, stride: int, out: Tensor) -> None:
    """Put means over the pixels that exist into `out`."""
    pool(x, _alone(len(x), x.device, largest=False), stride=stride, out=out)


def pool(x: Tensor, places: Tensor, *, stride: int, out: Tensor, into: Moments | None = None) -> Tensor:
    """Put maxima and means into `out`, and the statistics of its slots into `into`.

    `places` (inputs, 2) says which slot of `out` the maximum of an input goes to, and which its mean;
    -1 for none. Gives the place (0 to 8) of each maximum in its window.
    """
    taken = torch.empty(len(x), *out.shape[1:], dtype=torch.uint8, device=x.device)
    if not len(x) or not len(out):
        return taken
    if compiles_for(x):
        _launch(x, places, out, taken, stride, into)
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
    input_gradient(Pooled(gradient, taken, places), stride=stride, into=into, add=True)


def average_pool_gradient(gradient: Tensor, *, stride: int, into: Tensor) -> None:
    """Add the gradient of each mean to its pixels, in equal parts."""
    places = _alone(len(into), into.device, largest=False)
    input_gradient(Pooled(gradient, gradient, places), stride=stride, into=into, add=True)


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
) -> None:
    """Put all that flows back to the inputs into `into`, or add it to what is there.

    `into` is (inputs, batch, height, width, channels); pixels may lie apart.
    """
    if not len(into):
        return
    if compiles_for(into):
        _launch_gradient(pooled, convolved, passed, stride, into, add=add)
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
    x: Tensor, places: Tensor, out: Tensor, taken: Tensor, stride: int, into: Moments | None
) -> None:
    slots, batch, out_height, out_width, channels = out.shape
    block_c = min(64, power_of_two(channels))
    block_m = BLOCK // block_c
    pixels = batch * out_height * out_width
    blocks = parts(pixels, block_m)
    partial = None
    if into is not None:
        partial = torch.empty(slots, blocks, 2, channels, dtype=torch.float32, device=x.device)
    _pool[(blocks, len(x), parts(channels, block_c))](
        x,
        places,
        out,
        taken,
        out if partial is None else partial,
        pixels,
        x.shape[2],
        x.shape[3],
        out_height,
        out_width,
        channels=channels,
        stride=stride,
        moments=partial is not None,
        block_m=block_m,
        block_c=block_c,
    )
    if into is not None and partial is not None:
        combine_moments(partial, pixels, block_m, into)


def _launch_gradient(
    pooled: Pooled,
    convolved: Convolved | None,
    passed: Passed | None,
    stride: int,
    into: Tensor,
    *,
    add: bool,
) -> None:
    inputs, batch, height, width, channels = into.shape
    block_c = min(64, power_of_two(channels))
    block_m = BLOCK // block_c
    pixels = batch * height * width
    none = _nothing(inputs, into.device)
    gradient = pooled.gradient
    nodes = gradient.flatten(1, 3) if passed is None else passed.gradients
    _input_gradient[(parts(pixels, block_m), inputs, parts(channels, block_c))](
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
        pixels,
        height,
        width,
        gradient.shape[2],
        gradient.shape[3],
        nodes.stride(0),
        into.stride(0),
        int(add),
        node_row=nodes.stride(1),
        row=into.stride(3),
        channels=channels,
        stride=stride,
        block_m=block_m,
        block_c=block_c,
    )


@kernel(numbers=["pixels", "height", "width", "out_height", "out_width"], tables=["places"])
def _pool(
    x,
    places,
    out,
    taken,
    partial,
    pixels,
    height,
    width,
    out_height,
    out_width,
    channels: tl.constexpr,
    stride: tl.constexpr,
    moments: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    block = tl.program_id(0)
    m = block * block_m + tl.arange(0, block_m)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    image = m // (out_height * out_width)
    top = (m // out_width % out_height) * stride - 1
    left = (m % out_width) * stride - 1
    inside = (m < pixels)[:, None] & (c < channels)[None, :]
    which = tl.program_id(1).to(tl.int64)
    begin = which * (pixels // (out_height * out_width)) * (height * width * channels)
    best = tl.full((block_m, block_c), float("-inf"), tl.float32)
    begins = 3 * (top < 0).to(tl.int32) + (left < 0).to(tl.int32)  # the first pixel that exists
    place_of_best = tl.zeros((block_m, block_c), tl.int32) + begins[:, None]
    total = tl.zeros((block_m, block_c), tl.float32)
    count = tl.zeros((block_m,), tl.float32)
    for tap in tl.static_range(9):
        y = top + tap // 3
        z = left + tap % 3
        there = (y >= 0) & (y < height) & (z >= 0) & (z < width)
        place = ((image * height + y) * width + z) * channels
        known = inside & there[:, None]
        value = tl.load(x + begin + place[:, None] + c[None, :], mask=known, other=0.0).to(tl.float32)
        better = known & ((value > best) | (value != value))  # noqa: PLR0124 - NaN
        best = tl.where(better, value, best)
        place_of_best = tl.where(better, tap, place_of_best)
        total += value
        count += there.to(tl.float32)
    place = m[:, None] * channels + c[None, :]
    plane = tl.full((), channels, tl.int64) * pixels
    tl.store(taken + which * plane + place, place_of_best.to(tl.uint8), mask=inside)
    mean = total / count[:, None]
    for number in tl.static_range(2):
        slot = tl.load(places + which * 2 + number).to(tl.int64)
        if slot >= 0:
            result = (best if number == 0 else mean).to(out.dtype.element_ty)
            tl.store(out + slot * plane + place, result, mask=inside)
            if moments:
                rounded = tl.where(inside, result.to(tl.float32), 0.0)
                middle = tl.sum(rounded, 0) / tl.minimum(block_m, pixels - block * block_m)
                apart = tl.where(inside, rounded - middle[None, :], 0.0)
                end = partial + (slot * tl.num_programs(0) + block) * 2 * channels + c
                tl.store(end, middle, mask=c < channels)
                tl.store(end + channels, tl.sum(apart * apart, 0), mask=c < channels)


@kernel(
    numbers=[
        *("pixels", "height", "width", "out_height", "out_width"),
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
    pixels,
    height,
    width,
    out_height,
    out_width,
    node,
    apart,
    add,
    node_row: tl.constexpr,
    row: tl.constexpr,
    channels: tl.constexpr,
    stride: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    m = tl.program_id(0) * block_m + tl.arange(0, block_m)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    inside = (m < pixels)[:, None] & (c < channels)[None, :]
    which = tl.program_id(1).to(tl.int64)
    end = into + which * apart + m[:, None] * row + c[None, :]
    total = tl.zeros((block_m, block_c), tl.float32)
    if add:
        total = tl.load(end, mask=inside, other=0.0).to(tl.float32)
    plane = tl.full((), channels, tl.int64) * pixels
    place = m[:, None] * channels + c[None, :]
    for number in range(tl.load(first_flow + which), tl.load(first_flow + which + 1)):
        total += tl.load(flows + number * plane + place, mask=inside, other=0.0).to(tl.float32)
    for number in range(tl.load(first + which), tl.load(first + which + 1)):
        term = tl.load(terms + number)
        weight = tl.load(weights + term).to(tl.float32)
        begin = nodes + tl.load(targets + term).to(tl.int64) * node
        flow = tl.load(begin + m[:, None] * node_row + c[None, :], mask=inside, other=0.0)
        total += weight * flow.to(tl.float32)
    largest = tl.load(places + which * 2).to(tl.int64)
    average = tl.load(places + which * 2 + 1).to(tl.int64)
    maxima = m < tl.where(largest >= 0, pixels, 0)  # no branches: they would wait for every load
    means = m < tl.where(average >= 0, pixels, 0)
    image = m // (height * width)
    line, column = m // width % height, m % width
    plane = tl.full((), channels, tl.int64) * (pixels // (height * width)) * (out_height * out_width)
    for tap in tl.static_range(9):
        y = line + 1 - tap // 3
        z = column + 1 - tap % 3
        there = (y >= 0) & (y < out_height * stride) & (z >= 0) & (z < out_width * stride)
        if stride > 1:
            there = there & (y % stride == 0) & (z % stride == 0)
        place = ((image * out_height + y // stride) * out_width + z // stride) * channels
        known = inside & there[:, None]
        place = place[:, None] + c[None, :]
        wanted = known & maxima[:, None]
        flow = tl.load(gradient + largest * plane + place, mask=wanted, other=0.0).to(tl.float32)
        took = tl.load(taken + which * plane + place, mask=wanted, other=255) == tap
        total += tl.where(took, flow, 0.0)
        wanted = known & means[:, None]
        flow = tl.load(gradient + average * plane + place, mask=wanted, other=0.0).to(tl.float32)
        high = tl.minimum(y + 2, height) - tl.maximum(y - 1, 0)
        wide = tl.minimum(z + 2, width) - tl.maximum(z - 1, 0)
        share = 1.0 / tl.maximum(high * wide, 1).to(tl.float32)
        total += flow * share[:, None]
    tl.store(end, total, mask=inside)
