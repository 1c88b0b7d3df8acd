"""Batch norm and weighted sum of many slots in one pass.

`advice` (slots, pixels, channels) holds what experts computed, before their batch norm. A term is one
expert on one edge: it takes the advice of a `slot`, normalised by that slot's moments, with a weight.
Terms of one node are added up. A slot without a batch norm has mean 0 and scale 1. `mixing_gradients`
has the backward kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from xnas.kernels.blocks import alignment, block_at, channel_block, parts
from xnas.kernels.language import compiles_for, inside, kernel, tl
from xnas.kernels.moments import Moments

BLOCK = 2048  # numbers a program computes at a time
PROGRAMS = 660  # of a launch: 5 on each of the 132 multiprocessors of an H200, side by side


@dataclass(frozen=True, slots=True)
class Copies:
    """Where a mixture is wanted as well: (pixels, channels) each, of the same type."""

    active: Tensor
    """Its ReLU."""
    image: Tensor
    """Rows may lie apart."""


def mix(
    advice: Tensor,
    moments: Moments,
    slots: Tensor,
    weights: Tensor,
    *,
    out: Tensor,
    copies: Copies | None = None,
) -> None:
    """Put Σ weight · normalised advice over the terms into `out` (pixels, channels)."""
    if compiles_for(advice):
        pixels, channels = out.shape
        block_c = channel_block(channels, least=32)
        small = out.numel() < BLOCK * PROGRAMS
        block_m = (BLOCK // 2 if small else BLOCK) // block_c
        _mix[(parts(pixels, block_m), parts(channels, block_c))](
            advice,
            moments.mean,
            moments.scale,
            slots,
            weights,
            out,
            out if copies is None else copies.active,
            out if copies is None else copies.image,
            pixels,
            len(slots),
            row=channels if copies is None else copies.image.stride(0),
            copied=copies is not None,
            aligned=alignment(moments.mean, moments.scale, steps=(channels,)),
            channels=channels,
            block_m=block_m,
            block_c=block_c,
        )
        return
    out.copy_(plain_mix(advice, moments, slots, weights))
    if copies is not None:
        copies.active.copy_(out.relu())
        copies.image.copy_(out)


def plain_mix(advice: Tensor, moments: Moments, slots: Tensor, weights: Tensor) -> Tensor:
    """The plain PyTorch version of `mix`."""
    total = advice.new_zeros(advice.shape[1:], dtype=moments.mean.dtype)
    for slot, weight in zip(slots.tolist(), weights, strict=True):
        total += weight * (advice[slot] - moments.mean[slot]) * moments.scale[slot]
    return total


@inside
def _weighted(
    advice,
    mean,
    scale,
    slots,
    weights,
    term,
    m,
    c,
    pixels,
    channels: tl.constexpr,
    aligned: tl.constexpr,
):
    """Normalised advice of a term, by its weight."""
    known = c < channels
    slot = tl.load(slots + term).to(tl.int64)
    weight = tl.load(weights + term).to(tl.float32)
    place = (slot * pixels + m)[:, None] * channels + c[None, :]
    value = tl.load(advice + place, mask=(m < pixels)[:, None] & known[None, :], other=0.0)
    place = slot * channels + c
    middle = tl.load(tl.multiple_of(mean + place, aligned), mask=known, other=0.0)
    factor = weight * tl.load(tl.multiple_of(scale + place, aligned), mask=known, other=0.0)
    return (value.to(tl.float32) - middle[None, :]) * factor[None, :]


@kernel(numbers=["pixels", "terms"], tables=["mean", "scale", "slots", "weights"])
def _mix(
    advice,
    mean,
    scale,
    slots,
    weights,
    out,
    active,
    image,
    pixels,
    terms,
    row: tl.constexpr,
    copied: tl.constexpr,
    aligned: tl.constexpr,
    channels: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    m, c = block_at(block_m, block_c)
    known = c < channels
    there = (m < pixels)[:, None] & known[None, :]
    total = tl.zeros((block_m, block_c), tl.float32)
    together = terms // 4 * 4
    for start in range(0, together, 4):
        for each in tl.static_range(4):  # their loads overlap
            total += _weighted(
                advice, mean, scale, slots, weights, start + each, m, c, pixels, channels, aligned
            )
    for term in range(together, terms):
        total += _weighted(advice, mean, scale, slots, weights, term, m, c, pixels, channels, aligned)
    place = m[:, None] * channels + c[None, :]
    tl.store(out + place, total, mask=there)
    if copied:
        tl.store(image + m[:, None] * row + c[None, :], total, mask=there)
        total = tl.where(total < 0, 0.0, total)  # unlike a maximum it keeps NaN
        tl.store(active + place, total, mask=there)
