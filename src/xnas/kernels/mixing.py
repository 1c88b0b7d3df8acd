"""Batch norm and weighted sum of many slots in one pass, and the rewards with its gradient.

`advice` (slots, pixels, channels) holds what experts computed, before their batch norm. A term is one
expert on one edge: it takes the advice of a `slot`, normalised by that slot's moments, with a weight.
Terms of one node are added up (`mix`). Backwards, the inner product of the node's gradient with the
normalised advice is needed twice: it is the reward of the term, negated, and it is what batch norm's
own gradient needs; `inner_products` computes it once. A slot without a batch norm has mean 0 and scale
1, and its terms have `held` False: nothing flows through its statistics.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from xnas.kernels.language import compiles_for, kernel, parts, power_of_two, tl
from xnas.kernels.moments import Moments
from xnas.kernels.sums import add_up

BLOCK = 2048
SUMS_BLOCK = 8192


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
        block_c = min(64, power_of_two(channels))
        block_m = BLOCK // block_c
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
            channels=channels,
            block_m=block_m,
            block_c=block_c,
        )
        return
    out.copy_(plain_mix(advice, moments, slots, weights))
    if copies is not None:
        copies.active.copy_(out.relu())
        copies.image.copy_(out)


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
    """The kernel of `inner_products`: sums of blocks, added up in a fixed order."""
    pixels, channels = gradients.shape[1:]
    block_c = min(64, power_of_two(channels))
    block_m = SUMS_BLOCK // block_c
    blocks = parts(pixels, block_m)
    partial = advice.new_empty(blocks, *out.shape, dtype=torch.float32)
    _inner_products[(blocks, len(slots), parts(channels, block_c))](
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
        channels=channels,
        block_m=block_m,
        block_c=block_c,
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
    block_c = min(64, power_of_two(channels))
    block_m = BLOCK // block_c
    _advice_gradient[(parts(pixels, block_m), len(out), parts(channels, block_c))](
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
    channels: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    m = tl.program_id(0) * block_m + tl.arange(0, block_m)
    c = tl.program_id(1) * block_c + tl.arange(0, block_c)
    inside = (m < pixels)[:, None] & (c < channels)[None, :]
    total = tl.zeros((block_m, block_c), tl.float32)
    for term in range(terms):
        slot = tl.load(slots + term).to(tl.int64)
        weight = tl.load(weights + term).to(tl.float32)
        place = (slot * pixels + m)[:, None] * channels + c[None, :]
        value = tl.load(advice + place, mask=inside, other=0.0).to(tl.float32)
        middle = tl.load(mean + slot * channels + c, mask=c < channels, other=0.0)
        factor = weight * tl.load(scale + slot * channels + c, mask=c < channels, other=0.0)
        total += (value - middle[None, :]) * factor[None, :]
    place = m[:, None] * channels + c[None, :]
    tl.store(out + place, total, mask=inside)
    if copied:
        tl.store(image + m[:, None] * row + c[None, :], total, mask=inside)
        total = tl.where(total < 0, 0.0, total)  # unlike a maximum it keeps NaN
        tl.store(active + place, total, mask=inside)


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
    channels: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    block, term = tl.program_id(0), tl.program_id(1)
    m = block * block_m + tl.arange(0, block_m)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    inside = (m < pixels)[:, None] & (c < channels)[None, :]
    slot = tl.load(slots + term).to(tl.int64)
    target = tl.load(targets + term).to(tl.int64)
    place = target * node + m[:, None] * row + c[None, :]
    flow = tl.load(gradients + place, mask=inside, other=0.0).to(tl.float32)
    place = (slot * pixels + m)[:, None] * channels + c[None, :]
    value = tl.load(advice + place, mask=inside, other=0.0).to(tl.float32)
    middle = tl.load(mean + slot * channels + c, mask=c < channels, other=0.0)
    factor = tl.load(scale + slot * channels + c, mask=c < channels, other=0.0)
    normalized = (value - middle[None, :]) * factor[None, :]
    place = partial + (block * tl.num_programs(1) + term).to(tl.int64) * 2 * channels + c
    tl.store(place, tl.sum(flow, 0), mask=c < channels)
    tl.store(place + channels, tl.sum(flow * normalized, 0), mask=c < channels)


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
    channels: tl.constexpr,
    held: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    index = tl.program_id(1)
    m = tl.program_id(0) * block_m + tl.arange(0, block_m)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    known = c < channels
    inside = (m < pixels)[:, None] & known[None, :]
    plane = tl.full((), channels, tl.int64) * pixels
    flow = tl.zeros((block_m, block_c), tl.float32)
    alone = tl.zeros((block_c,), tl.float32)
    along = tl.zeros((block_c,), tl.float32)
    for number in range(tl.load(first + index), tl.load(first + index + 1)):
        term = tl.load(terms + number)
        weight = tl.load(weights + term).to(tl.float32)
        place = tl.load(targets + term).to(tl.int64) * node + m[:, None] * row + c[None, :]
        flow += weight * tl.load(gradients + place, mask=inside, other=0.0).to(tl.float32)
        if held:
            alone += weight * tl.load(products + term * 2 * channels + c, mask=known, other=0.0)
            along += weight * tl.load(products + (term * 2 + 1) * channels + c, mask=known, other=0.0)
    if held:
        slot = tl.load(slots + index).to(tl.int64)
        place = slot * plane + m[:, None] * channels + c[None, :]
        value = tl.load(advice + place, mask=inside, other=0.0).to(tl.float32)
        middle = tl.load(mean + slot * channels + c, mask=known, other=0.0)
        factor = tl.load(scale + slot * channels + c, mask=known, other=0.0)
        normalized = (value - middle[None, :]) * factor[None, :]
        flow = factor[None, :] * (
            flow - (alone / pixels)[None, :] - normalized * (along / pixels)[None, :]
        )
    tl.store(out + index * plane + m[:, None] * channels + c[None, :], flow, mask=inside)
