"""The way back through weighted sums of experts: inner products of terms, and gradients of advice.

The inner product of a node's gradient with the normalised advice of a term is needed twice: it is the
reward of the term, negated, and it is what batch norm's own gradient needs; `term_products` computes it
once. Terms are those of `mixing`. Nothing flows through the statistics of a slot without a batch norm:
it is not `held`.

Memory is all that these kernels wait for. A program looks up its term or lane once, then goes through
many blocks of pixels; `aligned` tells the compiler what it cannot see of run-time strides, so that a
thread reads 16 bytes at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from xnas.kernels.blocks import alignment, channel_block, parts
from xnas.kernels.language import compiles_for, kernel, tl
from xnas.kernels.mixing import BLOCK, PROGRAMS
from xnas.kernels.moments import Moments
from xnas.kernels.sums import add_up

SUMS_BLOCK = 4096  # numbers a program adds up at a time
SUMS_PROGRAMS = 396  # 3 on each multiprocessor of an H200, twice as large as others


@dataclass(frozen=True, slots=True)
class Lanes:
    """Slots and the terms that read them: those of lane i are terms[first[i] : first[i + 1]]."""

    slots: Tensor
    first: Tensor
    terms: Tensor


def term_products(
    gradients: Tensor, advice: Tensor, moments: Moments, *, targets: Tensor, slots: Tensor, out: Tensor
) -> None:
    """Put Σ G and Σ G · normalised advice over the pixels into `out` (terms, 2, channels).

    Term i goes into the node `targets[i]`, whose gradient G stands in `gradients` (nodes, pixels,
    channels), with the advice of `slots[i]`. Rows of a gradient may lie apart.
    """
    if not len(out):
        return
    if compiles_for(advice):
        launch_term_products(gradients, advice, moments, targets, slots, out)
    else:
        plain_term_products(gradients, advice, moments, targets, slots, out)


def plain_term_products(
    gradients: Tensor, advice: Tensor, moments: Moments, targets: Tensor, slots: Tensor, out: Tensor
) -> None:
    """The twin of `term_products`."""
    for term, (target, slot) in enumerate(zip(targets.tolist(), slots.tolist(), strict=True)):
        flow = gradients[target].to(out.dtype)
        normalized = (advice[slot] - moments.mean[slot]) * moments.scale[slot]
        out[term, 0] = flow.sum(0)
        out[term, 1] = (flow * normalized).sum(0)


def launch_term_products(
    gradients: Tensor, advice: Tensor, moments: Moments, targets: Tensor, slots: Tensor, out: Tensor
) -> None:
    """The kernel of `term_products`: sums of a program's blocks, added up in a fixed order."""
    pixels, channels = gradients.shape[1:]
    block_c = channel_block(channels, least=32)
    block_m = SUMS_BLOCK // block_c
    others = len(slots) * parts(channels, block_c)
    shares = min(parts(pixels, block_m), max(1, SUMS_PROGRAMS // others))
    partial = advice.new_empty(shares, *out.shape, dtype=torch.float32)
    _term_products[(shares, len(slots), parts(channels, block_c))](
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
    block_c = channel_block(channels, least=32)
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


@kernel(numbers=["pixels", "node"], tables=["mean", "scale", "targets", "slots"])
def _term_products(
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
