"""Concatenation of the states of a cell, and the sum of the gradients of one state, in one pass each.

A state is (pixels, channels). What several edges read gets a gradient from each of them; those that come
from the cell's output are some channels of wider rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor

from xnas.kernels.blocks import from_the_beginning, lane_width, parts
from xnas.kernels.language import compiles_for, kernel, tl

T = TypeVar("T")

AT_ONCE = 4  # tensors
ROWS = 512  # lanes of a program


def join(states: Sequence[Tensor]) -> Tensor:
    """Contiguous states of one shape, side by side (pixels, states x channels)."""
    if not compiles_for(states[0]):
        return plain_join(states)
    pixels, channels = states[0].shape
    out = states[0].new_empty(pixels, len(states) * channels)
    lane = lane_width(channels)
    for start in range(0, len(states), AT_ONCE):
        some = states[start : start + AT_ONCE]
        _join[(parts(pixels * (channels // lane), ROWS), len(some))](
            *_filled(some),
            out,
            pixels,
            start,
            channels=channels,
            row=out.shape[1],
            lane=lane,
            rows=ROWS,
        )
    return out


def plain_join(states: Sequence[Tensor]) -> Tensor:
    """The plain PyTorch version of `join`."""
    return torch.cat(list(states), 1)


def total(gradients: Sequence[Tensor]) -> Tensor:
    """The sum of tensors (pixels, channels) whose rows may lie apart, rounded once for every few."""
    first, *rest = gradients
    if not rest:
        return first
    if not compiles_for(first):
        return plain_total(gradients)
    while rest:
        some, rest = [first, *rest[: AT_ONCE - 1]], rest[AT_ONCE - 1 :]
        first = _launch_total(some)
    return first


def plain_total(gradients: Sequence[Tensor]) -> Tensor:
    """The plain PyTorch version of `total`."""
    first = gradients[0]
    wide = torch.promote_types(first.dtype, torch.float32)
    return torch.stack([gradient.to(wide) for gradient in gradients]).sum(0).to(first.dtype)


def _launch_total(gradients: Sequence[Tensor]) -> Tensor:
    pixels, channels = gradients[0].shape
    out = gradients[0].new_empty(pixels, channels)
    offsets, rows = [int(g.storage_offset()) for g in gradients], [g.stride(0) for g in gradients]
    lane = lane_width(channels, *offsets, *rows)
    names = "row_a", "row_b", "row_c", "row_d"
    _total[(parts(pixels * (channels // lane), ROWS),)](
        *_filled([from_the_beginning(gradient) for gradient in gradients]),
        *_filled([offset // lane for offset in offsets]),
        out,
        pixels,
        **dict(zip(names, _filled([row // lane for row in rows]), strict=True)),
        count=len(gradients),
        channels=channels,
        lane=lane,
        rows=ROWS,
    )
    return out


def _filled(some: Sequence[T]) -> list[T]:
    """As many as a kernel takes; those that it does not read are like the first."""
    return [*some, *[some[0]] * (AT_ONCE - len(some))]


@kernel(numbers=["pixels", "start"])
def _join(
    a,
    b,
    c,
    d,
    out,
    pixels,
    start,
    channels: tl.constexpr,
    row: tl.constexpr,
    lane: tl.constexpr,
    rows: tl.constexpr,
):
    groups: tl.constexpr = channels // lane
    which = tl.program_id(1)
    state = a
    if which == 1:
        state = b
    if which == 2:
        state = c
    if which == 3:
        state = d
    r = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
    m = (r // groups)[:, None]
    channel = ((r % groups) * lane)[:, None] + tl.arange(0, lane)[None, :]
    value = tl.load(state + m * channels + channel, mask=m < pixels, other=0.0)
    tl.store(out + m * row + (start + which) * channels + channel, value, mask=m < pixels)


@kernel(numbers=["pixels", "first_a", "first_b", "first_c", "first_d"])
def _total(
    a,
    b,
    c,
    d,
    first_a,
    first_b,
    first_c,
    first_d,
    out,
    pixels,
    row_a: tl.constexpr,
    row_b: tl.constexpr,
    row_c: tl.constexpr,
    row_d: tl.constexpr,
    count: tl.constexpr,
    channels: tl.constexpr,
    lane: tl.constexpr,
    rows: tl.constexpr,
):
    groups: tl.constexpr = channels // lane
    r = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
    m = (r // groups)[:, None]
    inside = m < pixels
    channel = ((r % groups) * lane)[:, None] + tl.arange(0, lane)[None, :]
    value = tl.load(a + (m * row_a + first_a) * lane + channel, mask=inside, other=0.0).to(tl.float32)
    value += tl.load(b + (m * row_b + first_b) * lane + channel, mask=inside, other=0.0)
    if count > 2:
        value += tl.load(c + (m * row_c + first_c) * lane + channel, mask=inside, other=0.0)
    if count > 3:
        value += tl.load(d + (m * row_d + first_d) * lane + channel, mask=inside, other=0.0)
    tl.store(out + m * channels + channel, value, mask=inside)
