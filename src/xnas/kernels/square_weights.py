"""Gradients of the weights of 3x3 convolutions, stride 1, of images that lie channels-last.

The gradient of a tap is a matrix product over all pixels: of the gradient of each with the pixel that
the tap sees from there. A program multiplies a tile of channels over a share of the pixels, for all nine
taps; of a column of an image it takes a few pixels together, a run, which see each other's neighbours.
Shares are added up in a fixed order.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.kernels.blocks import parts
from xnas.kernels.depthwise_taps import replaced
from xnas.kernels.language import compiles_for, kernel, tl
from xnas.kernels.sums import add_up

BLOCK = 64  # bytes of runs that a program reads at a time, of each channel and row: 32 of bfloat16
TILE_N, TILE_K = 32, 16  # channels out and in: nine products of more would not fit into registers
# By bytes of a number. Triton gives a warp 16 channels out, and more warps would compute them again; in
# float32, which it multiplies without matrix instructions, two would need too many registers.
WARPS = {2: 2, 4: 4}
STAGES = 3  # blocks are on their way while one is multiplied
PROGRAMS = 264  # two for each processor of a large GPU; what they find has to be added up
RUNS = (4, 2, 1)  # pixels

aten = torch.ops.aten


def square_weight_gradient(x: Tensor, flow: Tensor) -> Tensor:
    """Gradient (channels out, 3, 3, channels in) of the weights, in the images' type, summed in float32.

    `x` is (batch, height, width, channels in), 0 beyond its edges; `flow` is the gradient of what the
    convolution gave, whose channels are a multiple of those of `x`, slots of as many.
    """
    if not compiles_for(x):
        return plain_square_weight_gradient(x, flow)
    batch, height, width, channels = x.shape
    outputs = flow.shape[3]
    # A run that ends below its image would multiply zeros by pixels that need not be finite.
    run = next(run for run in RUNS if height % run == 0)
    runs = batch * height // run * width
    block_m = BLOCK // x.element_size()
    tiles = parts(outputs, TILE_N), parts(channels, TILE_K)
    shares = min(parts(runs, 2 * block_m), max(1, PROGRAMS // (tiles[0] * tiles[1])))
    share = parts(parts(runs, shares), block_m) * block_m
    shares = parts(runs, share)
    out = x.new_empty(outputs, 3, 3, channels)
    partial = x.new_empty(shares, out.numel(), dtype=torch.float32)
    _weight_gradient[(shares, *tiles)](
        x,
        flow,
        partial,
        runs,
        share,
        outputs // channels,
        height=height,
        width=width,
        channels=channels,
        run=run,
        block_m=block_m,
        block_n=TILE_N,
        block_k=TILE_K,
        num_warps=WARPS[x.element_size()],
        num_stages=STAGES,
    )
    add_up(partial, out)
    return out


def plain_square_weight_gradient(x: Tensor, flow: Tensor) -> Tensor:
    """The plain PyTorch version of `square_weight_gradient`."""
    x, flow = x.permute(0, 3, 1, 2), flow.permute(0, 3, 1, 2)
    kernel = x.new_empty(flow.shape[1], x.shape[1], 3, 3)  # only its shape matters
    _, out, _ = square_gradients(flow, x, kernel, [False, True, False])
    return out.permute(0, 2, 3, 1)


def square_gradients(flow: Tensor, x: Tensor, kernel: Tensor, wanted: list[bool]) -> tuple[Tensor, ...]:
    """PyTorch's gradients of a 3x3 convolution: of its input, its kernel and a bias, where wanted."""
    found: tuple[Tensor, ...] = aten.convolution_backward(
        flow,
        x,
        kernel,
        None,
        stride=[1, 1],
        padding=[1, 1],
        dilation=[1, 1],
        transposed=False,
        output_padding=[0, 0],
        groups=1,
        output_mask=wanted,
    )
    return found


@kernel(numbers=["runs", "share", "slots"])
def _weight_gradient(
    x,
    flow,
    partial,
    runs,
    share,
    slots,
    height: tl.constexpr,
    width: tl.constexpr,
    channels: tl.constexpr,
    run: tl.constexpr,
    block_m: tl.constexpr,
    block_n: tl.constexpr,
    block_k: tl.constexpr,
):
    split = tl.program_id(0)
    n = tl.program_id(1) * block_n + tl.arange(0, block_n)[:, None]
    k = tl.program_id(2) * block_k + tl.arange(0, block_k)[None, :]
    outputs = slots * channels
    totals = (tl.zeros((block_n, block_k), tl.float32),) * 9
    for start in range(split * share, tl.minimum(runs, (split + 1) * share), block_m):
        m = start + tl.arange(0, block_m)
        fits = m < runs
        left, line = m % width, m // width  # lines of runs, of all images
        top = line % (height // run) * run
        pixel = (line * (run * width) + left).to(tl.int64)
        gradient = flow + (pixel * outputs)[None, :] + n
        there = fits[None, :] & (n < outputs)
        flows = (tl.load(gradient, mask=there, other=0.0),) * run
        for index in tl.static_range(1, run):
            below = tl.load(gradient + index * width * outputs, mask=there, other=0.0)
            flows = replaced(flows, index, below)
        corner = x + ((pixel - (width + 1)) * channels)[:, None] + k
        for step in tl.static_range(run + 2):  # rows that the run sees
            y = top + (step - 1)
            for column in tl.static_range(3):
                z = left + (column - 1)
                seen = fits & (y >= 0) & (y < height) & (z >= 0) & (z < width)
                value = tl.load(
                    corner + (step * width + column) * channels,
                    mask=seen[:, None] & (k < channels),
                    other=0.0,
                )
                for index in tl.static_range(run):
                    if step - index >= 0 and step - index < 3:
                        total = totals[3 * (step - index) + column]
                        total = tl.dot(flows[index], value, total, input_precision="ieee")
                        totals = replaced(totals, 3 * (step - index) + column, total)
    partial += split.to(tl.int64) * outputs * (9 * channels)
    for tap in tl.static_range(9):
        place = n * (9 * channels) + tap * channels + k
        tl.store(partial + place, totals[tap], mask=(n < outputs) & (k < channels))
