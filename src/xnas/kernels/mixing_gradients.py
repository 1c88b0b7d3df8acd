"""Backward kernels of `mixing`: inner products of terms, and gradients of advice.

The inner product of a node's gradient with the normalised advice of a term is needed twice: it is the
reward of the term, negated, and it is what batch norm's own gradient needs; `term_products` computes it
once. Terms are those of `mixing`. A slot without a batch norm has no statistics for a gradient to pass
through: it is not `held`.

Memory is all that these kernels wait for. A program looks up its terms or its slot once, then goes
through many blocks of pixels. Several terms share what it reads of their node's gradient; most slots
have one term, whose gradient is asked for together with the advice. `aligned` tells the compiler what it
cannot see of run-time strides, so that a thread reads 16 bytes at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from xnas.kernels.blocks import alignment, channel_block, parts
from xnas.kernels.language import compiles_for, inside, kernel, tl
from xnas.kernels.mixing import BLOCK
from xnas.kernels.moments import Moments
from xnas.kernels.sums import add_up

PROGRAMS = 1980  # of a launch: slots have different numbers of terms, and many programs even it out
TOGETHER = 4  # terms whose inner products a program computes
SUMS_PROGRAMS = 264  # 2 on each multiprocessor of an H200, twice as large as others


@dataclass(frozen=True, slots=True)
class Readers:
    """Slots and the terms that read them: those of slots[i] are terms[first[i] : first[i + 1]]."""

    slots: Tensor
    first: Tensor
    terms: Tensor


def term_products(
    gradient: Tensor, advice: Tensor, moments: Moments, *, slots: Tensor, out: Tensor
) -> None:
    """Put Σ G and Σ G · normalised advice over the pixels into `out` (terms, 2, channels).

    Term i goes with the advice of `slots[i]` into the node whose gradient G (pixels, channels) is given.
    Rows of the gradient may lie apart.
    """
    if not len(out):
        return
    if compiles_for(advice):
        launch_term_products(gradient, advice, moments, slots, out)
    else:
        plain_term_products(gradient, advice, moments, slots, out)


def plain_term_products(
    gradient: Tensor, advice: Tensor, moments: Moments, slots: Tensor, out: Tensor
) -> None:
    """The plain PyTorch version of `term_products`."""
    flow = gradient.to(out.dtype)
    for term, slot in enumerate(slots.tolist()):
        normalized = (advice[slot] - moments.mean[slot]) * moments.scale[slot]
        out[term, 0] = flow.sum(0)
        out[term, 1] = (flow * normalized).sum(0)


def launch_term_products(
    gradient: Tensor, advice: Tensor, moments: Moments, slots: Tensor, out: Tensor
) -> None:
    """The kernel of `term_products`: sums of a program's blocks, added up in a fixed order."""
    pixels, channels = gradient.shape
    block_c = channel_block(channels, least=32)
    block_m = BLOCK // block_c
    groups = parts(len(slots), TOGETHER)
    others = groups * parts(channels, block_c)
    shares = min(parts(pixels, block_m), max(1, SUMS_PROGRAMS // others))
    partial = advice.new_empty(shares, *out.shape, dtype=torch.float32)
    _term_products[(shares, groups, parts(channels, block_c))](
        gradient,
        advice,
        moments.mean,
        moments.scale,
        slots,
        partial,
        pixels,
        len(slots),
        row=gradient.stride(0),
        aligned=alignment(gradient, steps=(gradient.stride(0), channels)),
        channels=channels,
        together=TOGETHER,
        block_m=block_m,
        block_c=block_c,
        num_warps=8,
    )
    add_up(partial, out)


def advice_gradient(
    gradients: Tensor,
    advice: Tensor,
    moments: Moments,
    readers: Readers,
    *,
    targets: Tensor,
    weights: Tensor,
    products: Tensor,
    held: bool,
    out: Tensor,
) -> None:
    """Put the gradient of each slot of the readers, through batch norm if `held`, into `out`.

    `out` is (slots, pixels, channels). Each term of a slot has a node in `targets`, whose gradient
    stands in `gradients` (nodes, pixels, channels), a weight, and its inner `products`. Rows of a
    gradient may lie apart.
    """
    if not len(out):
        return
    slots, first, terms = readers.slots, readers.first, readers.terms
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
    """The plain PyTorch version of `advice_gradient`."""
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


@kernel(numbers=["pixels", "terms"], tables=["gradient", "mean", "scale", "slots"])
def _term_products(
    gradient,
    advice,
    mean,
    scale,
    slots,
    partial,
    pixels,
    terms,
    row: tl.constexpr,
    aligned: tl.constexpr,
    channels: tl.constexpr,
    together: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    """Terms are the middle dimension: a thread has all of them, at the same places."""
    share = tl.program_id(0)
    term = tl.program_id(1) * together + tl.arange(0, together)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    known = c < channels
    chosen = (term < terms)[:, None] & known[None, :]
    slot = tl.load(slots + term, mask=term < terms, other=0).to(tl.int64)
    place = slot[:, None] * channels + c[None, :]
    middle = tl.load(mean + place, mask=chosen, other=0.0)
    origin = slot[:, None] * pixels * channels + c[None, :]
    alone = tl.zeros((block_m, block_c), tl.float32)
    along = tl.zeros((block_m, together, block_c), tl.float32)
    for start in range(share * block_m, pixels, tl.num_programs(0) * block_m):
        m = start + tl.arange(0, block_m)
        there = (m < pixels)[:, None] & known[None, :]
        source = tl.multiple_of(gradient + m[:, None] * row + c[None, :], (1, aligned))
        flow = tl.load(source, mask=there, other=0.0).to(tl.float32)
        there = (m < pixels)[:, None, None] & chosen[None, :, :]
        value = tl.load(
            advice + (origin[None, :, :] + m[:, None, None] * channels), mask=there, other=0.0
        )
        alone += flow
        along += flow[:, None, :] * (value.to(tl.float32) - middle[None, :, :])
    factor = tl.load(scale + place, mask=chosen, other=0.0)
    place = (share * terms + term).to(tl.int64)[:, None] * 2 * channels + c[None, :]
    sums = tl.broadcast_to(tl.sum(alone, 0)[None, :], (together, block_c))
    tl.store(partial + place, sums, mask=chosen)
    tl.store(partial + place + channels, tl.sum(along, 0) * factor, mask=chosen)


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
    weight, origin, reach = _term(gradients, terms, targets, weights, begin, end, node, pixels)
    if held:
        slot = tl.load(slots + index).to(tl.int64)
        middle = tl.load(mean + slot * channels + c, mask=known, other=0.0)
        factor = tl.load(scale + slot * channels + c, mask=known, other=0.0)
        alone = tl.zeros((block_c,), tl.float32)
        along = tl.zeros((block_c,), tl.float32)
        for number in range(begin, end):
            term = tl.load(terms + number)
            share = tl.load(weights + term).to(tl.float32)
            alone += share * tl.load(products + term * 2 * channels + c, mask=known, other=0.0)
            along += share * tl.load(products + (term * 2 + 1) * channels + c, mask=known, other=0.0)
        alone /= pixels
        along = along / pixels * factor
    for start in range(tl.program_id(0) * block_m, pixels, tl.num_programs(0) * block_m):
        m = start + tl.arange(0, block_m)
        there = (m < pixels)[:, None] & known[None, :]
        place = m[:, None] * channels + c[None, :]
        if held:
            value = tl.load(advice + slot * plane + place, mask=there, other=0.0).to(tl.float32)
        away = m[:, None] * row + c[None, :]
        source = tl.multiple_of(origin + away, (1, aligned))
        lives = (m < reach)[:, None] & known[None, :]
        flow = weight * tl.load(source, mask=lives, other=0.0).to(tl.float32)
        for number in range(begin + 1, end, 3):
            for each in tl.static_range(3):  # their loads overlap
                another, source, reach_of_it = _term(
                    gradients, terms, targets, weights, number + each, end, node, pixels
                )
                source = tl.multiple_of(source + away, (1, aligned))
                lives = (m < reach_of_it)[:, None] & known[None, :]
                flow += another * tl.load(source, mask=lives, other=0.0).to(tl.float32)
        if held:
            flow = flow - alone[None, :] - (value - middle[None, :]) * along[None, :]
            flow *= factor[None, :]
        tl.store(out + index * plane + place, flow, mask=there)


@inside
def _term(gradients, terms, targets, weights, number, end, node, pixels):
    """Weight of a slot's term, where the gradient of its node begins, and its pixels: 0 without it."""
    term = tl.load(terms + number, mask=number < end, other=0)
    weight = tl.load(weights + term, mask=number < end, other=0.0).to(tl.float32)
    target = tl.load(targets + term, mask=number < end, other=0).to(tl.int64)
    return weight, gradients + target * node, tl.where(number < end, pixels, 0)
