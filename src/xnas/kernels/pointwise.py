"""Pointwise convolutions of many slots at once: a matrix product a slot, with the moments of its result.

Inputs are (slots, pixels, channels), weights (slots, channels in, channels out). Batch statistics are
gathered while results are still in registers, as a mean and a sum of squares about it for each block of
pixels, which add up without cancellation.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.kernels.language import compiles_for, kernel, parts, power_of_two, tl
from xnas.kernels.moments import Moments, combine_moments, plain_moments
from xnas.kernels.sums import add_up

WEIGHT_BLOCK = 128
PROGRAMS = 512  # of a weight gradient: a few for each multiprocessor


def pointwise(
    x: Tensor, weight: Tensor, *, gate: Tensor | None = None, out: Tensor | None = None
) -> Tensor:
    """Products (slots, pixels, channels out), 0 where a `gate` of that shape is not positive.

    `weight` may be a transposed view.
    """
    if out is None:
        out = x.new_empty(*x.shape[:2], weight.shape[2])
    if len(x) and compiles_for(x):
        launch_pointwise(x, weight, out, gate=gate)
    elif len(x):
        product = plain_pointwise(x, weight)
        out.copy_(product if gate is None else torch.where(gate > 0, product, 0.0))
    return out


def pointwise_with_moments(
    x: Tensor, weight: Tensor, *, relu: bool = False, out: Tensor, into: Moments
) -> None:
    """Products with `x` or its ReLU, and for each slot and channel their mean and 1 / deviation."""
    if not len(x):
        return
    if compiles_for(x):
        block = _rows(weight.shape[2])
        blocks = parts(x.shape[1], block)
        partial = x.new_empty(len(x), blocks, 2, weight.shape[2], dtype=torch.float32)
        launch_pointwise(x, weight, out, partial=partial, relu=relu)
        combine_moments(partial, x.shape[1], block, into)
    else:
        out.copy_(plain_pointwise(x.relu() if relu else x, weight))
        plain_moments(out, into)


def plain_pointwise(x: Tensor, weight: Tensor) -> Tensor:
    """The twin of `pointwise`."""
    return torch.bmm(x, weight.to(x.dtype))


def pointwise_weight_gradient(
    x: Tensor, gradient: Tensor, *, relu: bool = False, like: Tensor | None = None
) -> Tensor:
    """Gradient (slots, channels in, channels out) of the weights, in float32 at least.

    It has the strides of `like`, if that is given. Pixels are summed share by share, and the shares in
    a fixed order.
    """
    slots, pixels, channels = x.shape
    outputs = gradient.shape[2]
    wide = torch.promote_types(x.dtype, torch.float32)
    shape = (slots, channels, outputs)
    if like is None:
        out = x.new_empty(shape, dtype=wide)
    else:
        out = torch.empty_strided(shape, like.stride(), dtype=wide, device=x.device)
    if not slots or not compiles_for(x):
        return out.copy_(plain_weight_gradient(x.relu() if relu else x, gradient))
    block_k, block_n = (max(16, min(64, power_of_two(n))) for n in (channels, outputs))
    tiles = parts(channels, block_k) * parts(outputs, block_n)
    splits = max(1, min(parts(pixels, 4 * WEIGHT_BLOCK), PROGRAMS // (slots * tiles)))
    share = parts(parts(pixels, splits), WEIGHT_BLOCK) * WEIGHT_BLOCK
    splits = parts(pixels, share)
    partial = x.new_empty(splits, out.numel(), dtype=torch.float32)
    _weight_gradient[(splits, slots, tiles)](
        x,
        gradient,
        partial,
        pixels,
        share,
        out.numel(),
        *out.stride(),
        channels=channels,
        outputs=outputs,
        block_m=WEIGHT_BLOCK,
        block_k=block_k,
        block_n=block_n,
        relu=relu,
    )
    add_up(partial, out)
    return out


def plain_weight_gradient(x: Tensor, gradient: Tensor) -> Tensor:
    """The twin of `pointwise_weight_gradient`."""
    return torch.bmm(x.transpose(1, 2), gradient)


def launch_pointwise(
    x: Tensor,
    weight: Tensor,
    out: Tensor,
    *,
    partial: Tensor | None = None,
    gate: Tensor | None = None,
    relu: bool = False,
) -> None:
    """The kernel of `pointwise`; `partial` receives a mean and a sum of squares a block."""
    slots, pixels, channels = x.shape
    outputs = weight.shape[2]
    block_n, block_m = _columns(outputs), _rows(outputs)
    _product[(parts(pixels, block_m), slots, parts(outputs, block_n))](
        x,
        weight,
        out,
        out if partial is None else partial,
        out if gate is None else gate,
        pixels,
        weight.stride(0),
        weight.stride(1),
        weight.stride(2),
        channels=channels,
        outputs=outputs,
        moments=partial is not None,
        gated=gate is not None,
        relu=relu,
        block_m=block_m,
        block_n=block_n,
        block_k=max(16, min(64, power_of_two(channels))),
        num_warps=4 if block_n <= 64 else 8,
    )


def _columns(outputs: int) -> int:
    return max(16, min(128, power_of_two(outputs)))


def _rows(outputs: int) -> int:
    """Pixels of a block: many where channels are few."""
    return max(128, min(256, 8192 // _columns(outputs)))


@kernel(numbers=["pixels", "stride_slot", "stride_in", "stride_out"])
def _product(
    x,
    weight,
    out,
    partial,
    gate,
    pixels,
    stride_slot,
    stride_in,
    stride_out,
    channels: tl.constexpr,
    outputs: tl.constexpr,
    moments: tl.constexpr,
    gated: tl.constexpr,
    relu: tl.constexpr,
    block_m: tl.constexpr,
    block_n: tl.constexpr,
    block_k: tl.constexpr,
):
    block, slot = tl.program_id(0), tl.program_id(1)
    m = block * block_m + tl.arange(0, block_m)
    n = tl.program_id(2) * block_n + tl.arange(0, block_n)
    begin = slot.to(tl.int64) * pixels
    total = tl.zeros((block_m, block_n), tl.float32)
    for start in tl.static_range(0, channels, block_k):
        k = start + tl.arange(0, block_k)
        value = tl.load(
            x + (begin + m)[:, None] * channels + k[None, :],
            mask=(m < pixels)[:, None] & (k < channels)[None, :],
            other=0.0,
        )
        if relu:
            value = tl.where(value < 0, 0.0, value).to(x.dtype.element_ty)
        factor = tl.load(
            weight + slot * stride_slot + k[:, None] * stride_in + n[None, :] * stride_out,
            mask=(k < channels)[:, None] & (n < outputs)[None, :],
            other=0.0,
        )
        total = tl.dot(value, factor.to(value.dtype), total, input_precision="ieee")
    inside = (m < pixels)[:, None] & (n < outputs)[None, :]
    if gated:
        passes = tl.load(gate + (begin + m)[:, None] * outputs + n[None, :], mask=inside, other=0.0) > 0
        total = tl.where(passes, total, 0.0)
    result = total.to(out.dtype.element_ty)
    tl.store(out + (begin + m)[:, None] * outputs + n[None, :], result, mask=inside)
    if moments:
        rounded = tl.where(inside, result.to(tl.float32), 0.0)
        count = tl.minimum(block_m, pixels - block * block_m)
        mean = tl.sum(rounded, 0) / count
        apart = tl.where(inside, rounded - mean[None, :], 0.0)
        place = partial + (slot * tl.num_programs(0) + block) * 2 * outputs + n
        tl.store(place, mean, mask=n < outputs)
        tl.store(place + outputs, tl.sum(apart * apart, 0), mask=n < outputs)


@kernel(numbers=["pixels", "share", "size", "stride_slot", "stride_in", "stride_out"])
def _weight_gradient(
    x,
    gradient,
    partial,
    pixels,
    share,
    size,
    stride_slot,
    stride_in,
    stride_out,
    channels: tl.constexpr,
    outputs: tl.constexpr,
    block_m: tl.constexpr,
    block_k: tl.constexpr,
    block_n: tl.constexpr,
    relu: tl.constexpr,
):
    split, slot, tile = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    columns = (outputs + block_n - 1) // block_n
    k = tile // columns * block_k + tl.arange(0, block_k)
    n = tile % columns * block_n + tl.arange(0, block_n)
    begin = slot.to(tl.int64) * pixels
    total = tl.zeros((block_k, block_n), tl.float32)
    for start in range(split * share, tl.minimum(pixels, (split + 1) * share), block_m):
        m = start + tl.arange(0, block_m)
        value = tl.load(
            x + (begin + m)[:, None] * channels + k[None, :],
            mask=(m < pixels)[:, None] & (k < channels)[None, :],
            other=0.0,
        )
        if relu:
            value = tl.where(value < 0, 0.0, value).to(x.dtype.element_ty)
        flow = tl.load(
            gradient + (begin + m)[:, None] * outputs + n[None, :],
            mask=(m < pixels)[:, None] & (n < outputs)[None, :],
            other=0.0,
        )
        total = tl.dot(tl.trans(value), flow, total, input_precision="ieee")
    place = split.to(tl.int64) * size + slot * stride_slot
    tl.store(
        partial + place + k[:, None] * stride_in + n[None, :] * stride_out,
        total,
        mask=(k < channels)[:, None] & (n < outputs)[None, :],
    )
