"""Gradients of the inputs of 3x3 pools, with those of their other uses, in one pass.

An input (batch, height, width, channels) may have been pooled, convolved, and passed on as it is.
Gradients gather, so that no two programs write to one pixel. A thread computes two pixels, one above the
other, of the same channels: the windows that hold them are nearly the same. Strides are 1 or 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d

from xnas.kernels.blocks import alignment, lane_width, parts
from xnas.kernels.language import compiles_for, inside, kernel, tl
from xnas.kernels.mixing_gradients import Readers
from xnas.kernels.pools import KINDS, alone, channels_first, channels_last

BLOCK = 512  # numbers of a line that a program computes


@dataclass(frozen=True, slots=True)
class Pooled:
    """Gradients of the pools: those of their slots, what the maxima took, and `places`."""

    gradient: Tensor
    taken: Tensor
    places: Tensor


@dataclass(frozen=True, slots=True)
class Passed:
    """Gradients of nodes (nodes, pixels, channels) that took an input as it is, and their terms."""

    gradients: Tensor
    targets: Tensor
    weights: Tensor
    readers: Readers


@dataclass(frozen=True, slots=True)
class Convolved:
    """Gradients of input i through convolutions: flows[first[i] : first[i + 1]]."""

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
    """Put the gradients of the inputs into `into`, or add them to what is there.

    `into` is (inputs, batch, height, width, channels); pixels may lie apart. `kinds` are the pools
    that occur.
    """
    if not len(into):
        return
    if compiles_for(into):
        _launch(pooled, convolved, passed, stride, into, kinds, add=add)
    else:
        plain_input_gradient(pooled, convolved, passed, stride, into, add=add)


def max_pool_gradient(gradient: Tensor, taken: Tensor, *, stride: int, into: Tensor) -> None:
    """Add the gradient of each maximum to the pixel it took."""
    places = alone(len(into), into.device, largest=True)
    pooled = Pooled(gradient, taken, places)
    input_gradient(pooled, stride=stride, into=into, add=True, kinds=("largest",))


def average_pool_gradient(gradient: Tensor, *, stride: int, into: Tensor) -> None:
    """Add the gradient of each mean to its pixels, in equal parts."""
    places = alone(len(into), into.device, largest=False)
    pooled = Pooled(gradient, gradient, places)
    input_gradient(pooled, stride=stride, into=into, add=True, kinds=("average",))


def plain_input_gradient(
    pooled: Pooled,
    convolved: Convolved | None,
    passed: Passed | None,
    stride: int,
    into: Tensor,
    *,
    add: bool,
) -> None:
    """The plain PyTorch version of `input_gradient`."""
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
            found = avg_pool2d(channels_first(ones), 3, stride, 1, divisor_override=1)
            count = channels_last(found, ones)
            for tap in range(9):
                _scatter(pooled.gradient[average][None] / count, tap, stride, one)
        if convolved is not None:
            first, last = convolved.first[index : index + 2].tolist()
            one += convolved.flows[first:last].sum(0)
        if passed is not None:
            first, last = passed.readers.first[index : index + 2].tolist()
            for term in passed.readers.terms[first:last].tolist():
                flow = passed.weights[term] * passed.gradients[int(passed.targets[term])]
                one += flow.view_as(one)
    into.copy_(total)


@cache
def _nothing(inputs: int, device: torch.device) -> Tensor:
    """Where the terms of each input begin, if there are none."""
    return torch.zeros(inputs + 1, dtype=torch.int32, device=device)


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


def _launch(
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
    block_c = lane_width(channels)
    block_m = BLOCK // block_c
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
        none if passed is None else passed.readers.first,
        none if passed is None else passed.readers.terms,
        into,
        strips,
        height,
        width,
        gradient.shape[2],
        gradient.shape[3],
        nodes.stride(0),
        into.stride(0),
        int(add),
        shape=_Geometry(
            channels=channels,
            row=into.stride(3),
            aligned=alignment(into, steps=(into.stride(0), into.stride(3), channels)),
            node_row=nodes.stride(1),
            node_aligned=alignment(nodes, steps=(*nodes.stride()[:2], channels)),
            stride=stride,
            largest="largest" in kinds,
            average="average" in kinds,
            block_m=block_m,
            block_c=block_c,
        ),
        num_warps=2,
    )


class _Geometry(NamedTuple):
    """What `_input_gradient` is compiled for."""

    channels: int
    row: int
    """Numbers from a pixel of the inputs' gradient to the next, and what divides its addresses."""
    aligned: int
    node_row: int
    """The same of the nodes' gradients."""
    node_aligned: int
    stride: int
    largest: bool
    """Which pools occur."""
    average: bool
    block_m: int
    """Lanes of a program, and channels of a lane."""
    block_c: int


@inside
def _exists(y, z, height, width):
    """Whether a window lies in the image of windows."""
    return (y >= 0) & (y < height) & (z >= 0) & (z < width)


@inside
def _share(window, size, stride: tl.constexpr):
    """One of the lines, or columns, that a window has of an image."""
    count = tl.minimum(window * stride + 2, size) - tl.maximum(window * stride - 1, 0)
    return 1.0 / tl.maximum(count, 1).to(tl.float32)


@kernel(
    numbers=["strips", "height", "width", "out_height", "out_width", "node", "apart", "add"],
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
    shape: tl.constexpr,
):
    """Two pixels of an input, one above the other, in each lane: all gradients that reach them."""
    aligned: tl.constexpr = shape.aligned
    node_aligned: tl.constexpr = shape.node_aligned
    which = tl.program_id(1).to(tl.int64)
    most = tl.load(places + which * 2).to(tl.int64)
    mean = tl.load(places + which * 2 + 1).to(tl.int64)
    flow_begin, flow_end = tl.load(first_flow + which), tl.load(first_flow + which + 1)
    term_begin, term_end = tl.load(first + which), tl.load(first + which + 1)
    m = tl.program_id(0) * shape.block_m + tl.arange(0, shape.block_m)
    groups: tl.constexpr = shape.channels // shape.block_c
    c = (m % groups * shape.block_c)[:, None] + tl.arange(0, shape.block_c)[None, :]
    m = m // groups
    rows = (height + 1) // 2
    batch = strips // (rows * width)
    line, column = m // width, m % width
    image, top = line // rows, line % rows * 2
    there = (m < strips)[:, None]
    below = there & (top + 1 < height)[:, None]
    pixel = (image * height + top) * width + column
    end = tl.multiple_of(into + which * apart + (pixel * shape.row)[:, None] + c, (1, aligned))
    before = (m < tl.where(add > 0, strips, 0))[:, None]
    upper = tl.load(end, mask=before, other=0.0).to(tl.float32)
    lower = tl.load(end + width * shape.row, mask=before & below, other=0.0).to(tl.float32)
    plane = tl.full((), shape.channels, tl.int64) * batch * (out_height * out_width)
    maxima = m < tl.where(most >= 0, strips, 0)  # no branches: they would wait for every load
    means = m < tl.where(mean >= 0, strips, 0)
    side = (column + 1) % shape.stride  # of the first window, where the pixel is
    where = image, top, column, side
    windows = out_height, out_width
    both = upper, lower
    if shape.largest:
        both = _add_maxima(both, gradient, taken, most, which, plane, where, windows, maxima, c, shape)
    place = (pixel * shape.channels)[:, None] + c
    whole = tl.full((), shape.channels, tl.int64) * batch * (height * width)
    for number in range(flow_begin, flow_end):
        both = _add_pixels(both, flows + number * whole + place, width * shape.channels, there, below)
    for number in range(term_begin, term_end):
        term = tl.load(terms + number)
        weight = tl.load(weights + term).to(tl.float32)
        source = nodes + tl.load(targets + term).to(tl.int64) * node
        source = tl.multiple_of(source + (pixel * shape.node_row)[:, None] + c, (1, node_aligned))
        upper, lower = both
        upper += weight * tl.load(source, mask=there, other=0.0).to(tl.float32)
        source += width * shape.node_row
        lower += weight * tl.load(source, mask=below, other=0.0).to(tl.float32)
        both = upper, lower
    if shape.average:  # behind the loops, which part its registers from those of the maxima
        size = height, width
        both = _add_means(both, gradient, mean, plane, where, windows, size, means, c, shape)
    upper, lower = both
    tl.store(end, upper, mask=there)
    tl.store(end + width * shape.row, lower, mask=below)


@inside
def _add_pixels(both, source, down, there, below):
    """Add the pixels that lie at `source` and below it."""
    upper, lower = both
    upper += tl.load(source, mask=there, other=0.0).to(tl.float32)
    lower += tl.load(source + down, mask=below, other=0.0).to(tl.float32)
    return upper, lower


@inside
def _add_maxima(
    both, gradient, taken, slot, which, plane, where, windows, maxima, c, shape: tl.constexpr
):
    """Add the gradients of those maxima that took the pixels."""
    upper, lower = both
    image, top, column, side = where
    out_height, out_width = windows
    stride: tl.constexpr = shape.stride
    for i in tl.static_range(4 // stride):
        for j in tl.static_range((stride + 2) // stride):
            y, z = (top + 2) // stride - i, (column + 1) // stride - j
            known = _exists(y, z, out_height, out_width) & (side + stride * j < 3) & maxima
            place = (((image * out_height + y) * out_width + z) * shape.channels)[:, None] + c
            flow = tl.load(gradient + slot * plane + place, mask=known[:, None], other=0.0)
            took = tl.load(taken + which * plane + place, mask=known[:, None], other=255)
            took = took.to(tl.int32) - (side + stride * j)[:, None]
            if stride * i >= 1:
                upper += tl.where(took == 3 * (stride * i - 1), flow.to(tl.float32), 0.0)
            if stride * i <= 2:
                lower += tl.where(took == 3 * stride * i, flow.to(tl.float32), 0.0)
    return upper, lower


@inside
def _add_means(both, gradient, slot, plane, where, windows, size, means, c, shape: tl.constexpr):
    """Add the pixels' shares in the gradients of the means of their windows."""
    upper, lower = both
    image, top, column, side = where
    out_height, out_width = windows
    height, width = size
    stride: tl.constexpr = shape.stride
    block_m: tl.constexpr = shape.block_m
    block_c: tl.constexpr = shape.block_c
    for i in tl.static_range(4 // stride):
        y = (top + 2) // stride - i
        total = tl.zeros((block_m, block_c), tl.float32)
        for j in tl.static_range((stride + 2) // stride):
            z = (column + 1) // stride - j
            known = _exists(y, z, out_height, out_width) & (side + stride * j < 3) & means
            place = (((image * out_height + y) * out_width + z) * shape.channels)[:, None] + c
            flow = tl.load(gradient + slot * plane + place, mask=known[:, None], other=0.0)
            total += flow.to(tl.float32) * _share(z, width, stride)[:, None]
        total *= _share(y, height, stride)[:, None]
        if stride * i >= 1:
            upper += total
        if stride * i <= 2:
            lower += total
    return upper, lower
