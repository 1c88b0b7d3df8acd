"""Pointwise convolutions of many slots: a matrix product per slot, with the moments of its result.

Inputs are (slots, pixels, channels), weights (slots, channels in, channels out). Slots may lie side by
side: of inputs or results that are fewer than the weights, a row holds the channels of several slots in
turn. Or several slots read the same input: which of them, `planes` (slots) says.

Batch statistics are gathered while results are still in registers, as a mean and a sum of squares about
it for each program's pixels, which add up without cancellation.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.kernels.blocks import parts, power_of_two
from xnas.kernels.language import compiles_for, inside, kernel, tl
from xnas.kernels.moments import Moments, combine_moments, plain_moments

PROGRAMS = 396  # three for each multiprocessor of an H200


def pointwise(
    x: Tensor, weight: Tensor, *, gate: Tensor | None = None, out: Tensor | None = None
) -> Tensor:
    """Products (slots, pixels, channels out), 0 where a `gate` of that shape is not positive.

    `weight` may be a transposed view.
    """
    if out is None:
        out = x.new_empty(len(weight), x.shape[1], weight.shape[2])
    if len(x) and compiles_for(x):
        launch_pointwise(x, weight, out, gate=gate)
    elif len(x):
        product = plain_pointwise(x, weight)
        product = product if gate is None else torch.where(gate > 0, product, 0.0)
        out.copy_(_side_by_side(product, len(out)))
    return out


def pointwise_with_moments(
    x: Tensor,
    weight: Tensor,
    *,
    planes: Tensor | None = None,
    relu: bool = False,
    out: Tensor,
    into: Moments,
) -> None:
    """Products with `x` or its ReLU, and for each slot and channel their mean and 1 / deviation.

    Moments lie side by side as results do.
    """
    if not len(x):
        return
    if compiles_for(x):
        rows, turns = _rows(x, weight)
        blocks = parts(x.shape[1], turns * rows)
        partial = x.new_empty(len(weight), blocks, 2, weight.shape[2], dtype=torch.float32)
        launch_pointwise(x, weight, out, planes=planes, partial=partial, relu=relu)
        combine_moments(partial, x.shape[1], turns * rows, into)
    else:
        product = plain_pointwise(x.relu() if relu else x, weight, planes)
        out.copy_(_side_by_side(product, len(out)))
        plain_moments(out, into)


def plain_pointwise(x: Tensor, weight: Tensor, planes: Tensor | None = None) -> Tensor:
    """The plain PyTorch version of `pointwise`, whose results have slots of their own."""
    x = slots_of(x, len(weight)) if planes is None else x[planes.long()]
    return torch.bmm(x, weight.to(x.dtype))


def slots_of(x: Tensor, slots: int) -> Tensor:
    """(slots, pixels, channels), of slots that may lie side by side."""
    _, pixels, row = x.shape
    together = slots // len(x)
    return x.view(-1, pixels, together, row // together).transpose(1, 2).flatten(0, 1)


def _side_by_side(x: Tensor, planes: int) -> Tensor:
    """The inverse of `slots_of`."""
    return x.view(planes, -1, *x.shape[1:]).transpose(1, 2).flatten(2)


def launch_pointwise(
    x: Tensor,
    weight: Tensor,
    out: Tensor,
    *,
    planes: Tensor | None = None,
    partial: Tensor | None = None,
    gate: Tensor | None = None,
    relu: bool = False,
) -> None:
    """The kernel of `pointwise`; `partial` receives a mean and a sum of squares per program."""
    pixels = x.shape[1]
    slots, channels, outputs = weight.shape
    block_k, several = _depth(x, channels)
    if channels > block_k:
        weight = weight.to(x.dtype)  # so that tensor cores take it from where a pipeline puts it
    if not weight.is_contiguous() and not weight.mT.is_contiguous():
        weight = weight.contiguous()
    block_n, block_rest = _columns(outputs)
    block_m, turns = _rows(x, weight)
    columns = parts(outputs, block_n + block_rest)
    _product[(parts(pixels, turns * block_m), slots, columns)](
        x,
        weight,
        out,
        out if partial is None else partial,
        out if gate is None else gate,
        out if planes is None else planes,
        pixels,
        turns,
        planned=planes is not None,
        read_together=slots // len(x) if planes is None else 1,
        written_together=slots // len(out),
        channels=channels,
        outputs=outputs,
        transposed=not weight.is_contiguous(),
        moments=partial is not None,
        gated=gate is not None,
        relu=relu,
        block_m=block_m,
        block_n=block_n,
        block_rest=block_rest,
        block_k=block_k,
        several=several,
        num_stages=4 if several and block_n < 64 else 3,
    )


def _depth(x: Tensor, channels: int) -> tuple[int, bool]:
    """Channels of a step, and whether a program takes several blocks of pixels in turn.

    It does if all channels fit into a step, so that it can hold the weights; there, registers also have
    to suffice for moments. Numbers of 32 bits are multiplied without tensor cores, from registers.
    """
    whole = max(16, power_of_two(channels))
    if x.element_size() > 2:
        return min(32, whole), whole <= 32
    return whole if whole <= 128 else 64, whole <= 64


def _columns(outputs: int) -> tuple[int, int]:
    """Channels of a program, in two blocks of which the second may be empty.

    Little is left over, and images are read few times.
    """
    choices = [(64, 0), (64, 16), (32, 16), (32, 0), (16, 0)]
    return min(choices, key=lambda choice: parts(outputs, sum(choice)) * (sum(choice) + 8))


def _rows(x: Tensor, weight: Tensor) -> tuple[int, int]:
    """Pixels of a block, and how many blocks a program takes: with slots, only the latter changes."""
    pixels = x.shape[1]
    slots, channels, outputs = weight.shape
    width = sum(_columns(outputs))
    if not _depth(x, channels)[1]:
        return 128 if width <= 64 and pixels >= 128 * PROGRAMS else 64, 1
    rows = max(64, 2048 // width)
    blocks = parts(pixels, rows) * slots * parts(outputs, width)
    return rows, max(1, parts(blocks, PROGRAMS if width >= 64 else 4 * PROGRAMS // 3))


@kernel(numbers=["pixels", "turns"], tables=["planes"])
def _product(
    x,
    weight,
    out,
    partial,
    gate,
    planes,
    pixels,
    turns,
    planned: tl.constexpr,
    read_together: tl.constexpr,
    written_together: tl.constexpr,
    channels: tl.constexpr,
    outputs: tl.constexpr,
    transposed: tl.constexpr,
    moments: tl.constexpr,
    gated: tl.constexpr,
    relu: tl.constexpr,
    block_m: tl.constexpr,
    block_n: tl.constexpr,
    block_rest: tl.constexpr,
    block_k: tl.constexpr,
    several: tl.constexpr,
):
    block, slot = tl.program_id(0), tl.program_id(1)
    held: tl.constexpr = channels <= block_k  # the weights, in one step
    first = tl.program_id(2) * (block_n + block_rest)
    n = first + tl.arange(0, block_n)
    weight += slot.to(tl.int64) * channels * outputs
    plane = (tl.load(planes + slot) if planned else slot // read_together).to(tl.int64)
    x += slot % read_together * channels
    out_plane = (slot // written_together).to(tl.int64)
    out += slot % written_together * outputs
    row, lane = tl.arange(0, block_m), tl.arange(0, block_k)
    dtype: tl.constexpr = x.dtype.element_ty
    mean = tl.zeros((block_m, block_n), tl.float32)
    squares = mean
    if held:
        factor = _weights(weight, lane, n, channels, outputs, transposed, dtype)
    if block_rest:
        n_rest = first + block_n + tl.arange(0, block_rest)
        mean_rest = tl.zeros((block_m, block_rest), tl.float32)
        squares_rest = mean_rest
        if held:
            factor_rest = _weights(weight, lane, n_rest, channels, outputs, transposed, dtype)
    for turn in range(turns if several else 1):
        start = (block * turns + turn) * block_m
        known = start + row < pixels
        begin = slot.to(tl.int64) * pixels + start
        here = x + (plane * pixels + start) * (read_together * channels)
        there = out + (out_plane * pixels + start) * (written_together * outputs)
        gates = _gates(gate, begin, row, n, known, outputs, gated)
        total = tl.zeros((block_m, block_n), tl.float32)
        if block_rest:
            gates_rest = _gates(gate, begin, row, n_rest, known, outputs, gated)
            rest = tl.zeros((block_m, block_rest), tl.float32)
        if held:
            value = _images(here, row, lane, known, channels, read_together, relu)
            total = tl.dot(value, factor, total, input_precision="ieee")
            if block_rest:
                rest = tl.dot(value, factor_rest, rest, input_precision="ieee")
        else:
            for below in range(0, channels, block_k):
                k = below + lane
                value = _images(here, row, k, known, channels, read_together, relu)
                factor = _weights(weight, k, n, channels, outputs, transposed, dtype)
                total = tl.dot(value, factor, total, input_precision="ieee")
                if block_rest:
                    factor = _weights(weight, k, n_rest, channels, outputs, transposed, dtype)
                    rest = tl.dot(value, factor, rest, input_precision="ieee")
        value = _write(there, row, n, known, total, gates, outputs, written_together, gated)
        if moments:
            mean, squares = _follow(value, mean, squares, known, turn, several)
        if block_rest:
            value = _write(there, row, n_rest, known, rest, gates_rest, outputs, written_together, gated)
            if moments:
                mean_rest, squares_rest = _follow(value, mean_rest, squares_rest, known, turn, several)
    if moments:
        left = pixels - block * turns * block_m
        place = partial + (slot.to(tl.int64) * tl.num_programs(0) + block) * 2 * outputs
        _store_moments(place, n, mean, squares, row, left, turns, outputs, block_m, several)
        if block_rest:
            _store_moments(
                place, n_rest, mean_rest, squares_rest, row, left, turns, outputs, block_m, several
            )


@inside
def _images(x, row, k, known, channels: tl.constexpr, together: tl.constexpr, relu: tl.constexpr):
    """Some channels of a block of pixels, or their ReLU."""
    value = tl.load(
        x + row[:, None] * (together * channels) + k[None, :],
        mask=known[:, None] & (k < channels)[None, :],
        other=0.0,
    )
    if relu:
        value = tl.where(value < 0, 0.0, value).to(value.dtype)
    return value


@inside
def _weights(
    weight,
    k,
    n,
    channels: tl.constexpr,
    outputs: tl.constexpr,
    transposed: tl.constexpr,
    dtype: tl.constexpr,
):
    """The weights that lead from some channels to others, in the type of the images."""
    place = n[None, :] * channels + k[:, None] if transposed else k[:, None] * outputs + n[None, :]
    known = (k < channels)[:, None] & (n < outputs)[None, :]
    return tl.load(weight + place, mask=known, other=0.0).to(dtype)


@inside
def _gates(gate, begin, row, n, known, outputs: tl.constexpr, gated: tl.constexpr):
    """Loaded before the products, to arrive meanwhile."""
    if gated:
        place = gate + begin * outputs + row[:, None] * outputs + n[None, :]
        there = known[:, None] & (n < outputs)[None, :]
        found = tl.load(place, mask=there, other=0.0) > 0
    else:
        found = known[:, None]
    return found


@inside
def _write(
    out,
    row,
    n,
    known,
    total,
    gates,
    outputs: tl.constexpr,
    together: tl.constexpr,
    gated: tl.constexpr,
):
    """Store products; gives them as they are stored."""
    if gated:
        total = tl.where(gates, total, 0.0)
    value = total.to(out.dtype.element_ty)
    place = out + row[:, None] * (together * outputs) + n[None, :]
    tl.store(place, value, mask=known[:, None] & (n < outputs)[None, :])
    return value


@inside
def _follow(value, mean, squares, known, turn, several: tl.constexpr):
    """Mean of every row of the blocks and squares about it, one more block seen: Welford's rule."""
    value = value.to(tl.float32)
    if several:
        apart = tl.where(known[:, None], value - mean, 0.0)
        mean += apart * (1.0 / (turn + 1))
        squares += apart * (value - mean)
    else:
        mean = value
    return mean, squares


@inside
def _store_moments(
    place,
    n,
    mean,
    squares,
    row,
    left,
    turns,
    outputs: tl.constexpr,
    block_m: tl.constexpr,
    several: tl.constexpr,
):
    """Mean and squares of all rows; the last rows may have seen a block less, or none."""
    if several:
        seen = tl.where(row < left, tl.minimum(turns, (left - row + block_m - 1) // block_m), 0)
        seen = seen.to(tl.float32)[:, None]
        middle = tl.sum(mean * seen, 0) / tl.minimum(turns * block_m, left)
        apart = mean - middle[None, :]
        squares += seen * apart * apart
    else:
        known = (row < left)[:, None]
        middle = tl.sum(tl.where(known, mean, 0.0), 0) / tl.minimum(block_m, left)
        apart = tl.where(known, mean - middle[None, :], 0.0)
        squares = apart * apart
    tl.store(place + n, middle, mask=n < outputs)
    tl.store(place + outputs + n, tl.sum(squares, 0), mask=n < outputs)
