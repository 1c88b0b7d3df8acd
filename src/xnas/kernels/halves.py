"""The even and the odd pixels of images, as factorised reductions take them, and their gradients.

Of four neighbours the even pixel is at the top left and the odd one at the bottom right. Beyond the edge
of an odd size the odd ones are 0. Images are (images, height, width, channels), halves those of half the
height and width, rounded up.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from xnas.kernels.blocks import lane_width, parts, power_of_two
from xnas.kernels.language import compiles_for, inside, kernel, tl

ROWS = 256  # lanes of a program


def gather(x: Tensor) -> Tensor:
    """Halves (2, images, ...) of contiguous images."""
    if not compiles_for(x):
        return plain_gather(x)
    images, height, width, channels = x.shape
    out = x.new_empty(2, images, parts(height, 2), parts(width, 2), channels)
    pixels = out[0, ..., 0].numel()
    lane, rows, share = _dealt(channels)
    _gather[(parts(pixels, share), 2)](
        x, out, pixels, height, width, channels=channels, lane=lane, rows=rows
    )
    return out


def plain_gather(x: Tensor) -> Tensor:
    """The plain PyTorch version of `gather`."""
    height, width = x.shape[1:3]
    x = pad(x, (0, 0, 0, width % 2, 0, height % 2))
    return torch.stack([x[:, ::2, ::2], x[:, 1::2, 1::2]])


def spread(halves: Tensor, height: int, width: int) -> Tensor:
    """Images of that size from contiguous halves (2, images, ...), 0 at the pixels of neither."""
    into = halves.new_empty(1, halves.shape[1], height, width, halves.shape[-1])
    if compiles_for(halves):
        _launch_spread(halves[None], None, None, into)
    else:
        into.zero_()
        for pixels, half in zip(_halves(into[0]), _there(halves, height, width), strict=True):
            pixels.copy_(half)
    return into[0]


def add_spread(halves: Tensor, first: Tensor, *, gate: Tensor, into: Tensor) -> None:
    """Add to each of several sets of images `into` (sets, images, ...) its halves where `gate` > 0.

    Those of set i are the sum of `halves` (many, 2, images, ...) from first[i] up to first[i + 1].
    """
    if compiles_for(halves):
        _launch_spread(halves, first, gate, into)
    else:
        plain_add_spread(halves, first, gate, into)


def plain_add_spread(halves: Tensor, first: Tensor, gate: Tensor, into: Tensor) -> None:
    """The plain PyTorch version of `add_spread`."""
    wide = torch.promote_types(halves.dtype, torch.float32)
    height, width = into.shape[2:4]
    for index, (begin, end) in enumerate(zip(first[:-1].tolist(), first[1:].tolist(), strict=True)):
        flow = _there(halves[begin:end].to(wide).sum(0), height, width)
        places = zip(_halves(into[index]), _halves(gate[index]), flow, strict=True)
        for pixels, gates, half in places:
            pixels.copy_(pixels + torch.where(gates > 0, half, 0.0))


def _halves(images: Tensor) -> tuple[Tensor, Tensor]:
    """Even and odd pixels that there are."""
    return images[:, ::2, ::2], images[:, 1::2, 1::2]


def _there(halves: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Halves without what is beyond the edge."""
    return halves[0], halves[1, :, : height // 2, : width // 2]


def _launch_spread(halves: Tensor, first: Tensor | None, gate: Tensor | None, into: Tensor) -> None:
    sets, images, height, width, channels = into.shape
    pixels = images * parts(height, 2) * parts(width, 2)
    lane, rows, share = _dealt(channels)
    _spread[(parts(pixels, share), sets)](
        halves,
        into if first is None else first,
        into if gate is None else gate,
        into,
        pixels,
        images,
        height,
        width,
        added=first is not None,
        channels=channels,
        lane=lane,
        rows=rows,
    )


def _dealt(channels: int) -> tuple[int, int, int]:
    """Channels of a lane, lanes of a program, and its pixels."""
    lane = lane_width(channels)
    rows = max(ROWS, power_of_two(channels // lane))
    return lane, rows, rows // (channels // lane)


@kernel(numbers=["pixels", "height", "width"])
def _gather(
    x,
    out,
    pixels,
    height,
    width,
    channels: tl.constexpr,
    lane: tl.constexpr,
    rows: tl.constexpr,
):
    half = tl.program_id(1)
    m, c, known = _lanes(pixels, channels, lane, rows)
    place, there = _pixels(m, half, half, height, width)
    value = tl.load(x + place * channels + c, mask=known & there, other=0.0)
    tl.store(out + (half.to(tl.int64) * pixels + m) * channels + c, value, mask=known)


@kernel(numbers=["pixels", "images", "height", "width"], tables=["first"])
def _spread(
    halves,
    first,
    gate,
    into,
    pixels,
    images,
    height,
    width,
    added: tl.constexpr,
    channels: tl.constexpr,
    lane: tl.constexpr,
    rows: tl.constexpr,
):
    index = tl.program_id(1)
    m, c, known = _lanes(pixels, channels, lane, rows)
    plane = tl.full((), channels, tl.int64) * pixels
    image = index.to(tl.int64) * images * height * width * channels
    here = m.to(tl.int64) * channels + c
    for half in tl.static_range(2):
        place, there = _pixels(m, half, half, height, width)
        place = image + place * channels + c
        there = known & there
        if added:
            gates = tl.load(gate + place, mask=there, other=0.0).to(tl.float32) > 0
            before = tl.load(into + place, mask=there, other=0.0).to(tl.float32)
            value = tl.zeros(here.shape, tl.float32)
            for which in range(tl.load(first + index), tl.load(first + index + 1)):
                value += tl.load(halves + (which * 2 + half) * plane + here, mask=there, other=0.0)
            value = before + tl.where(gates, value, 0.0)
        else:
            value = tl.load(halves + half * plane + here, mask=there, other=0.0)
            neighbour, present = _pixels(m, half, 1 - half, height, width)
            nothing = tl.zeros(here.shape, into.dtype.element_ty)
            tl.store(into + neighbour * channels + c, nothing, mask=known & present)
        tl.store(into + place, value, mask=there)


@inside
def _lanes(pixels, channels: tl.constexpr, lane: tl.constexpr, rows: tl.constexpr):
    """Pixels of halves (rows, 1), channels (rows, lane), and which of the pixels there are."""
    groups: tl.constexpr = channels // lane
    share: tl.constexpr = rows // groups
    r = tl.arange(0, rows)
    m = tl.program_id(0) * share + r // groups
    c = ((r % groups) * lane)[:, None] + tl.arange(0, lane)[None, :]
    return m[:, None], c, ((r < share * groups) & (m < pixels))[:, None]


@inside
def _pixels(m, down, right, height, width):
    """Where a pixel of halves has its neighbour in the images, and whether it is there."""
    high, wide = (height + 1) // 2, (width + 1) // 2
    y, x = m // wide % high * 2 + down, m % wide * 2 + right
    row = m // wide // high * height + y
    return row.to(tl.int64) * width + x, (y < height) & (x < width)
