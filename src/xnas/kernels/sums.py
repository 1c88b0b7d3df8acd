"""Sums of partial sums, in a fixed order: the same numbers every time."""

from __future__ import annotations

from torch import Tensor

from xnas.kernels.blocks import parts
from xnas.kernels.language import compiles_for, kernel, tl

FEW, MANY = (32, 64), (512, 8)  # rows and columns of a program at a time, for up to 128 rows and more


def add_up(partial: Tensor, out: Tensor) -> None:
    """Put the sum over the first dimension of `partial` into the memory of `out`, as it lies there.

    The rows of `partial` are laid out as `out` is in memory.
    """
    if not compiles_for(partial):
        plain_add_up(partial, out)
        return
    rows, size = len(partial), out.numel()
    few = rows <= 4 * FEW[0]
    at_once, block = FEW if few else MANY
    _add_up[(parts(size, block),)](
        partial, out, rows, size, block=block, at_once=at_once, num_warps=4 if few else 8
    )


def plain_add_up(partial: Tensor, out: Tensor) -> None:
    """The plain PyTorch version of `add_up`."""
    out.as_strided((out.numel(),), (1,)).copy_(partial.flatten(1).sum(0))


@kernel(numbers=["rows", "size"], tables=["out"])
def _add_up(partial, out, rows, size, block: tl.constexpr, at_once: tl.constexpr):
    place = tl.program_id(0) * block + tl.arange(0, block)
    total = tl.zeros((at_once, block), tl.float32)
    for start in range(0, rows, at_once):
        row = start + tl.arange(0, at_once)
        inside = (row < rows)[:, None] & (place < size)[None, :]
        total += tl.load(
            partial + row[:, None].to(tl.int64) * size + place[None, :], mask=inside, other=0.0
        )
    tl.store(out + place, tl.sum(total, 0), mask=place < size)
