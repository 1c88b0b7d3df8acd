"""Backward kernels of `fan_out`: gradients of a state and of the outputs of its convolutions.

Gradients gather, also through the pool, so that no two programs write to one pixel. The terms are
those of `fan_out`, and batch norm's gradient takes the inner products of `rewards`.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d

from xnas.kernels.blocks import block_at, parts
from xnas.kernels.fan_out import BLOCK, Advice, Routes, blocks_of, normalized, present, share_of
from xnas.kernels.language import compiles_for, kernel, tl


def raw_gradient(
    gradients: Tensor,
    advice: Advice,
    routes: Routes,
    weights: Tensor,
    products: Tensor,
    *,
    held: bool,
    out: Tensor,
) -> None:
    """The gradients of a convolution's outputs, before batch norm, into `out` (pixels, slots, channels).

    `held`: batch norm took the statistics of these very images, and gradients go through them.
    """
    if not compiles_for(out):
        plain_raw_gradient(gradients, advice, routes, weights, products, held=held, out=out)
        return
    pixels, slots, channels = out.shape
    block_m, block_c = blocks_of(BLOCK, channels)
    _raw_gradient[(parts(pixels, block_m), parts(channels, block_c))](
        gradients,
        advice.raw,
        advice.moments.mean,
        advice.moments.scale,
        weights,
        products,
        routes.places,
        out,
        pixels,
        len(gradients),
        slots,
        int(held),
        channels=channels,
        ways=routes.places.shape[1],
        block_m=block_m,
        block_c=block_c,
    )


def plain_raw_gradient(
    gradients: Tensor,
    advice: Advice,
    routes: Routes,
    weights: Tensor,
    products: Tensor,
    *,
    held: bool,
    out: Tensor,
) -> None:
    """The plain PyTorch version of `raw_gradient`."""
    experts = normalized(advice, products.dtype)
    for node, places in enumerate(routes.places.tolist()):
        for slot in present(places):
            flow = gradients[node].to(products.dtype).flatten(0, -2)
            if held:
                means = products[[slot, routes.slots + node]] / len(flow)
                flow = flow - means[1] - experts[:, slot] * means[0]
            out[:, slot] = weights[slot] * advice.moments.scale[slot] * flow


def state_gradient(
    gradients: Tensor,
    convolved: tuple[Tensor, Tensor] | None,
    routes: Routes,
    weights: Tensor,
    *,
    out: Tensor,
) -> None:
    """The gradient of a state (batch, height, width, channels) from those of the later nodes.

    `convolved` holds the gradient of its ReLU, which the convolution gives, and that ReLU.
    """
    if not compiles_for(out):
        out.copy_(plain_state_gradient(gradients, convolved, routes, weights))
        return
    _, height, width, channels = out.shape
    pixels = out.numel() // channels
    block_m, block_c = blocks_of(BLOCK, channels)
    flow, rectified = (out, out) if convolved is None else convolved
    _state_gradient[(parts(pixels, block_m), parts(channels, block_c))](
        gradients,
        flow,
        rectified,
        weights,
        out,
        pixels,
        height,
        width,
        len(gradients),
        routes.slots,
        int(routes.pooled),
        int(convolved is not None),
        channels=channels,
        block_m=block_m,
        block_c=block_c,
    )


def plain_state_gradient(
    gradients: Tensor, convolved: tuple[Tensor, Tensor] | None, routes: Routes, weights: Tensor
) -> Tensor:
    """The plain PyTorch version of `state_gradient`."""
    flows = gradients.to(weights.dtype)
    by_line = weights[routes.slots :].view(-1, 2, 1, 1, 1, 1).unbind(1)
    of_pool, of_skip = ((flows * u).sum(0) for u in by_line)
    total = of_skip
    if routes.pooled:
        count = avg_pool2d(torch.ones_like(of_pool[:1, None, ..., 0]), 3, 1, 1, divisor_override=1)
        shares = (of_pool / count[:, 0, ..., None]).movedim(-1, 1).contiguous()
        # With zeros beyond the edge the sum of nine is its own adjoint.
        total = total + avg_pool2d(shares, 3, 1, 1, divisor_override=1).movedim(1, -1)
    if convolved is not None:
        flow, rectified = convolved
        total = total + flow.masked_fill(rectified <= 0, 0)
    return total


@kernel(
    numbers=["pixels", "nodes", "slots", "held"],
    tables=["weights", "places"],
)
def _raw_gradient(
    gradients,
    raw,
    mean,
    scale,
    weights,
    products,
    places,
    out,
    pixels,
    nodes,
    slots,
    held,
    channels: tl.constexpr,
    ways: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    m, c = block_at(block_m, block_c)
    known = c < channels
    within = (m < pixels)[:, None] & known[None, :]
    here = (m * channels)[:, None] + c[None, :]
    from_row = (m * (slots * channels))[:, None] + c[None, :]
    plane = tl.full((), channels, tl.int64) * pixels
    share = held.to(tl.float32) / pixels
    for node in range(nodes):
        flow = tl.load(gradients + node * plane + here, mask=within, other=0.0).to(tl.float32)
        alone = tl.load(products + (slots + node) * channels + c, mask=known, other=0.0) * share
        for way in tl.static_range(ways):
            slot = tl.load(places + node * ways + way)
            there = (m < tl.where(slot >= 0, pixels, 0))[:, None] & known[None, :]
            known_of_slot = c < tl.where(slot >= 0, channels, 0)
            place = from_row + slot * channels
            value = tl.load(raw + place, mask=there, other=0.0).to(tl.float32)
            middle = tl.load(mean + slot * channels + c, mask=known_of_slot, other=0.0)
            factor = tl.load(scale + slot * channels + c, mask=known_of_slot, other=0.0)
            along = tl.load(products + slot * channels + c, mask=known_of_slot, other=0.0) * share
            weight = tl.load(weights + slot, mask=slot >= 0, other=0.0).to(tl.float32)
            through = flow - alone[None, :] - (value - middle[None, :]) * (factor * along)[None, :]
            tl.store(out + place, (weight * factor)[None, :] * through, mask=there)


@kernel(
    numbers=["pixels", "height", "width", "nodes", "slots", "pooled", "convolved"], tables=["weights"]
)
def _state_gradient(
    gradients,
    flow,
    rectified,
    weights,
    out,
    pixels,
    height,
    width,
    nodes,
    slots,
    pooled,
    convolved,
    channels: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    m, c = block_at(block_m, block_c)
    within = (m < pixels)[:, None] & (c < channels)[None, :]
    here = (m * channels)[:, None] + c[None, :]
    plane = tl.full((), channels, tl.int64) * pixels
    row, column = m // width % height, m % width
    into = (m < pixels * convolved)[:, None] & (c < channels)[None, :]
    total = tl.load(flow + here, mask=into, other=0.0).to(tl.float32)
    total = tl.where(tl.load(rectified + here, mask=into, other=0.0) <= 0, 0.0, total)
    for node in range(nodes):
        received = gradients + node * plane
        of_pool = tl.load(weights + slots + 2 * node).to(tl.float32)
        of_skip = tl.load(weights + slots + 2 * node + 1).to(tl.float32)
        total += of_skip * tl.load(received + here, mask=within, other=0.0).to(tl.float32)
        if pooled:
            pool = tl.zeros((block_m, block_c), tl.float32)
            for tap in tl.static_range(9):
                y, z = row + (tap // 3 - 1), column + (tap % 3 - 1)
                there = (y >= 0) & (y < height) & (z >= 0) & (z < width)
                place = (m + (tap // 3 - 1) * width + (tap % 3 - 1)) * channels
                value = tl.load(
                    received + place[:, None] + c[None, :], mask=within & there[:, None], other=0.0
                )
                pool += value.to(tl.float32) * share_of(y, z, height, width)[:, None]
            total += of_pool * pool
    tl.store(out + here, total, mask=within)
