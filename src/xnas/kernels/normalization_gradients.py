"""Backward kernels of batch norm: the sums over pixels that it needs, and the gradient.

Factors of drop path are read along with the gradient. The gradient of a ReLU is also part of it: what
was positive is seen in what is normalised anyway, and results need not be read again. Shapes and lanes
are those of `normalization`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.kernels.blocks import channel_block, parts
from xnas.kernels.language import compiles_for, inside, kernel, tl
from xnas.kernels.moments import Moments
from xnas.kernels.normalization import (
    STEPS,
    area_of,
    dealt,
    lanes_of,
    multiplied,
    rows_of,
    shifted_by,
    statistics,
)
from xnas.kernels.sums import add_up

SUMS_BLOCK = 1024  # numbers a program reads at a time


def normalization_sums(
    gradient: Tensor,
    x: Tensor,
    moments: Moments,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    relu: bool = False,
    factors: Tensor | None = None,
) -> Tensor:
    """Σ G and Σ G · normalised x over the pixels (slots, 2, channels), of a gradient times `factors`.

    They are the gradients of the shift and of the scale. Rows of the gradient may lie apart. If a `relu`
    came next, the gradient is 0 where the result was not positive; only this needs `weight` and `bias`.
    """
    slots, pixels, channels = x.shape
    out = moments.mean.new_empty(slots, 2, channels)
    if not len(x):
        return out
    if not compiles_for(x):
        found = plain_normalization_sums(gradient, x, moments, weight, bias, relu, factors)
        return out.copy_(found)
    block_c = channel_block(channels, least=16)
    block_m = SUMS_BLOCK // block_c
    blocks = parts(pixels, STEPS * block_m)
    partial = x.new_empty(blocks, *out.shape, dtype=torch.float32)
    whole, lane, first, apart = dealt(gradient)
    _sums[(blocks, slots, parts(channels, block_c))](
        whole,
        x,
        *statistics(moments, weight, bias, factors),
        partial,
        pixels,
        area_of(pixels, factors),
        first,
        apart,
        row=gradient.stride(1),
        channels=channels,
        relu=relu,
        shifted=relu and weight is not None and bias is not None,
        factored=factors is not None,
        lane=lane,
        steps=STEPS,
        block_m=block_m,
        block_c=block_c,
    )
    add_up(partial, out)
    return out


def plain_normalization_sums(
    gradient: Tensor,
    x: Tensor,
    moments: Moments,
    weight: Tensor | None,
    bias: Tensor | None,
    relu: bool,  # noqa: FBT001
    factors: Tensor | None,
) -> Tensor:
    """The plain PyTorch version of `normalization_sums`."""
    flow = multiplied(gradient.to(moments.mean.dtype), factors)
    normalized = (x - moments.mean[:, None]) * moments.scale[:, None]
    if relu:
        flow = _gated(flow, shifted_by(normalized, weight, bias))
    return torch.stack([flow.sum(1), (flow * normalized).sum(1)], 1)


def normalization_gradient(
    gradient: Tensor,
    x: Tensor,
    moments: Moments,
    products: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    relu: bool = False,
    factors: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Gradient of `x`, the input of batch norm, from that of its output times `factors`.

    Rows of the gradient may lie apart. `products` (slots, 2, channels) are those of
    `normalization_sums`. If a `relu` came next, the gradient is 0 where the result was not positive;
    only this needs the `bias`.
    """
    if out is None:
        out = torch.empty_like(x)
    if not len(x):
        return out
    if not compiles_for(x):
        found = plain_normalization_gradient(gradient, x, moments, products, weight, bias, relu, factors)
        return out.copy_(found)
    slots, pixels, channels = x.shape
    whole, lane, first, apart = dealt(gradient)
    rows, share = rows_of(channels // lane)
    mean, scale, *affine = statistics(moments, weight, bias, factors)
    _gradient[(parts(pixels, STEPS * share), slots)](
        whole,
        x,
        mean,
        scale,
        products,
        *affine,
        out,
        pixels,
        area_of(pixels, factors),
        first,
        apart,
        row=gradient.stride(1),
        channels=channels,
        affine=weight is not None,
        relu=relu,
        shifted=relu and weight is not None and bias is not None,
        factored=factors is not None,
        lane=lane,
        rows=rows,
        steps=STEPS,
    )
    return out


def plain_normalization_gradient(
    gradient: Tensor,
    x: Tensor,
    moments: Moments,
    products: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    relu: bool,  # noqa: FBT001
    factors: Tensor | None,
) -> Tensor:
    """The plain PyTorch version of `normalization_gradient`."""
    normalized = (x - moments.mean[:, None]) * moments.scale[:, None]
    flow = multiplied(gradient, factors)
    if relu:
        flow = _gated(flow, shifted_by(normalized, weight, bias))
    means = products / x.shape[1]
    flow = flow - means[:, None, 0] - normalized * means[:, None, 1]
    scale = moments.scale if weight is None else moments.scale * weight
    return (scale[:, None] * flow).to(x.dtype)


def _gated(flow: Tensor, result: Tensor) -> Tensor:
    """Gradient through a ReLU of the result; 0 where that is not a number."""
    return torch.where(result > 0, flow, 0.0)


@kernel(
    numbers=["pixels", "area", "first", "apart"], tables=["mean", "scale", "weight", "bias", "factors"]
)
def _sums(
    gradient,
    x,
    mean,
    scale,
    weight,
    bias,
    factors,
    partial,
    pixels,
    area,
    first,
    apart,
    row: tl.constexpr,
    channels: tl.constexpr,
    relu: tl.constexpr,
    shifted: tl.constexpr,
    factored: tl.constexpr,
    lane: tl.constexpr,
    steps: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    block, slot = tl.program_id(0), tl.program_id(1).to(tl.int64)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    known = c < channels
    middle = tl.load(mean + slot * channels + c, mask=known, other=0.0)
    factor = tl.load(scale + slot * channels + c, mask=known, other=0.0)
    steep, shift = factor, factor
    if shifted:
        steep *= tl.load(weight + slot * channels + c, mask=known, other=0.0)
        shift = tl.load(bias + slot * channels + c, mask=known, other=0.0)
    alone = tl.zeros((block_m, block_c), tl.float32)
    along = tl.zeros((block_m, block_c), tl.float32)
    for step in tl.static_range(steps):
        m = (block * steps + step) * block_m + tl.arange(0, block_m)
        inside = (m < pixels)[:, None] & known[None, :]
        place = (slot * apart + first) * lane + m.to(tl.int64)[:, None] * row + c[None, :]
        flow = tl.load(gradient + place, mask=inside, other=0.0).to(tl.float32)
        place = (slot * pixels + m)[:, None] * channels + c[None, :]
        value = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
        if factored:
            flow *= tl.load(factors + m // area, mask=m < pixels, other=0.0).to(tl.float32)[:, None]
        value -= middle[None, :]
        if relu:
            flow = _gate(flow, value, steep[None, :], shift[None, :], shifted)
        alone += flow
        along += flow * value
    place = partial + (block * tl.num_programs(1) + slot) * 2 * channels + c
    tl.store(place, tl.sum(alone, 0), mask=known)
    tl.store(place + channels, tl.sum(along, 0) * factor, mask=known)


@kernel(
    numbers=["pixels", "area", "first", "apart"],
    tables=["mean", "scale", "products", "weight", "bias", "factors"],
)
def _gradient(
    gradient,
    x,
    mean,
    scale,
    products,
    weight,
    bias,
    factors,
    out,
    pixels,
    area,
    first,
    apart,
    row: tl.constexpr,
    channels: tl.constexpr,
    affine: tl.constexpr,
    relu: tl.constexpr,
    shifted: tl.constexpr,
    factored: tl.constexpr,
    lane: tl.constexpr,
    rows: tl.constexpr,
    steps: tl.constexpr,
):
    slot = tl.program_id(1).to(tl.int64)
    m, c, inside = lanes_of(pixels, channels, lane, rows, steps)
    middle = tl.load(mean + slot * channels + c)
    factor = tl.load(scale + slot * channels + c)
    alone = tl.load(products + slot * 2 * channels + c) / pixels
    along = factor * tl.load(products + (slot * 2 + 1) * channels + c) / pixels
    steep, shift = factor, factor
    if affine:
        factor *= tl.load(weight + slot * channels + c)
    if shifted:
        steep = factor
        shift = tl.load(bias + slot * channels + c)
    place = (slot * apart + first) * lane + m.to(tl.int64)[:, :, None] * row + c
    flow = tl.load(gradient + place, mask=inside[:, :, None], other=0.0).to(tl.float32)
    place = (slot * pixels + m)[:, :, None] * channels + c
    value = tl.load(x + place, mask=inside[:, :, None], other=0.0).to(tl.float32)
    if factored:
        flow *= tl.load(factors + m // area, mask=inside, other=0.0).to(tl.float32)[:, :, None]
    value -= middle
    if relu:
        flow = _gate(flow, value, steep, shift, shifted)
    flow = factor * (flow - alone - value * along)
    tl.store(out + place, flow, mask=inside[:, :, None])


@inside
def _gate(flow, value, factor, shift, shifted: tl.constexpr):
    """Gradient through a ReLU of the value by its factor, and shifted."""
    result = value * factor
    if shifted:
        result += shift
    return tl.where(result > 0, flow, 0.0)
