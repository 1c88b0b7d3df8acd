"""Batch norm with given moments, a ReLU perhaps, and its gradient: slots of their own, not mixed.

Everything is (slots, pixels, channels); a learned scale and shift are (slots, channels).
"""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.kernels.language import compiles_for, kernel, parts, power_of_two, tl
from xnas.kernels.moments import Moments

BLOCK = 2048


def normalize(
    x: Tensor,
    moments: Moments,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    relu: bool,
) -> Tensor:
    """Normalised slots, scaled and shifted if there is a `weight` and a `bias`."""
    if not len(x) or not compiles_for(x):
        return plain_normalize(x, moments, weight, bias, relu=relu)
    out = torch.empty_like(x)
    slots, pixels, channels = x.shape
    block_c = min(64, power_of_two(channels))
    _normalize[(parts(pixels, BLOCK // block_c), slots, parts(channels, block_c))](
        x,
        moments.mean,
        moments.scale,
        moments.mean if weight is None else weight,
        moments.mean if bias is None else bias,
        out,
        pixels,
        channels=channels,
        affine=weight is not None and bias is not None,
        relu=relu,
        block_m=BLOCK // block_c,
        block_c=block_c,
    )
    return out


def plain_normalize(
    x: Tensor, moments: Moments, weight: Tensor | None, bias: Tensor | None, *, relu: bool
) -> Tensor:
    """The twin of `normalize`."""
    normalized = (x - moments.mean[:, None]) * moments.scale[:, None]
    if weight is not None and bias is not None:
        normalized = normalized * weight[:, None] + bias[:, None]
    return (normalized.relu() if relu else normalized).to(x.dtype)


def normalization_gradient(
    gradient: Tensor,
    x: Tensor,
    moments: Moments,
    products: Tensor,
    weight: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """What flows back through batch norm to `x`.

    Rows of the gradient may lie apart. `products` (slots, 2, channels) are Σ G and Σ G · normalised x,
    of `inner_products`; they also are the gradients of the shift and of the scale.
    """
    if out is None:
        out = torch.empty_like(x)
    if not len(x):
        return out
    if not compiles_for(x):
        return out.copy_(plain_normalization_gradient(gradient, x, moments, products, weight))
    slots, pixels, channels = x.shape
    block_c = min(64, power_of_two(channels))
    _gradient[(parts(pixels, BLOCK // block_c), slots, parts(channels, block_c))](
        gradient,
        x,
        moments.mean,
        moments.scale,
        products,
        moments.mean if weight is None else weight,
        out,
        pixels,
        gradient.stride(0),
        row=gradient.stride(1),
        channels=channels,
        affine=weight is not None,
        block_m=BLOCK // block_c,
        block_c=block_c,
    )
    return out


def plain_normalization_gradient(
    gradient: Tensor, x: Tensor, moments: Moments, products: Tensor, weight: Tensor | None
) -> Tensor:
    """The twin of `normalization_gradient`."""
    normalized = (x - moments.mean[:, None]) * moments.scale[:, None]
    means = products / x.shape[1]
    flow = gradient - means[:, None, 0] - normalized * means[:, None, 1]
    scale = moments.scale if weight is None else moments.scale * weight
    return (scale[:, None] * flow).to(x.dtype)


@kernel(numbers=["pixels"], tables=["mean", "scale", "weight", "bias"])
def _normalize(
    x,
    mean,
    scale,
    weight,
    bias,
    out,
    pixels,
    channels: tl.constexpr,
    affine: tl.constexpr,
    relu: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    slot = tl.program_id(1)
    m = tl.program_id(0) * block_m + tl.arange(0, block_m)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    known = c < channels
    inside = (m < pixels)[:, None] & known[None, :]
    place = (slot.to(tl.int64) * pixels + m)[:, None] * channels + c[None, :]
    value = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    middle = tl.load(mean + slot * channels + c, mask=known, other=0.0)
    factor = tl.load(scale + slot * channels + c, mask=known, other=0.0)
    value = (value - middle[None, :]) * factor[None, :]
    if affine:
        value *= tl.load(weight + slot * channels + c, mask=known, other=0.0)[None, :]
        value += tl.load(bias + slot * channels + c, mask=known, other=0.0)[None, :]
    if relu:
        value = tl.where(value < 0, 0.0, value)  # unlike a maximum it keeps NaN
    tl.store(out + place, value, mask=inside)


@kernel(numbers=["pixels", "apart"], tables=["mean", "scale", "products", "weight"])
def _gradient(
    gradient,
    x,
    mean,
    scale,
    products,
    weight,
    out,
    pixels,
    apart,
    row: tl.constexpr,
    channels: tl.constexpr,
    affine: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    slot = tl.program_id(1)
    m = tl.program_id(0) * block_m + tl.arange(0, block_m)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    known = c < channels
    inside = (m < pixels)[:, None] & known[None, :]
    place = slot.to(tl.int64) * apart + m[:, None] * row + c[None, :]
    flow = tl.load(gradient + place, mask=inside, other=0.0).to(tl.float32)
    place = (slot.to(tl.int64) * pixels + m)[:, None] * channels + c[None, :]
    value = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    middle = tl.load(mean + slot * channels + c, mask=known, other=0.0)
    factor = tl.load(scale + slot * channels + c, mask=known, other=0.0)
    alone = tl.load(products + slot * 2 * channels + c, mask=known, other=0.0) / pixels
    along = tl.load(products + (slot * 2 + 1) * channels + c, mask=known, other=0.0) / pixels
    normalized = (value - middle[None, :]) * factor[None, :]
    if affine:
        factor *= tl.load(weight + slot * channels + c, mask=known, other=0.0)
    flow = factor[None, :] * (flow - alone[None, :] - normalized * along[None, :])
    tl.store(out + place, flow, mask=inside)
