"""Batch norm with given moments, a ReLU perhaps, and its gradient: slots of their own, not mixed.

Everything is (slots, pixels, channels); a learned scale and shift are (slots, channels). What is
normalised may be multiplied by a factor an image, drop path's, and added to something that is there;
the way back reads the factors along with the gradient. Factors are (batch), and pixels those of one
image after another. The way back through the ReLU is part of it, too: it sees what was positive in what
it normalises anyway, and nobody needs to read the results again.

A thread has a few neighbouring channels, as many as divide everything up to 8, and the same ones in
all of its steps: pixels times channels are dealt out without a gap, whatever the number of channels.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.kernels.blocks import channel_block, from_the_beginning, lane_width, parts, power_of_two
from xnas.kernels.language import compiles_for, inside, kernel, tl
from xnas.kernels.moments import Moments
from xnas.kernels.sums import add_up

ROWS = 128  # lanes of a step
STEPS = 4
SUMS_BLOCK = 1024  # numbers a program reads at a time


def normalize(
    x: Tensor,
    moments: Moments,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    relu: bool,
    factors: Tensor | None = None,
    plus: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Normalised slots, scaled and shifted if there is a `weight` and a `bias`.

    After the ReLU they are multiplied by `factors` and added to `plus`, a tensor like `x`. Rows of
    `out` may lie apart.
    """
    if out is None:
        out = torch.empty_like(x)
    if not len(x):
        return out
    if not compiles_for(x):
        return out.copy_(plain_normalize(x, moments, weight, bias, relu, factors, plus))
    slots, pixels, channels = x.shape
    whole, lane, first, apart = _dealt(out)
    rows, share = _rows(channels // lane)
    _normalize[(parts(pixels, STEPS * share), slots)](
        x,
        moments.mean,
        moments.scale,
        moments.mean if weight is None else weight,
        moments.mean if bias is None else bias,
        moments.mean if factors is None else factors,
        x if plus is None else plus,
        whole,
        pixels,
        _area(pixels, factors),
        first,
        apart,
        row=out.stride(1),
        channels=channels,
        affine=weight is not None and bias is not None,
        relu=relu,
        factored=factors is not None,
        added=plus is not None,
        lane=lane,
        rows=rows,
        steps=STEPS,
    )
    return out


def plain_normalize(
    x: Tensor,
    moments: Moments,
    weight: Tensor | None,
    bias: Tensor | None,
    relu: bool,  # noqa: FBT001
    factors: Tensor | None,
    plus: Tensor | None,
) -> Tensor:
    """The twin of `normalize`."""
    found = _shifted((x - moments.mean[:, None]) * moments.scale[:, None], weight, bias)
    if relu:
        found = found.relu()
    found = _multiplied(found, factors)
    return (found if plus is None else found + plus).to(x.dtype)


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
    came next, nothing flows back where the result was not positive; only this needs `weight` and `bias`.
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
    whole, lane, first, apart = _dealt(gradient)
    _sums[(blocks, slots, parts(channels, block_c))](
        whole,
        x,
        moments.mean,
        moments.scale,
        moments.mean if weight is None else weight,
        moments.mean if bias is None else bias,
        moments.mean if factors is None else factors,
        partial,
        pixels,
        _area(pixels, factors),
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
    """The twin of `normalization_sums`."""
    flow = _multiplied(gradient.to(moments.mean.dtype), factors)
    normalized = (x - moments.mean[:, None]) * moments.scale[:, None]
    if relu:
        flow = _gated(flow, _shifted(normalized, weight, bias))
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
    """What flows back through batch norm to `x`, of a gradient times `factors`.

    Rows of the gradient may lie apart. `products` (slots, 2, channels) are those of
    `normalization_sums`. If a `relu` came next, nothing flows where the result was not positive; only
    this needs the `bias`.
    """
    if out is None:
        out = torch.empty_like(x)
    if not len(x):
        return out
    if not compiles_for(x):
        found = plain_normalization_gradient(gradient, x, moments, products, weight, bias, relu, factors)
        return out.copy_(found)
    slots, pixels, channels = x.shape
    whole, lane, first, apart = _dealt(gradient)
    rows, share = _rows(channels // lane)
    _gradient[(parts(pixels, STEPS * share), slots)](
        whole,
        x,
        moments.mean,
        moments.scale,
        products,
        moments.mean if weight is None else weight,
        moments.mean if bias is None else bias,
        moments.mean if factors is None else factors,
        out,
        pixels,
        _area(pixels, factors),
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
    """The twin of `normalization_gradient`."""
    normalized = (x - moments.mean[:, None]) * moments.scale[:, None]
    flow = _multiplied(gradient, factors)
    if relu:
        flow = _gated(flow, _shifted(normalized, weight, bias))
    means = products / x.shape[1]
    flow = flow - means[:, None, 0] - normalized * means[:, None, 1]
    scale = moments.scale if weight is None else moments.scale * weight
    return (scale[:, None] * flow).to(x.dtype)


def _shifted(normalized: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Scaled and shifted, if there is both."""
    if weight is None or bias is None:
        return normalized
    return normalized * weight[:, None] + bias[:, None]


def _gated(flow: Tensor, result: Tensor) -> Tensor:
    """What flows back through a ReLU of the result; nothing through what is not a number."""
    return torch.where(result > 0, flow, 0.0)


def _multiplied(x: Tensor, factors: Tensor | None) -> Tensor:
    """Every image times its factor."""
    return x if factors is None else x * factors.repeat_interleave(x.shape[1] // len(factors))[:, None]


def _area(pixels: int, factors: Tensor | None) -> int:
    """Pixels of an image."""
    return pixels if factors is None else pixels // len(factors)


def _dealt(x: Tensor) -> tuple[Tensor, int, int, int]:
    """The memory of `x` from its beginning, channels of a lane; in lanes, where `x` and a slot begin."""
    first, apart = int(x.storage_offset()), x.stride(0)
    lane = lane_width(x.shape[2], first, apart, x.stride(1))
    return from_the_beginning(x), lane, first // lane, apart // lane


def _rows(groups: int) -> tuple[int, int]:
    """Lanes of a step, and the pixels, of so many lanes each, that they hold."""
    rows = max(ROWS, power_of_two(groups))
    return rows, rows // groups


@kernel(
    numbers=["pixels", "area", "first", "apart"], tables=["mean", "scale", "weight", "bias", "factors"]
)
def _normalize(
    x,
    mean,
    scale,
    weight,
    bias,
    factors,
    plus,
    out,
    pixels,
    area,
    first,
    apart,
    row: tl.constexpr,
    channels: tl.constexpr,
    affine: tl.constexpr,
    relu: tl.constexpr,
    factored: tl.constexpr,
    added: tl.constexpr,
    lane: tl.constexpr,
    rows: tl.constexpr,
    steps: tl.constexpr,
):
    slot = tl.program_id(1).to(tl.int64)
    m, c, inside = _lanes(pixels, channels, lane, rows, steps)
    place = (slot * pixels + m)[:, :, None] * channels + c
    middle = tl.load(mean + slot * channels + c)
    factor = tl.load(scale + slot * channels + c)
    if affine:
        factor *= tl.load(weight + slot * channels + c)
        shift = tl.load(bias + slot * channels + c)
    value = tl.load(x + place, mask=inside[:, :, None], other=0.0).to(tl.float32)
    value = (value - middle) * factor
    if affine:
        value += shift
    if relu:
        value = tl.where(value < 0, 0.0, value)  # unlike a maximum it keeps NaN
    if factored:
        value *= tl.load(factors + m // area, mask=inside, other=0.0).to(tl.float32)[:, :, None]
    if added:
        value += tl.load(plus + place, mask=inside[:, :, None], other=0.0).to(tl.float32)
    place = (slot * apart + first) * lane + m.to(tl.int64)[:, :, None] * row + c
    tl.store(out + place, value, mask=inside[:, :, None])


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
    m, c, inside = _lanes(pixels, channels, lane, rows, steps)
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
    """What flows back through a ReLU of the value by its factor, and shifted."""
    result = value * factor
    if shifted:
        result += shift
    return tl.where(result > 0, flow, 0.0)


@inside
def _lanes(pixels, channels: tl.constexpr, lane: tl.constexpr, rows: tl.constexpr, steps: tl.constexpr):
    """Pixels (rows, steps), channels (rows, 1, lane), and which of the pixels there are.

    In this order a thread has a row of all steps, not several rows.
    """
    groups: tl.constexpr = channels // lane
    share: tl.constexpr = rows // groups
    r = tl.arange(0, rows)
    m = tl.program_id(0) * (steps * share) + (r // groups)[:, None]
    m += (tl.arange(0, steps) * share)[None, :]
    c = ((r % groups) * lane)[:, None, None] + tl.arange(0, lane)[None, None, :]
    return m, c, (r < share * groups)[:, None] & (m < pixels)
