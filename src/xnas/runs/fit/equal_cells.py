"""A random cell whose network is about as large as another one's: the baseline of a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from xnas.data import stream_seed
from xnas.space import Genotype, NetworkSpec, build_network, count_parameters
from xnas.space.network_size import NetworkSizes

DRAWS = 1000
"""Cells that are drawn until one is of equal size; to size one takes a millisecond."""
NEAREST = 4
"""Draws that are tried with other channels if none is of equal size as it is."""
TOLERANCE = 0.1
MOST_CHANNELS = 1024

Count = Callable[[Genotype, int], int]
"""Parameters of the network of a cell with so many channels."""


@dataclass(frozen=True, slots=True)
class EqualCell:
    """A cell that was drawn, and the channels that make its network equally large."""

    genotype: Genotype
    channels: int
    parameters: int
    note: str
    """How it was found."""
    equal: bool = True
    """Whether it is within a tenth of the wanted size."""


def equal_cell(
    found: Genotype,
    spec: NetworkSpec,
    shape: tuple[int, int, int],
    *,
    seed: int,
    obeys: Callable[[Genotype], bool] = lambda _: True,
) -> EqualCell:
    """The first cell drawn by `seed` whose network has about as many parameters as the found one's.

    `shape` is (channels, height, width) of the images. Cells whose networks do not obey limits are left
    out. If no draw is of equal size, it is one of the nearest of them with other channels.
    """
    sizes = NetworkSizes(spec.for_inference, shape)

    def count(genotype: Genotype, channels: int) -> int:
        if channels == spec.channels:
            return sizes.size(genotype).parameters
        with torch.device("meta"):
            model = build_network(genotype, spec.for_inference.but(channels=channels))
        return count_parameters(model)

    return nearest_cell(found, spec.channels, count, seed=seed, obeys=obeys)


def nearest_cell(
    found: Genotype,
    channels: int,
    count: Count,
    *,
    seed: int,
    obeys: Callable[[Genotype], bool] = lambda _: True,
) -> EqualCell:
    """As `equal_cell`, by a count of parameters."""
    wanted = count(found, channels)
    drawn: list[tuple[int, Genotype]] = []
    for number in range(DRAWS):
        genotype = Genotype.random(found.space, stream_seed(seed, f"random cell {number}"))
        if genotype == found:
            continue
        size = count(genotype, channels)
        if abs(size - wanted) <= TOLERANCE * wanted and obeys(genotype):
            note = f"draw {number + 1}, {size:,} parameters beside {wanted:,}"
            return EqualCell(genotype, channels, size, note)
        drawn.append((size, genotype))
    drawn.sort(key=lambda one: abs(one[0] - wanted))
    fits = [(genotype, *_fitting(genotype, channels, wanted, count)) for _, genotype in drawn[:NEAREST]]
    genotype, fitting, size = min(fits, key=lambda one: abs(one[2] - wanted))
    equal = abs(size - wanted) <= TOLERANCE * wanted
    other = f" with {fitting} channels instead of {channels}" if fitting != channels else ""
    note = (
        f"none of {DRAWS:,} draws is within {TOLERANCE:.0%} of {wanted:,} parameters; the nearest"
        f"{other} has {size:,} parameters"
    )
    if not equal:
        note += f", {size / wanted - 1:+.0%}: it is not of equal size"
    return EqualCell(genotype, fitting, size, note, equal)


def _fitting(genotype: Genotype, channels: int, wanted: int, count: Count) -> tuple[int, int]:
    """The channels whose network is nearest in size, and that size."""
    step = 1 if count(genotype, channels) < wanted else -1
    best = channels, count(genotype, channels)
    while 1 <= best[0] + step <= MOST_CHANNELS:
        following = best[0] + step, count(genotype, best[0] + step)
        if abs(following[1] - wanted) >= abs(best[1] - wanted):
            break
        best = following
    return best
