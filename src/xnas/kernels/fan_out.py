"""Weighted sums of all experts that read one state, added to the later nodes in one pass.

A fan-out is a state (batch, height, width, channels) with its outgoing edges. To each later node lead
convolutions with batch norm, a 3x3 average pool and a skip connection, each with a weight. One
convolution computes for all: `raw` (pixels, slots, channels) holds its outputs before batch norm. A
table says which slots go to which node, so that a deletion changes numbers in it and compiles nothing.

The weights of a state, and its rewards, stand in one row: one per slot, then pool and skip of each node.
The pool is never stored: its nine pixels are near at hand wherever it is needed. `rewards` and
`fan_out_gradients` have the backward kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d

from xnas.kernels.blocks import block_at, channel_block, parts
from xnas.kernels.language import compiles_for, inside, kernel, tl
from xnas.kernels.moments import Moments, combine_moments, plain_moments

BLOCK = 2048  # numbers of an image that a program takes
PROGRAMS = 512  # that add up, if there is work for as many: some for each processor of a large GPU


@dataclass(frozen=True, slots=True)
class Routes:
    """Which experts lead from one state to which nodes."""

    places: Tensor
    """(nodes, ways): the slots that go to each later node, then -1; whole numbers of 32 bits."""
    slots: int
    """Convolutions."""
    pooled: bool
    """Whether a node wants the pool."""

    @property
    def width(self) -> int:
        """How many weights there are."""
        return self.slots + 2 * len(self.places)


@dataclass(frozen=True, slots=True)
class Advice:
    """Outputs of a state's convolutions (pixels, slots, channels), and their statistics."""

    raw: Tensor
    moments: Moments


def gather_slots(raw: Tensor, into: Moments) -> None:
    """Statistics of `raw` (pixels, slots, channels) over its pixels."""
    if not compiles_for(raw):
        plain_moments(raw.transpose(0, 1), into)
        return
    pixels, slots, channels = raw.shape
    block_m, block_c = blocks_of(2 * BLOCK, channels)
    columns = parts(channels, block_c)
    turns = turns_of(parts(pixels, block_m), slots * columns)
    blocks = parts(pixels, turns * block_m)
    partial = raw.new_empty(slots, blocks, 2, channels, dtype=torch.float32)
    _gather[(blocks, slots, columns)](
        raw, partial, pixels, slots, turns, channels=channels, block_m=block_m, block_c=block_c
    )
    combine_moments(partial, pixels, turns * block_m, into)


def fan_out(
    state: Tensor,
    advice: Advice | None,
    routes: Routes,
    weights: Tensor,
    *,
    add: bool,
    sums: Tensor,
    rectified: Tensor | None,
) -> None:
    """Put the weighted experts of `state` into `sums`, or add them.

    `state` is (batch, height, width, channels), `weights` (routes.width), `sums` (nodes, batch, height,
    width, channels). The first of these nodes is then complete; `rectified`, if given, gets its ReLU.
    """
    if not compiles_for(state):
        plain_fan_out(state, advice, routes, weights, add=add, sums=sums, rectified=rectified)
        return
    raw, moments = or_anything(advice, state)
    _, height, width, channels = state.shape
    pixels = state.numel() // channels
    block_m, block_c = blocks_of(BLOCK, channels)
    _fan_out[(parts(pixels, block_m), parts(channels, block_c))](
        state,
        raw,
        moments.mean,
        moments.scale,
        weights,
        routes.places,
        sums,
        sums if rectified is None else rectified,
        pixels,
        height,
        width,
        len(sums),
        routes.slots,
        int(routes.pooled),
        int(add),
        int(rectified is not None),
        channels=channels,
        ways=routes.places.shape[1],
        block_m=block_m,
        block_c=block_c,
    )


def plain_fan_out(
    state: Tensor,
    advice: Advice | None,
    routes: Routes,
    weights: Tensor,
    *,
    add: bool,
    sums: Tensor,
    rectified: Tensor | None,
) -> None:
    """The plain PyTorch version of `fan_out`."""
    x = state.to(weights.dtype)
    pool = pool_of(x) if routes.pooled else torch.zeros_like(x)
    experts = None if advice is None else normalized(advice, weights.dtype)
    for node, places in enumerate(routes.places.tolist()):
        of_pool, of_skip = weights[routes.slots + 2 * node : routes.slots + 2 * node + 2]
        total = of_pool * pool + of_skip * x
        if experts is not None:
            for slot in present(places):
                total += weights[slot] * experts[:, slot].view_as(x)
        sums[node] = total + sums[node] if add else total
    if rectified is not None:
        rectified.copy_(sums[0].relu())


def pool_of(x: Tensor) -> Tensor:
    """Means over nine pixels, of those that exist."""
    images = x.movedim(-1, 1).contiguous()
    return avg_pool2d(images, 3, 1, 1, count_include_pad=False).movedim(1, -1)


def normalized(advice: Advice, dtype: torch.dtype) -> Tensor:
    """What comes out of batch norm (pixels, slots, channels)."""
    return (advice.raw.to(dtype) - advice.moments.mean) * advice.moments.scale


def present(places: list[int]) -> list[int]:
    """The slots of a row of `Routes.places`."""
    return [slot for slot in places if slot >= 0]


def or_anything(advice: Advice | None, like: Tensor) -> tuple[Tensor, Moments]:
    """A kernel wants addresses of the same kind, as well aligned, even if it never goes there."""
    if advice is not None:
        return advice.raw, advice.moments
    nothing = like.new_empty(1, dtype=torch.float32)
    return like, Moments(nothing, nothing)


def blocks_of(numbers: int, channels: int) -> tuple[int, int]:
    """Pixels and channels of a block with so many numbers."""
    block_c = channel_block(channels, least=64)
    return numbers // block_c, block_c


def turns_of(blocks: int, times: int) -> int:
    """How many of so many blocks, each `times` over, one program adds up."""
    return max(1, min(16, blocks * times // PROGRAMS))


@kernel(numbers=["pixels", "slots", "turns"])
def _gather(
    raw,
    partial,
    pixels,
    slots,
    turns,
    channels: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    """Mean and squares about it, counted from that of a few pixels: large numbers do not cancel."""
    block, slot = tl.program_id(0), tl.program_id(1)
    begin = block * turns * block_m
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    known = c < channels
    few = begin + tl.arange(0, 16)
    from_few = (few * (slots * channels))[:, None] + c[None, :] + slot * channels
    sample = tl.load(raw + from_few, mask=(few < pixels)[:, None] & known[None, :], other=0.0)
    zero = tl.sum(sample.to(tl.float32), 0) / tl.minimum(16, pixels - begin)
    total = tl.zeros((block_m, block_c), tl.float32)
    squares = tl.zeros((block_m, block_c), tl.float32)
    for turn in range(turns):
        m = begin + turn * block_m + tl.arange(0, block_m)
        within = (m < pixels)[:, None] & known[None, :]
        place = (m * (slots * channels))[:, None] + c[None, :] + slot * channels
        value = tl.load(raw + place, mask=within, other=0.0).to(tl.float32)
        apart = tl.where(within, value - zero[None, :], 0.0)
        total += apart
        squares += apart * apart
    count = tl.minimum(turns * block_m, pixels - begin)
    mean = tl.sum(total, 0) / count
    place = partial + (slot * tl.num_programs(0) + block) * 2 * channels + c
    tl.store(place, zero + mean, mask=known)
    tl.store(place + channels, tl.maximum(tl.sum(squares, 0) - mean * mean * count, 0.0), mask=known)


@inside
def pool_at(  # noqa: ANN201 - Triton's
    state,
    m,
    c,
    within,
    height,
    width,
    channels: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    """Means of nine pixels, of those that exist, in 32 bits."""
    row, column = m // width % height, m % width
    total = tl.zeros((block_m, block_c), tl.float32)
    for tap in tl.static_range(9):
        y, z = row + (tap // 3 - 1), column + (tap % 3 - 1)
        there = (y >= 0) & (y < height) & (z >= 0) & (z < width)
        place = (m + (tap // 3 - 1) * width + (tap % 3 - 1)) * channels
        known = within & there[:, None]
        total += tl.load(state + place[:, None] + c[None, :], mask=known, other=0.0).to(tl.float32)
    return total * share_of(row, column, height, width)[:, None]


@inside
def share_of(row, column, height, width):  # noqa: ANN201 - Triton's
    """1 / n, n how many of a pixel's nine neighbours are within the image."""
    high = tl.minimum(row + 2, height) - tl.maximum(row - 1, 0)
    wide = tl.minimum(column + 2, width) - tl.maximum(column - 1, 0)
    return 1.0 / tl.maximum(high * wide, 1).to(tl.float32)


@kernel(
    numbers=["pixels", "height", "width", "nodes", "slots", "pooled", "add", "rectify"],
    tables=["weights", "places"],
)
def _fan_out(
    state,
    raw,
    mean,
    scale,
    weights,
    places,
    sums,
    rectified,
    pixels,
    height,
    width,
    nodes,
    slots,
    pooled,
    add,
    rectify,
    channels: tl.constexpr,
    ways: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    m, c = block_at(block_m, block_c)
    known = (c < channels)[None, :]
    within = (m < pixels)[:, None] & known
    here = (m * channels)[:, None] + c[None, :]
    from_row = (m * (slots * channels))[:, None] + c[None, :]
    plane = tl.full((), channels, tl.int64) * pixels
    x = tl.load(state + here, mask=within, other=0.0).to(tl.float32)
    pool = tl.zeros((block_m, block_c), tl.float32)
    if pooled:
        pool = pool_at(state, m, c, within, height, width, channels, block_m, block_c)
    for node in range(nodes):
        of_pool = tl.load(weights + slots + 2 * node).to(tl.float32)
        of_skip = tl.load(weights + slots + 2 * node + 1).to(tl.float32)
        total = of_pool * pool + of_skip * x
        for way in tl.static_range(ways):
            slot = tl.load(places + node * ways + way)
            there = (m < tl.where(slot >= 0, pixels, 0))[:, None] & known
            value = tl.load(raw + from_row + slot * channels, mask=there, other=0.0).to(tl.float32)
            there = c < tl.where(slot >= 0, channels, 0)
            middle = tl.load(mean + slot * channels + c, mask=there, other=0.0)
            factor = tl.load(scale + slot * channels + c, mask=there, other=0.0)
            factor *= tl.load(weights + slot, mask=slot >= 0, other=0.0).to(tl.float32)
            total += (value - middle[None, :]) * factor[None, :]
        there = (m < pixels * add)[:, None] & known
        total += tl.load(sums + node * plane + here, mask=there, other=0.0).to(tl.float32)
        tl.store(sums + node * plane + here, total, mask=within)
        there = (m < tl.where(node < rectify, pixels, 0))[:, None] & known
        # Not `maximum`, which loses what is not a number.
        tl.store(rectified + here, tl.where(total < 0, 0.0, total), mask=there)
