"""What networks of cells count, and the width at which one comes nearest to a given size.

Networks are built without memory, on torch's meta device. What a cell's data file holds is not counted
again; the tests of the zoo do that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cache

import torch

from xnas.records import Agreement, CountedNetwork
from xnas.space import NETWORKS, Genotype, Network, count_macs, count_parameters, create_model, zoo_cell

PIXELS = {"cifar": 32, "imagenet": 224}
"""Sides of the images that each kind of network is for."""
WIDEST = 256
STEP = 16
"""Between the three widths whose counts give all others."""
MILLION = 10**6


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """All that decides what a cell's network counts."""

    network: str
    channels: int
    stem_channels: int
    squeeze_excitation: bool
    num_classes: int
    in_chans: int = 3
    auxiliary: bool = False

    def at(self, channels: int) -> Shape:
        """The same with other channels; a stem that is a multiple of them stays that multiple."""
        multiple, rest = divmod(self.stem_channels, self.channels)
        stem = self.stem_channels if rest else multiple * channels
        return replace(self, channels=channels, stem_channels=stem)


CIFAR = Shape(network="cifar", channels=36, stem_channels=108, squeeze_excitation=False, num_classes=10)
IMAGENET = Shape(
    network="imagenet", channels=46, stem_channels=56, squeeze_excitation=True, num_classes=1000
)
"""XNAS's network of Table 2."""
DARTS_IMAGENET = replace(IMAGENET, channels=48, stem_channels=48, squeeze_excitation=False)


def shape_of(network: Mapping[str, int | bool | str]) -> Shape:
    """The shape that arguments of `create_model` mean, as they stand in the data files."""
    kind = NETWORKS[str(network["network"])]
    channels = int(network.get("channels", kind.channels))
    return Shape(
        network=str(network["network"]),
        channels=channels,
        stem_channels=int(network.get("stem_channels", kind.stem_channels(channels, 3))),
        squeeze_excitation=bool(network.get("squeeze_excitation", kind.squeeze_excitation)),
        num_classes=kind.num_classes,
    )


def empty_network(cell: str | Genotype, shape: Shape) -> Network:
    """The network without numbers in it, for counting."""
    with torch.device("meta"):
        return create_model(cell, **asdict(shape))


@cache
def parameters(cell: str | Genotype, shape: Shape) -> int:
    """Parameters of a cell's network; published cells go by name."""
    stored = _stored(cell, shape)
    return stored[0] if stored else count_parameters(empty_network(cell, shape))


@cache
def macs(cell: str | Genotype, shape: Shape) -> int:
    """Multiply-accumulates of a cell's network for one image; an auxiliary tower adds none."""
    shape = replace(shape, auxiliary=False)
    stored = _stored(cell, shape)
    if stored:
        return stored[1]
    side = PIXELS[shape.network]
    return count_macs(empty_network(cell, shape), (shape.in_chans, side, side))


def counted_network(cell: str, shape: Shape, *, with_macs: bool = True) -> CountedNetwork:
    """The record of one network."""
    return CountedNetwork(
        cell=cell,
        **asdict(shape),
        parameters=parameters(cell, shape),
        macs=macs(cell, shape) if with_macs else None,
    )


def nearest_channels(cell: str, shape: Shape, millions: float) -> tuple[int, int]:
    """Even channels with which the network comes nearest to so many parameters, and its parameters.

    The weights of a convolution are as many as the product of two widths, and those of all else grow
    with one, so the count is a parabola in the channels and three counts give all.
    """
    given = shape.channels
    widths = (given - STEP, given, given + STEP)
    counts = [parameters(cell, shape.at(width)) for width in widths]
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


def _stored(cell: str | Genotype, shape: Shape) -> tuple[int, int] | None:
    """Parameters and multiply-accumulates, where the cell's data file has them."""
    if isinstance(cell, Genotype):
        return None
    sizes = {shape_of(size.network): (size.parameters, size.macs) for size in zoo_cell(cell).sizes}
    return sizes.get(shape)


def _parabola(x: tuple[int, int, int], y: list[int], at: int) -> Fraction:
    """Value of the parabola through three points (Lagrange)."""
    total = Fraction(0)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        total += y[i] * Fraction((at - x[j]) * (at - x[k]), (x[i] - x[j]) * (x[i] - x[k]))
    return total
