"""Gradients of the weights of pointwise convolutions, of many slots in one launch.

A program multiplies a tile of channels over a share of the pixels; shares are added up in a fixed order.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.kernels.blocks import channel_block, parts, power_of_two
from xnas.kernels.language import compiles_for, kernel, tl
from xnas.kernels.pointwise import PROGRAMS, slots_of
from xnas.kernels.sums import add_up

BLOCK = 8192  # numbers a program reads at a time
SHARES = 264  # at most: they have to be added up


def pointwise_weight_gradient(
    x: Tensor,
    gradient: Tensor,
    *,
    planes: Tensor | None = None,
    relu: bool = False,
    like: Tensor | None = None,
) -> Tensor:
    """Gradient (slots, channels in, channels out) of the weights, in float32 at least.

    In memory it lies as `like` does, if that is given: in this order, or transposed. Slots of the
    gradient may lie side by side, and those of `x` be `planes`, as in `pointwise`.
    """
    _, pixels, channels = x.shape
    slots = len(x) if planes is None else len(planes)
    together = slots // max(1, len(gradient))
    outputs = gradient.shape[2] // max(1, together)
    wide = torch.promote_types(x.dtype, torch.float32)
    transposed = like is not None and not like.is_contiguous()
    if transposed:
        out = x.new_empty(slots, outputs, channels, dtype=wide).transpose(1, 2)
    else:
        out = x.new_empty(slots, channels, outputs, dtype=wide)
    if not slots or not compiles_for(x):
        return out.copy_(plain_pointwise_weight_gradient(x.relu() if relu else x, gradient, planes))
    block_k, block_n = (max(16, channel_block(n, least=64)) for n in (channels, outputs))
    tiles = parts(channels, block_k) * parts(outputs, block_n)
    block_m = BLOCK // power_of_two(block_k + block_n)
    shares = min(SHARES, parts(pixels, 2 * block_m), max(1, PROGRAMS // (slots * tiles)))
    share = parts(parts(pixels, shares), block_m) * block_m
    shares = parts(pixels, share)
    partial = x.new_empty(shares, out.numel(), dtype=torch.float32)
    _weight_gradient[(shares, slots, tiles)](
        x,
        gradient,
        partial,
        x if planes is None else planes,
        pixels,
        share,
        planned=planes is not None,
        together=together,
        channels=channels,
        outputs=outputs,
        transposed=transposed,
        block_m=block_m,
        block_k=block_k,
        block_n=block_n,
        relu=relu,
    )
    add_up(partial, out)
    return out


def plain_pointwise_weight_gradient(x: Tensor, gradient: Tensor, planes: Tensor | None) -> Tensor:
    """The plain PyTorch version of `pointwise_weight_gradient`."""
    x = x if planes is None else x[planes.long()]
    return torch.bmm(x.transpose(1, 2), slots_of(gradient, len(x)) if len(x) else gradient)


@kernel(numbers=["pixels", "share"], tables=["planes"])
def _weight_gradient(
    x,
    gradient,
    partial,
    planes,
    pixels,
    share,
    planned: tl.constexpr,
    together: tl.constexpr,
    channels: tl.constexpr,
    outputs: tl.constexpr,
    transposed: tl.constexpr,
    block_m: tl.constexpr,
    block_k: tl.constexpr,
    block_n: tl.constexpr,
    relu: tl.constexpr,
):
    split, slot, tile = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    columns = (outputs + block_n - 1) // block_n
    k = tile // columns * block_k + tl.arange(0, block_k)
    n = tile % columns * block_n + tl.arange(0, block_n)
    row = tl.arange(0, block_m)
    plane = (tl.load(planes + slot) if planned else slot).to(tl.int64)
    x += (plane * pixels + split * share) * channels
    begin = (slot // together).to(tl.int64) * pixels + split * share
    gradient += begin * (together * outputs) + slot % together * outputs
    left = tl.minimum(share, pixels - split * share)
    total = tl.zeros((block_k, block_n), tl.float32)
    for start in range(0, left, block_m):
        known = start + row < left
        value = tl.load(
            x + row[None, :] * channels + k[:, None],
            mask=known[None, :] & (k < channels)[:, None],
            other=0.0,
        )
        if relu:
            value = tl.where(value < 0, 0.0, value).to(x.dtype.element_ty)
        flow = tl.load(
            gradient + row[:, None] * (together * outputs) + n[None, :],
            mask=known[:, None] & (n < outputs)[None, :],
            other=0.0,
        )
        total = tl.dot(value, flow, total, input_precision="ieee")
        x += block_m * channels
        gradient += block_m * together * outputs
    partial += (split.to(tl.int64) * tl.num_programs(1) + slot) * (channels * outputs)
    place = n[None, :] * channels + k[:, None] if transposed else k[:, None] * outputs + n[None, :]
    tl.store(partial + place, total, mask=(k < channels)[:, None] & (n < outputs)[None, :])
