"""Sizes of the networks of cells, and the width at which a network comes nearest to a given size.

Networks are built without memory, on torch's meta device. What a cell's data file holds is not counted
again, except in the tests of the zoo.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import torch

from xnas.records import Agreement
from xnas.space import (
    NETWORKS,
    Genotype,
    Network,
    NetworkSpec,
    build_network,
    count_macs,
    count_parameters,
    find_genotype,
    zoo_cell,
)
from xnas.space.zoo import CountedNetwork

PIXELS = {"cifar": 32, "imagenet": 224}
"""Sides of the images that each kind of network is for."""
WIDEST = 256
STEP = 16
"""Between the three widths whose counts give all others."""
MILLION = 10**6


CIFAR, IMAGENET = NETWORKS["cifar"], NETWORKS["imagenet"]
"""XNAS-Small, and XNAS's network of Table 2."""
DARTS_IMAGENET = IMAGENET.but(channels=48, stem_channels=48, squeeze_excitation=False)


def empty_network(cell: str | Genotype, spec: NetworkSpec) -> Network:
    """The network on the meta device, without weights, for counting."""
    with torch.device("meta"):
        return build_network(find_genotype(cell), spec)


@cache
def parameters(cell: str | Genotype, spec: NetworkSpec) -> int:
    """Parameters of a cell's network; published cells go by name."""
    stored = _stored(cell, spec)
    return stored.parameters if stored else count_parameters(empty_network(cell, spec))


@cache
def macs(cell: str | Genotype, spec: NetworkSpec) -> int:
    """Multiply-accumulates of a cell's network for one image; an auxiliary tower adds none."""
    spec = replace(spec, auxiliary=False)
    stored = _stored(cell, spec)
    if stored is not None and stored.macs is not None:
        return stored.macs
    side = PIXELS[spec.network]
    return count_macs(empty_network(cell, spec), (spec.in_chans, side, side))


def counted_network(cell: str, spec: NetworkSpec, *, with_macs: bool = True) -> CountedNetwork:
    """The description of a network with its counts."""
    return CountedNetwork(
        cell=cell,
        spec=spec,
        parameters=parameters(cell, spec),
        macs=macs(cell, spec) if with_macs else None,
    )


def nearest_channels(cell: str, spec: NetworkSpec, millions: float) -> tuple[int, int]:
    """Even channels with which the network comes nearest to so many parameters, and its parameters.

    The weights of a convolution are as many as the product of two widths, and those of all else grow
    with one, so the count is a parabola in the channels and three counts give all.
    """
    given = spec.channels
    widths = (given - STEP, given, given + STEP)
    counts = [parameters(cell, spec.but(channels=width)) for width in widths]
    found = {width: _parabola(widths, counts, width) for width in range(2, WIDEST + 1, 2)}
    best = min(found, key=lambda width: abs(found[width] - Fraction(millions) * MILLION))
    return best, round(found[best])


def agreement(counted: int, millions: float) -> Agreement:
    """Whether the printed millions are the counted number, rounded or truncated to as many digits."""
    digits = len(f"{millions:g}".partition(".")[2])
    unit = MILLION // 10**digits
    printed = round(millions * 10**digits)
    rounded, truncated = (counted + unit // 2) // unit == printed, counted // unit == printed
    if rounded and truncated:
        return "yes"
    if rounded:
        return "yes, rounded"
    return "yes, truncated" if truncated else "no"


def _stored(cell: str | Genotype, spec: NetworkSpec) -> CountedNetwork | None:
    """The counts, where the cell's data file has them."""
    if isinstance(cell, Genotype):
        return None
    sizes = {size.spec: size for size in zoo_cell(cell).sizes}
    return sizes.get(spec)


def _parabola(x: tuple[int, int, int], y: list[int], at: int) -> Fraction:
    """Value of the parabola through three points (Lagrange)."""
    total = Fraction(0)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        total += y[i] * Fraction((at - x[j]) * (at - x[k]), (x[i] - x[j]) * (x[i] - x[k]))
    return total
