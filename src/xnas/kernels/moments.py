"""Batch statistics of many slots: mean and 1 / deviation per slot and channel.

Blocks of pixels give a mean and a sum of squares about it; those of all blocks are added up by the rule
of Chan, Golub and LeVeque, which does not cancel. The order is fixed, and so is the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from xnas.kernels.blocks import channel_block, parts
from xnas.kernels.language import compiles_for, kernel, tl

EPSILON = 1e-5  # batch norm's
MOMENTUM = 0.1
BLOCK = 4096  # numbers a program reads at a time
COLUMNS = 8  # channels of a program that adds up blocks: they lie in one sector of memory
FEW_PIXELS = 8192  # some hundred blocks; this, unlike their number, does not depend on slots


@dataclass(slots=True)
class Moments:
    """Where statistics go: (slots, channels) each, in float32 at least."""

    mean: Tensor
    scale: Tensor
    """1 / deviation."""
    running_mean: Tensor | None = None
    running_variance: Tensor | None = None

    def slots(self, chosen: slice, *, running: tuple[Tensor, Tensor] | None = None) -> Moments:
        """The part of some slots, which may keep running statistics."""
        return Moments(self.mean[chosen], self.scale[chosen], *(running or (None, None)))


def gather_moments(x: Tensor, into: Moments) -> None:
    """Statistics of `x` (slots, pixels, channels)."""
    if not len(x):
        return
    if compiles_for(x):
        launch_moments(x, into)
    else:
        plain_moments(x, into)


@torch.no_grad()
def plain_moments(x: Tensor, into: Moments) -> None:
    """The plain PyTorch version of `gather_moments`."""
    pixels = x.shape[1]
    variance, mean = torch.var_mean(x.to(into.mean.dtype), 1, correction=0)
    into.mean.copy_(mean)
    into.scale.copy_((variance + EPSILON).rsqrt())
    if into.running_mean is not None and into.running_variance is not None:
        into.running_mean.lerp_(mean.to(into.running_mean.dtype), MOMENTUM)
        unbiased = variance * (pixels / max(1, pixels - 1))
        into.running_variance.lerp_(unbiased.to(into.running_variance.dtype), MOMENTUM)


def launch_moments(x: Tensor, into: Moments) -> None:
    """The kernels of `gather_moments`."""
    slots, pixels, channels = x.shape
    block_c = channel_block(channels, least=64)
    block_m = BLOCK // block_c
    blocks = parts(pixels, block_m)
    partial = x.new_empty(slots, blocks, 2, channels, dtype=torch.float32)
    _gather[(blocks, slots, parts(channels, block_c))](
        x, partial, pixels, channels=channels, block_m=block_m, block_c=block_c
    )
    combine_moments(partial, pixels, block_m, into)


def combine_moments(partial: Tensor, pixels: int, block: int, into: Moments) -> None:
    """Add up the blocks of every slot; `partial` is (slots, blocks, mean and squares, channels)."""
    slots, blocks, _, channels = partial.shape
    running = into.running_mean is not None
    _combine[(slots, parts(channels, COLUMNS))](
        partial,
        into.mean,
        into.scale,
        into.running_mean if running else into.mean,
        into.running_variance if running else into.scale,
        pixels,
        blocks,
        block,
        channels=channels,
        running=running,
        epsilon=EPSILON,
        momentum=MOMENTUM,
        block_b=64 if pixels <= FEW_PIXELS else 256,
        block_c=COLUMNS,
    )


@kernel(numbers=["pixels"])
def _gather(
    x,
    partial,
    pixels,
    channels: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    block, slot = tl.program_id(0), tl.program_id(1)
    m = block * block_m + tl.arange(0, block_m)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    inside = (m < pixels)[:, None] & (c < channels)[None, :]
    place = (slot.to(tl.int64) * pixels + m)[:, None] * channels + c[None, :]
    value = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(value, 0) / tl.minimum(block_m, pixels - block * block_m)
    apart = tl.where(inside, value - mean[None, :], 0.0)
    place = partial + (slot * tl.num_programs(0) + block) * 2 * channels + c
    tl.store(place, mean, mask=c < channels)
    tl.store(place + channels, tl.sum(apart * apart, 0), mask=c < channels)


@kernel(
    numbers=["pixels", "blocks", "block"], tables=["mean", "scale", "running_mean", "running_variance"]
)
def _combine(
    partial,
    mean,
    scale,
    running_mean,
    running_variance,
    pixels,
    blocks,
    block,
    channels: tl.constexpr,
    running: tl.constexpr,
    epsilon: tl.constexpr,
    momentum: tl.constexpr,
    block_b: tl.constexpr,
    block_c: tl.constexpr,
):
    slot = tl.program_id(0)
    c = tl.program_id(1) * block_c + tl.arange(0, block_c)
    known = c < channels
    origin = tl.load(partial + slot * blocks * 2 * channels + c, mask=known, other=0.0)
    apart = tl.zeros((block_b, block_c), tl.float32)
    squares = tl.zeros((block_b, block_c), tl.float32)
    for start in range(0, blocks, block_b):
        b = start + tl.arange(0, block_b)
        inside = (b < blocks)[:, None] & known[None, :]
        place = (slot * blocks + b)[:, None] * 2 * channels + c[None, :]
        count = tl.minimum(block, pixels - b * block)[:, None]
        shift = tl.load(partial + place, mask=inside, other=0.0) - origin[None, :]
        within = tl.load(partial + place + channels, mask=inside, other=0.0)
        apart += tl.where(inside, shift * count, 0.0)
        squares += tl.where(inside, within + shift * shift * count, 0.0)
    shift = tl.sum(apart, 0) / pixels
    middle = origin + shift
    variance = tl.sum(squares, 0) / pixels - shift * shift
    variance = tl.where(variance < 0, 0.0, variance)  # by rounding; NaN stays
    place = slot * channels + c
    tl.store(mean + place, middle, mask=known)
    tl.store(scale + place, 1.0 / tl.sqrt(variance + epsilon), mask=known)
    if running:
        unbiased = variance * pixels / tl.maximum(pixels - 1, 1)
        before = tl.load(running_mean + place, mask=known, other=0.0)
        tl.store(running_mean + place, before + momentum * (middle - before), mask=known)
        before = tl.load(running_variance + place, mask=known, other=0.0)
        tl.store(running_variance + place, before + momentum * (unbiased - before), mask=known)
