"""Batch norm and weighted sum of many slots in one pass, and the rewards with its gradient.

`advice` (slots, pixels, channels) holds what experts computed, before their batch norm. A term is one
expert on one edge: it takes the advice of a `slot`, normalised by that slot's moments, with a weight.
Terms of one node are added up (`mix`). Backwards, the inner product of the node's gradient with the
normalised advice is needed twice: it is the reward of the term, negated, and it is what batch norm's
own gradient needs; `inner_products` computes it once. A slot without a batch norm has mean 0 and scale
1, and its terms have `held` False: nothing flows through its statistics.

Memory is all that these kernels wait for. A program looks up its term or lane once, then goes through
many blocks of pixels; `aligned` tells the compiler what it cannot see of run-time strides, so that a
thread reads 16 bytes at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import torch
from torch import Tensor

from xnas.kernels.language import compiles_for, inside, kernel, parts, power_of_two, tl
from xnas.kernels.moments import Moments
from xnas.kernels.sums import add_up

BLOCK = 2048  # numbers a program computes at a time
SUMS_BLOCK = 4096
PROGRAMS = 660  # of a launch: 5 on each of the 132 multiprocessors of an H200, side by side
SUMS_PROGRAMS = 396  # 3 on each, twice as large


@dataclass(frozen=True, slots=True)
class Lanes:
    """Slots and the terms that read them: those of lane i are terms[first[i] : first[i + 1]]."""

    slots: Tensor
    first: Tensor
    terms: Tensor


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
        block_c = columns(channels)
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


def columns(channels: int) -> int:
    """How many channels a program takes: a power of two; of 64 and 32 the one that wastes less."""
    if channels <= 32:
        return power_of_two(channels)
    return min(64, 32, key=lambda width: parts(channels, width) * width)


def alignment(*tensors: Tensor, steps: tuple[int, ...]) -> int:
    """How many bytes, 16 at most, divide every address that is whole steps away from the tensors."""
    addresses = (tensor.data_ptr() for tensor in tensors)
    return gcd(16, *addresses, *(step * tensors[0].element_size() for step in steps))


def plain_mix(advice: Tensor, moments: Moments, slots: Tensor, weights: Tensor) -> Tensor:
    """The twin of `mix`."""
    total = advice.new_zeros(advice.shape[1:], dtype=moments.mean.dtype)
    for slot, weight in zip(slots.tolist(), weights, strict=True):
        total += weight * (advice[slot] - moments.mean[slot]) * moments.scale[slot]
    return total


def inner_products(
    gradients: Tensor, advice: Tensor, moments: Moments, *, targets: Tensor, slots: Tensor, out: Tensor
) -> None:
    """Put Σ G and Σ G · normalised advice over the pixels into `out` (terms, 2, channels).

    Term i goes into the node `targets[i]`, whose gradient G stands in `gradients` (nodes, pixels,
    channels), with the advice of `slots[i]`. Rows of a gradient may lie apart.
    """
    if not len(out):
        return
    if compiles_for(advice):
        launch_inner_products(gradients, advice, moments, targets, slots, out)
    else:
        plain_inner_products(gradients, advice, moments, targets, slots, out)


def plain_inner_products(
    gradients: Tensor, advice: Tensor, moments: Moments, targets: Tensor, slots: Tensor, out: Tensor
) -> None:
    """The twin of `inner_products`."""
    for term, (target, slot) in enumerate(zip(targets.tolist(), slots.tolist(), strict=True)):
        flow = gradients[target].to(out.dtype)
        normalized = (advice[slot] - moments.mean[slot]) * moments.scale[slot]
        out[term, 0] = flow.sum(0)
        out[term, 1] = (flow * normalized).sum(0)


def launch_inner_products(
    gradients: Tensor, advice: Tensor, moments: Moments, targets: Tensor, slots: Tensor, out: Tensor
) -> None:
    """The kernel of `inner_products`: sums of a program's blocks, added up in a fixed order."""
    pixels, channels = gradients.shape[1:]
    block_c = columns(channels)
    block_m = SUMS_BLOCK // block_c
    others = len(slots) * parts(channels, block_c)
    shares = min(parts(pixels, block_m), max(1, SUMS_PROGRAMS // others))
    partial = advice.new_empty(shares, *out.shape, dtype=torch.float32)
    _inner_products[(shares, len(slots), parts(channels, block_c))](
        gradients,
        advice,
        moments.mean,
        moments.scale,
        targets,
        slots,
        partial,
        pixels,
        gradients.stride(0),
        row=gradients.stride(1),
        aligned=alignment(gradients, steps=(*gradients.stride()[:2], channels)),
        channels=channels,
        block_m=block_m,
        block_c=block_c,
        num_warps=8,
    )
    add_up(partial, out)


def advice_gradient(
    gradients: Tensor,
    advice: Tensor,
    moments: Moments,
    lanes: Lanes,
    *,
    targets: Tensor,
    weights: Tensor,
    products: Tensor,
    held: bool,
    out: Tensor,
) -> None:
    """Put what flows back along each lane, through batch norm if `held`, into `out`.

    `out` is (lanes, pixels, channels). Each term of a lane has a node in `targets`, whose gradient
    stands in `gradients` (nodes, pixels, channels), a weight, and its inner `products`. Rows of a
    gradient may lie apart.
    """
    if not len(out):
        return
    slots, first, terms = lanes.slots, lanes.first, lanes.terms
    if not compiles_for(advice):
        out.copy_(
            plain_advice_gradient(
                gradients, advice, moments, slots, first, terms, targets, weights, products, held=held
            )
        )
        return
    pixels, channels = gradients.shape[1:]
    block_c = columns(channels)
    block_m = BLOCK // block_c
    others = len(out) * parts(channels, block_c)
    shares = min(parts(pixels, block_m), max(1, PROGRAMS // others))
    _advice_gradient[(shares, len(out), parts(channels, block_c))](
        gradients,
        advice,
        moments.mean,
        moments.scale,
        slots,
        first,
        terms,
        targets,
        weights,
        products,
        out,
        pixels,
        gradients.stride(0),
        row=gradients.stride(1),
        aligned=alignment(gradients, steps=(*gradients.stride()[:2], channels)),
        channels=channels,
        held=held,
        block_m=block_m,
        block_c=block_c,
    )


def plain_advice_gradient(
    gradients: Tensor,
    advice: Tensor,
    moments: Moments,
    slots: Tensor,
    first: Tensor,
    terms: Tensor,
    targets: Tensor,
    weights: Tensor,
    products: Tensor,
    *,
    held: bool,
) -> Tensor:
    """The twin of `advice_gradient`."""
    flows = []
    for index, slot in enumerate(slots.tolist()):
        mine = terms[int(first[index]) : int(first[index + 1])].long()
        weight = weights[mine].to(moments.mean.dtype)
        flow = torch.einsum("t,tpc->pc", weight, gradients[targets[mine].long()].to(weight))
        if held:
            sums = torch.einsum("t,tsc->sc", weight, products[mine].to(weight)) / advice.shape[1]
            normalized = (advice[slot] - moments.mean[slot]) * moments.scale[slot]
            flow = moments.scale[slot] * (flow - sums[0] - normalized * sums[1])
        flows.append(flow)
    return torch.stack(flows)


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
    m = tl.program_id(0) * block_m + tl.arange(0, block_m)
    c = tl.program_id(1) * block_c + tl.arange(0, block_c)
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


@kernel(numbers=["pixels", "node"], tables=["mean", "scale", "targets", "slots"])
def _inner_products(
    gradients,
    advice,
    mean,
    scale,
    targets,
    slots,
    partial,
    pixels,
    node,
    row: tl.constexpr,
    aligned: tl.constexpr,
    channels: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    share, term = tl.program_id(0), tl.program_id(1)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    known = c < channels
    slot = tl.load(slots + term).to(tl.int64)
    begin = tl.load(targets + term).to(tl.int64) * node
    middle = tl.load(mean + slot * channels + c, mask=known, other=0.0)
    factor = tl.load(scale + slot * channels + c, mask=known, other=0.0)
    alone = tl.zeros((block_m, block_c), tl.float32)
    along = tl.zeros((block_m, block_c), tl.float32)
    for start in range(share * block_m, pixels, tl.num_programs(0) * block_m):
        m = start + tl.arange(0, block_m)
        there = (m < pixels)[:, None] & known[None, :]
        place = tl.multiple_of(gradients + begin + m[:, None] * row + c[None, :], (1, aligned))
        flow = tl.load(place, mask=there, other=0.0).to(tl.float32)
        place = (slot * pixels + m)[:, None] * channels + c[None, :]
        value = tl.load(advice + place, mask=there, other=0.0).to(tl.float32)
        alone += flow
        along += flow * (value - middle[None, :])
    place = partial + (share * tl.num_programs(1) + term).to(tl.int64) * 2 * channels + c
    tl.store(place, tl.sum(alone, 0), mask=known)
    tl.store(place + channels, tl.sum(along, 0) * factor, mask=known)


@kernel(
    numbers=["pixels", "node"],
    tables=["mean", "scale", "slots", "first", "terms", "targets", "weights", "products"],
)
def _advice_gradient(
    gradients,
    advice,
    mean,
    scale,
    slots,
    first,
    terms,
    targets,
    weights,
    products,
    out,
    pixels,
    node,
    row: tl.constexpr,
    aligned: tl.constexpr,
    channels: tl.constexpr,
    held: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    index = tl.program_id(1)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    known = c < channels
    plane = tl.full((), channels, tl.int64) * pixels
    begin, end = tl.load(first + index), tl.load(first + index + 1)
    if held:
        slot = tl.load(slots + index).to(tl.int64)
        middle = tl.load(mean + slot * channels + c, mask=known, other=0.0)
        factor = tl.load(scale + slot * channels + c, mask=known, other=0.0)
        alone = tl.zeros((block_c,), tl.float32)
        along = tl.zeros((block_c,), tl.float32)
        for number in range(begin, end):
            term = tl.load(terms + number)
            weight = tl.load(weights + term).to(tl.float32)
            alone += weight * tl.load(products + term * 2 * channels + c, mask=known, other=0.0)
            along += weight * tl.load(products + (term * 2 + 1) * channels + c, mask=known, other=0.0)
        alone /= pixels
        along = along / pixels * factor
    for start in range(tl.program_id(0) * block_m, pixels, tl.num_programs(0) * block_m):
        m = start + tl.arange(0, block_m)
        there = (m < pixels)[:, None] & known[None, :]
        place = m[:, None] * channels + c[None, :]
        if held:  # on its way before the terms are looked up
            value = tl.load(advice + slot * plane + place, mask=there, other=0.0).to(tl.float32)
        flow = tl.zeros((block_m, block_c), tl.float32)
        for number in range(begin, end):
            term = tl.load(terms + number)
            weight = tl.load(weights + term).to(tl.float32)
            source = gradients + tl.load(targets + term).to(tl.int64) * node
            source = tl.multiple_of(source + m[:, None] * row + c[None, :], (1, aligned))
            flow += weight * tl.load(source, mask=there, other=0.0).to(tl.float32)
        if held:
            flow = flow - alone[None, :] - (value - middle[None, :]) * along[None, :]
            flow *= factor[None, :]
        tl.store(out + index * plane + place, flow, mask=there)
