"""How tensors are split into blocks of programs and lanes of threads, and how addresses are aligned.

A block is what a program takes at a time, a power of two. A lane is what a thread takes: up to 16 bytes
of bfloat16 that lie together, as much as memory gives it at once. Either suits any number of channels:
blocks by leaving some threads idle, lanes by being as short as they have to be.

What begins anywhere, or has rows that lie apart, hides from the compiler how its addresses are aligned.
A kernel of lanes is given places counted in lanes, from where memory begins (`from_the_beginning`); one
of blocks is given what divides all addresses (`alignment`).
"""

from __future__ import annotations

from math import gcd

from torch import Tensor

from xnas.kernels.language import inside, tl

LANE = 8  # channels of a thread: 16 bytes of bfloat16


def parts(whole: int, part: int) -> int:
    """How many parts cover the whole."""
    return -(-whole // part)


def power_of_two(least: int) -> int:
    """The next power of two, at which blocks have to end."""
    return 1 << max(0, least - 1).bit_length()


def channel_block(channels: int, *, least: int) -> int:
    """Channels of a block, a power of two up to 64: the largest that leaves the fewest threads idle.

    Blocks have `least` at least, if there are so many channels: 16 are 32 bytes of bfloat16, below
    which memory gives nothing; wider ones are read faster, and narrower ones leave fewer threads idle.
    """
    if channels <= least:
        return power_of_two(channels)
    wide = [block for block in (64, 32, 16) if block >= least]
    return min(wide, key=lambda block: parts(channels, block) * block)


def lane_width(*steps: int) -> int:
    """Channels of a lane that divide all these steps: a whole lane is there or is not."""
    return gcd(LANE, *steps)


def from_the_beginning(x: Tensor) -> Tensor:
    """The tensor moved to the beginning of its memory, which is aligned, wherever `x` begins in it."""
    return x.as_strided(x.shape, x.stride(), 0)


def alignment(*tensors: Tensor, steps: tuple[int, ...]) -> int:
    """How many bytes, 16 at most, divide every address that is whole steps away from the tensors."""
    addresses = (tensor.data_ptr() for tensor in tensors)
    return gcd(16, *addresses, *(step * tensors[0].element_size() for step in steps))


@inside
def block_at(block_m: tl.constexpr, block_c: tl.constexpr):  # noqa: ANN201 - Triton's
    """Pixels and channels of this program's block."""
    m = tl.program_id(0) * block_m + tl.arange(0, block_m)
    c = tl.program_id(1) * block_c + tl.arange(0, block_c)
    return m, c
