"""Networks whose weights come from one generator, and seeds for the parts of a search."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

N = TypeVar("N", bound=nn.Module)


def seeded(build: Callable[[], N], generator: torch.Generator, *, bound: float) -> N:
    """The module that `build` makes, on the CPU in float64, with uniform weights in ±bound.

    Making a module draws from the generator that the whole process shares; it is left as it was.
    """
    with torch.random.fork_rng(devices=[]):
        module = build().double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-bound, bound, generator=generator)
    return module


def derived_seed(seed: int, *parts: str | int) -> int:
    """A seed for one part of a search; other parts, and the same part of other seeds, get others."""
    text = "/".join(map(str, (seed, *parts)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])
