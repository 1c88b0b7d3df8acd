"""Batch norm with given moments, and a ReLU perhaps: slots of their own, not mixed.

Everything is (slots, pixels, channels); a learned scale and shift are (slots, channels). What is
normalised may be multiplied by a factor per image, drop path's, and added to something that is there.
Factors are (batch), and pixels those of one image after another. `normalization_gradients` has the
backward kernels, and shares how lanes are dealt out.

A thread has a few neighbouring channels, as many as divide everything up to 8, and the same ones in
all of its steps: pixels times channels are dealt out without a gap, whatever the number of channels.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.kernels.blocks import from_the_beginning, lane_width, parts, power_of_two
from xnas.kernels.language import compiles_for, inside, kernel, tl
from xnas.kernels.moments import Moments

ROWS = 128  # lanes of a step
STEPS = 4


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
    whole, lane, first, apart = dealt(out)
    rows, share = rows_of(channels // lane)
    _normalize[(parts(pixels, STEPS * share), slots)](
        x,
        *statistics(moments, weight, bias, factors),
        x if plus is None else plus,
        whole,
        pixels,
        area_of(pixels, factors),
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
    """The plain PyTorch version of `normalize`."""
    found = shifted_by((x - moments.mean[:, None]) * moments.scale[:, None], weight, bias)
    if relu:
        found = found.relu()
    found = multiplied(found, factors)
    return (found if plus is None else found + plus).to(x.dtype)


def shifted_by(normalized: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Scaled and shifted, if there is both."""
    if weight is None or bias is None:
        return normalized
    return normalized * weight[:, None] + bias[:, None]


def multiplied(x: Tensor, factors: Tensor | None) -> Tensor:
    """Every image times its factor."""
    return x if factors is None else x * factors.repeat_interleave(x.shape[1] // len(factors))[:, None]


def area_of(pixels: int, factors: Tensor | None) -> int:
    """Pixels of an image."""
    return pixels if factors is None else pixels // len(factors)


def statistics(
    moments: Moments, weight: Tensor | None, bias: Tensor | None, factors: Tensor | None
) -> list[Tensor]:
    """Mean, scale, weight, bias and factors for a kernel; any tensor stands for those that are None."""
    given = (moments.mean, moments.scale, weight, bias, factors)
    return [moments.mean if one is None else one for one in given]


def dealt(x: Tensor) -> tuple[Tensor, int, int, int]:
    """The memory of `x` from its beginning, channels of a lane; in lanes, where `x` and a slot begin."""
    first, apart = int(x.storage_offset()), x.stride(0)
    lane = lane_width(x.shape[2], first, apart, x.stride(1))
    return from_the_beginning(x), lane, first // lane, apart // lane


def rows_of(groups: int) -> tuple[int, int]:
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
    m, c, inside = lanes_of(pixels, channels, lane, rows, steps)
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


@inside
def lanes_of(  # noqa: ANN201 - Triton's
    pixels, channels: tl.constexpr, lane: tl.constexpr, rows: tl.constexpr, steps: tl.constexpr
):
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
