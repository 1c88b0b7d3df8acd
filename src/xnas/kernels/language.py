"""Decorators for Triton kernels, which do nothing where Triton is not installed.

Triton compiles a kernel when it is launched for the first time, one after another; a network has some
sixty. `rehearsal` finds out which kernels a step launches, and compiles them on all cores in parallel.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor

try:
    import triton  # type: ignore[import-untyped]
    import triton.language as tl  # type: ignore[import-untyped]
except ImportError:  # a build of torch without it
    triton = tl = None

__all__ = [
    "compiles_for",
    "inside",
    "kernel",
    "rehearsal",
    "tl",
]

OPTIONS = {"enable_fp_fusion": True}  # multiply and add in one instruction: Triton's default may change


class Kernel:
    """A compiled function: `kernel[grid](*arguments, **constants)` launches it."""

    noted: dict[Any, Callable[[], object]] | None = None
    """During a rehearsal: how to compile what would have been launched, once for each variant."""

    def __init__(self, function: Any) -> None:  # noqa: ANN401 - Triton's
        self.function = function

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., object]:
        """Launch on a grid of programs."""
        return self._note if Kernel.noted is not None else partial(self.function[grid], **OPTIONS)

    def _note(self, *arguments: Any, **constants: Any) -> None:  # noqa: ANN401
        assert Kernel.noted is not None  # noqa: S101 - in a rehearsal
        kinds = (_kind(argument) for argument in arguments)
        key = self.function, *kinds, *constants.items()
        options = {"grid": (1,), **constants, **OPTIONS}
        Kernel.noted.setdefault(key, lambda: self.function.warmup(*arguments, **options))


def kernel(*, numbers: Sequence[str], tables: Sequence[str] = ()) -> Callable[[Any], Any]:
    """Compile a function for the GPU, once for its constants and the types of its tensors.

    `numbers` may be anything and `tables` lie anywhere: Triton would compile again for a 1, for
    multiples of 16 and for addresses that are.
    """
    if triton is None:
        return lambda source: source
    decorate = triton.jit(do_not_specialize=list(numbers), do_not_specialize_on_alignment=list(tables))
    return lambda source: Kernel(decorate(source))


def inside(source: Any) -> Any:  # noqa: ANN401 - a function that kernels call
    """A part of kernels."""
    return source if triton is None else triton.jit(source)


@contextmanager
def rehearsal() -> Iterator[None]:
    """Launch no kernel in here: note them, and compile them together at the end.

    What they would have written is left as it was, so everything computed inside is meaningless, and
    to be put back by the caller.
    """
    noted: dict[Any, Callable[[], object]] = {}
    Kernel.noted = noted
    try:
        yield
    finally:
        Kernel.noted = None
    device = torch.cuda.current_device()

    def compile_one(job: Callable[[], object]) -> None:
        with torch.cuda.device(device):
            job()

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, noted.values()))


def compiles_for(x: Tensor) -> bool:
    """Whether kernels, not their plain versions, compute with this tensor."""
    return triton is not None and x.is_cuda


def _kind(argument: Any) -> object:  # noqa: ANN401
    """What a kernel is compiled for: the type of a tensor and whether it is aligned; any number."""
    if isinstance(argument, Tensor):
        return argument.dtype, argument.data_ptr() % 16 == 0
    return type(argument)
