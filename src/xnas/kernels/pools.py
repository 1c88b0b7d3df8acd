"""3x3 pools over images (inputs, batch, height, width, channels), and their gradients.

The maximum remembers which of its nine pixels it took, the first of equal ones as PyTorch does; the
average counts no padding. Gradients gather, so that no two programs write to one pixel.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, max_pool2d

from xnas.kernels.language import compiles_for, kernel, parts, power_of_two, tl

BLOCK = 2048


def max_pool(x: Tensor, *, stride: int, out: Tensor) -> Tensor:
    """Put maxima into `out`; gives the place (0 to 8) of each in its window, for the gradient."""
    taken = torch.empty(out.shape, dtype=torch.uint8, device=x.device)
    if compiles_for(x):
        _launch(x, out, taken, stride, largest=True)
    else:
        found, places = plain_max_pool(x, stride)
        out.copy_(found)
        taken.copy_(places)
    return taken


def average_pool(x: Tensor, *, stride: int, out: Tensor) -> None:
    """Put means over the pixels that exist into `out`."""
    if compiles_for(x):
        _launch(x, out, out, stride, largest=False)
    else:
        out.copy_(_last(avg_pool2d(_first(x), 3, stride, 1, count_include_pad=False), x))


def max_pool_gradient(gradient: Tensor, taken: Tensor, *, stride: int, into: Tensor) -> None:
    """Add the gradient of each maximum to the pixel it took."""
    if compiles_for(gradient):
        _launch_gradient(gradient, taken, into, stride, largest=True)
        return
    for tap in range(9):
        _scatter(gradient.where(taken == tap, 0), tap, stride, into)


def average_pool_gradient(gradient: Tensor, *, stride: int, into: Tensor) -> None:
    """Add the gradient of each mean to its pixels, in equal parts."""
    if compiles_for(gradient):
        _launch_gradient(gradient, gradient, into, stride, largest=False)
        return
    ones = torch.ones_like(into[:1, :1])
    count = _last(avg_pool2d(_first(ones), 3, stride, 1, divisor_override=1), ones)
    for tap in range(9):
        _scatter(gradient / count, tap, stride, into)


def plain_max_pool(x: Tensor, stride: int) -> tuple[Tensor, Tensor]:
    """The twin of `max_pool`."""
    found, flat = max_pool2d(_first(x), 3, stride, 1, return_indices=True)
    height, width = found.shape[-2:]
    rows = flat // x.shape[3] - torch.arange(height, device=x.device)[:, None] * stride + 1
    columns = flat % x.shape[3] - torch.arange(width, device=x.device) * stride + 1
    return _last(found, x), _last(3 * rows + columns, x)


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


def _first(x: Tensor) -> Tensor:
    """Channels first, as PyTorch's pools want them; contiguous, where their gradients are right."""
    return x.flatten(0, 1).permute(0, 3, 1, 2).contiguous()


def _last(images: Tensor, like: Tensor) -> Tensor:
    last = images.permute(0, 2, 3, 1)
    return last.reshape(*like.shape[:2], *last.shape[1:])


def _launch(x: Tensor, out: Tensor, taken: Tensor, stride: int, *, largest: bool) -> None:
    inputs, batch, out_height, out_width, channels = out.shape
    block_c = min(64, power_of_two(channels))
    block_m = BLOCK // block_c
    pixels = batch * out_height * out_width
    _pool[(parts(pixels, block_m), inputs, parts(channels, block_c))](
        x,
        out,
        taken,
        pixels,
        height=x.shape[2],
        width=x.shape[3],
        out_height=out_height,
        out_width=out_width,
        channels=channels,
        stride=stride,
        largest=largest,
        block_m=block_m,
        block_c=block_c,
    )


def _launch_gradient(
    gradient: Tensor, taken: Tensor, into: Tensor, stride: int, *, largest: bool
) -> None:
    inputs, batch, height, width, channels = into.shape
    block_c = min(64, power_of_two(channels))
    block_m = BLOCK // block_c
    pixels = batch * height * width
    _pool_gradient[(parts(pixels, block_m), inputs, parts(channels, block_c))](
        gradient,
        taken,
        into,
        pixels,
        height=height,
        width=width,
        out_height=gradient.shape[2],
        out_width=gradient.shape[3],
        channels=channels,
        stride=stride,
        largest=largest,
        block_m=block_m,
        block_c=block_c,
    )


@kernel(numbers=["pixels", "height", "width", "out_height", "out_width"])
def _pool(
    x,
    out,
    taken,
    pixels,
    height,
    width,
    out_height,
    out_width,
    channels: tl.constexpr,
    stride: tl.constexpr,
    largest: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    m = tl.program_id(0) * block_m + tl.arange(0, block_m)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    image = m // (out_height * out_width)
    top = (m // out_width % out_height) * stride - 1
    left = (m % out_width) * stride - 1
    inside = (m < pixels)[:, None] & (c < channels)[None, :]
    which = tl.program_id(1).to(tl.int64)
    begin = which * (pixels // (out_height * out_width)) * (height * width * channels)
    best = tl.full((block_m, block_c), float("-inf"), tl.float32)
    begins = 3 * (top < 0).to(tl.int32) + (left < 0).to(tl.int32)  # the first pixel that exists
    place_of_best = tl.zeros((block_m, block_c), tl.int32) + begins[:, None]
    total = tl.zeros((block_m, block_c), tl.float32)
    count = tl.zeros((block_m,), tl.float32)
    for tap in tl.static_range(9):
        y = top + tap // 3
        z = left + tap % 3
        there = (y >= 0) & (y < height) & (z >= 0) & (z < width)
        place = ((image * height + y) * width + z) * channels
        known = inside & there[:, None]
        value = tl.load(x + begin + place[:, None] + c[None, :], mask=known, other=0.0).to(tl.float32)
        if largest:
            better = known & ((value > best) | (value != value))  # noqa: PLR0124 - NaN
            best = tl.where(better, value, best)
            place_of_best = tl.where(better, tap, place_of_best)
        else:
            total += value
            count += there.to(tl.float32)
    end = which * pixels * channels + m[:, None] * channels + c[None, :]
    if largest:
        tl.store(out + end, best, mask=inside)
        tl.store(taken + end, place_of_best.to(tl.uint8), mask=inside)
    else:
        tl.store(out + end, total / count[:, None], mask=inside)


@kernel(numbers=["pixels", "height", "width", "out_height", "out_width"])
def _pool_gradient(
    gradient,
    taken,
    into,
    pixels,
    height,
    width,
    out_height,
    out_width,
    channels: tl.constexpr,
    stride: tl.constexpr,
    largest: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    m = tl.program_id(0) * block_m + tl.arange(0, block_m)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    image = m // (height * width)
    row, column = m // width % height, m % width
    inside = (m < pixels)[:, None] & (c < channels)[None, :]
    which = tl.program_id(1).to(tl.int64)
    begin = which * (pixels // (height * width)) * (out_height * out_width * channels)
    total = tl.zeros((block_m, block_c), tl.float32)
    for tap in tl.static_range(9):
        y = row + 1 - tap // 3
        z = column + 1 - tap % 3
        there = (y >= 0) & (y < out_height * stride) & (z >= 0) & (z < out_width * stride)
        if stride > 1:
            there = there & (y % stride == 0) & (z % stride == 0)
        place = ((image * out_height + y // stride) * out_width + z // stride) * channels
        known = inside & there[:, None]
        place = begin + place[:, None] + c[None, :]
        flow = tl.load(gradient + place, mask=known, other=0.0).to(tl.float32)
        if largest:
            took = tl.load(taken + place, mask=known, other=255) == tap
            total += tl.where(took, flow, 0.0)
        else:
            high = tl.minimum(y + 2, height) - tl.maximum(y - 1, 0)
            wide = tl.minimum(z + 2, width) - tl.maximum(z - 1, 0)
            share = 1.0 / tl.maximum(high * wide, 1).to(tl.float32)
            total += flow * share[:, None]
    place = which * pixels * channels + m[:, None] * channels + c[None, :]
    before = tl.load(into + place, mask=inside, other=0.0)
    tl.store(into + place, before + total, mask=inside)
