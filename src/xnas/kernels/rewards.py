"""Inner products of nodes' gradients with what was added to them: the negative rewards.

That with a normalised output is needed twice: its sum over channels is the negative reward of that
convolution, and batch norm's own gradient takes it channel by channel. Programs give partial sums, which
are added up in a fixed order: two runs give the same bits. The terms are those of `fan_out`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.kernels.blocks import parts
from xnas.kernels.fan_out import (
    BLOCK,
    Advice,
    Routes,
    blocks_of,
    normalized,
    or_anything,
    pool_at,
    pool_of,
    present,
    turns_of,
)
from xnas.kernels.language import compiles_for, kernel, tl


def fan_out_products(
    gradients: Tensor,
    state: Tensor,
    advice: Advice | None,
    routes: Routes,
    *,
    rewards: Tensor | None,
    products: Tensor,
) -> None:
    """Sums over pixels that batch norm's gradient needs, and the weights' gradients.

    `gradients` (nodes, batch, height, width, channels) are those of the later nodes, G. `products` is
    (slots + nodes, channels): Σ G · normalised output of each slot, then Σ G of each node. `rewards`
    (weights), if given, get Σ G · f of every expert f.
    """
    if not compiles_for(state):
        plain_fan_out_products(gradients, state, advice, routes, rewards=rewards, products=products)
        return
    raw, moments = or_anything(advice, state)
    nodes, _, height, width, channels = gradients.shape
    pixels = state.numel() // channels
    # Rewards are two more sums to hold, so they are compiled apart.
    block_m, block_c = blocks_of(BLOCK if rewards is None else BLOCK // 2, channels)
    columns = parts(channels, block_c)
    turns = turns_of(parts(pixels, block_m), nodes * columns)
    blocks = parts(pixels, turns * block_m)
    rows = routes.slots + (1 if rewards is None else 3) * nodes
    partial = products.new_empty(blocks, rows, channels, dtype=torch.float32)
    _fan_out_products[(blocks, nodes, columns)](
        gradients,
        state,
        raw,
        moments.mean,
        moments.scale,
        routes.places,
        partial,
        pixels,
        height,
        width,
        turns,
        routes.slots,
        int(routes.pooled),
        rows,
        rewarded=rewards is not None,
        channels=channels,
        ways=routes.places.shape[1],
        block_m=block_m,
        block_c=block_c,
    )
    _add_blocks[(rows,)](
        partial,
        products,
        products if rewards is None else rewards,
        blocks,
        routes.slots,
        nodes,
        int(rewards is not None),
        channels=channels,
        block_b=4 * BLOCK // block_c,
        block_c=block_c,
        num_warps=8,
    )


def plain_fan_out_products(
    gradients: Tensor,
    state: Tensor,
    advice: Advice | None,
    routes: Routes,
    *,
    rewards: Tensor | None,
    products: Tensor,
) -> None:
    """The plain PyTorch version of `fan_out_products`."""
    flows, x = gradients.to(products.dtype), state.to(products.dtype)
    products[routes.slots :] = flows.flatten(1, -2).sum(1)
    if advice is not None:
        experts = normalized(advice, products.dtype)
        for node, places in enumerate(routes.places.tolist()):
            for slot in present(places):
                flow = flows[node].flatten(0, -2)
                products[slot] = (flow * experts[:, slot]).sum(0)
    if rewards is not None:
        rewards[: routes.slots] = products[: routes.slots].sum(-1)
        pool = pool_of(x) if routes.pooled else torch.zeros_like(x)
        along = [(flows * line).flatten(1).sum(1) for line in (pool, x)]
        rewards[routes.slots :] = torch.stack(along, 1).flatten()


@kernel(
    numbers=["pixels", "height", "width", "turns", "slots", "pooled", "rows"],
    tables=["places"],
)
def _fan_out_products(
    gradients,
    state,
    raw,
    mean,
    scale,
    places,
    partial,
    pixels,
    height,
    width,
    turns,
    slots,
    pooled,
    rows,
    rewarded: tl.constexpr,
    channels: tl.constexpr,
    ways: tl.constexpr,
    block_m: tl.constexpr,
    block_c: tl.constexpr,
):
    """Sums over some blocks of pixels, for one node and at most two convolutions that go there."""
    tl.static_assert(ways == 2)
    block, node, nodes = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    c = tl.program_id(2) * block_c + tl.arange(0, block_c)
    known = c < channels
    received = gradients + tl.full((), channels, tl.int64) * pixels * node
    one = tl.load(places + node * ways)
    two = tl.load(places + node * ways + 1)
    known_of_one = c < tl.where(one >= 0, channels, 0)
    known_of_two = c < tl.where(two >= 0, channels, 0)
    mean_of_one = tl.load(mean + one * channels + c, mask=known_of_one, other=0.0)
    mean_of_two = tl.load(mean + two * channels + c, mask=known_of_two, other=0.0)
    alone = tl.zeros((block_m, block_c), tl.float32)
    along_one = tl.zeros((block_m, block_c), tl.float32)
    along_two = tl.zeros((block_m, block_c), tl.float32)
    along_pool = tl.zeros((block_m, block_c), tl.float32)
    along_state = tl.zeros((block_m, block_c), tl.float32)
    for turn in range(turns):
        m = (block * turns + turn) * block_m + tl.arange(0, block_m)
        within = (m < pixels)[:, None] & known[None, :]
        here = (m * channels)[:, None] + c[None, :]
        from_row = (m * (slots * channels))[:, None] + c[None, :]
        flow = tl.load(received + here, mask=within, other=0.0).to(tl.float32)
        there = (m < pixels)[:, None]
        value = tl.load(raw + from_row + one * channels, mask=there & known_of_one[None, :], other=0.0)
        other = tl.load(raw + from_row + two * channels, mask=there & known_of_two[None, :], other=0.0)
        alone += flow
        along_one += flow * (value.to(tl.float32) - mean_of_one[None, :])
        along_two += flow * (other.to(tl.float32) - mean_of_two[None, :])
        if rewarded:
            x = tl.load(state + here, mask=within, other=0.0).to(tl.float32)
            along_state += flow * x
            if pooled:
                along_pool += flow * pool_at(
                    state, m, c, within, height, width, channels, block_m, block_c
                )
    end = partial + block.to(tl.int64) * rows * channels + c
    tl.store(end + (slots + node) * channels, tl.sum(alone, 0), mask=known)
    factor = tl.load(scale + one * channels + c, mask=known_of_one, other=0.0)
    tl.store(end + one * channels, tl.sum(along_one, 0) * factor, mask=known_of_one)
    factor = tl.load(scale + two * channels + c, mask=known_of_two, other=0.0)
    tl.store(end + two * channels, tl.sum(along_two, 0) * factor, mask=known_of_two)
    if rewarded:
        end += (slots + nodes + 2 * node) * channels
        tl.store(end, tl.sum(along_pool, 0), mask=known)
        tl.store(end + channels, tl.sum(along_state, 0), mask=known)


@kernel(numbers=["blocks", "slots", "nodes", "rewarded"], tables=["rewards"])
def _add_blocks(
    partial,
    products,
    rewards,
    blocks,
    slots,
    nodes,
    rewarded,
    channels: tl.constexpr,
    block_b: tl.constexpr,
    block_c: tl.constexpr,
):
    """One row of all blocks: channel by channel into `products`, and all of it into `rewards`."""
    row = tl.program_id(0)
    rows = tl.num_programs(0)
    everything = 0.0
    for first in range(0, channels, block_c):
        c = first + tl.arange(0, block_c)
        total = tl.zeros((block_b, block_c), tl.float32)
        for start in range(0, blocks, block_b):
            b = start + tl.arange(0, block_b)
            within = (b < blocks)[:, None] & (c < channels)[None, :]
            place = (b * rows + row)[:, None] * channels + c[None, :]
            total += tl.load(partial + place, mask=within, other=0.0)
        of_row = tl.sum(total, 0)
        known = c < tl.where(row < slots + nodes, channels, 0)
        tl.store(products + row * channels + c, of_row, mask=known)
        everything += tl.sum(of_row, 0)
    # Sums of gradients, which stand between, are no rewards.
    place = tl.where(row < slots, row, row - nodes)
    earned = (row < slots) | (row >= slots + nodes)
    tl.store(rewards + place, everything, mask=earned & (rewarded > 0))
