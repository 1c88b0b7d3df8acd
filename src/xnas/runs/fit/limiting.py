"""Limits on the model in a fit: they hold for every network of its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

import torch

from xnas.data import Images
from xnas.errors import ConfigError
from xnas.model.latency import steady_latency
from xnas.process.devices import pick_device
from xnas.runs.fit.config import FitConfig
from xnas.runs.limits import Limits, costs_of, in_words, latency_device
from xnas.space import (
    Architecture,
    Genotype,
    NetworkSpec,
    build_network,
    count_macs,
    count_parameters,
    network_spec,
)
from xnas.space.network_size import NetworkSize, NetworkSizes

MOST_TIMED = 5
DRAWN = 100
"""Random cells by whose costs the sizes of networks are chosen."""

Size = tuple[int, int]
"""Cells and channels."""


@dataclass(frozen=True)
class FitLimits:
    """The limits of a fit, for networks of its images."""

    options: FitConfig
    images: Images

    @cached_property
    def limits(self) -> Limits:
        """What is limited."""
        return Limits.of(self.options)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the images."""
        return self.images.channels, *self.images.size

    def spec(
        self, architecture: Architecture, *, cells: int | None = None, channels: int | None = None
    ) -> NetworkSpec:
        """The network of an architecture for these images, of its usual size unless one is given."""
        usual = network_spec(architecture, next(iter(architecture.defaults.networks)))
        return usual.but(
            num_classes=len(self.images.classes),
            in_chans=self.images.channels,
            cells=cells,
            channels=channels,
        ).for_inference

    def fault(
        self, architecture: Architecture, *, cells: int | None = None, channels: int | None = None
    ) -> str | None:
        """Which limit a network is beyond, in words; None if it obeys all, or if there are none."""
        most = self.limits.most
        if not most:
            return None
        spec = self.spec(architecture, cells=cells, channels=channels)
        with torch.device("meta"):
            model = build_network(architecture, spec)
        macs = count_macs(model, self.shape) if "macs" in most else 0  # takes longer than all else
        costs = costs_of(NetworkSize(count_parameters(model), macs))
        fault = self.limits.beyond({"latency": 0.0} | costs)
        if fault is not None or "latency" not in most:
            return fault
        with torch.random.fork_rng(devices=[]):
            timed = build_network(architecture, spec)
        measured = steady_latency(
            timed,
            self.shape,
            batch=self.options.latency_batch,
            device=latency_device(self.options, pick_device(self.options.device)),
            below=most["latency"],
        )
        return self.limits.beyond(costs | {"latency": measured.milliseconds})

    def obeying(self, like: Genotype, *, cells: int, channels: int) -> Callable[[Genotype], bool]:
        """Whether the network of a cell of the same space obeys, for many cells.

        Counts are summed from edges, and only some networks are timed: cells after those do not obey.
        """
        sizes = NetworkSizes(self.spec(like, cells=cells, channels=channels), self.shape)
        timed = 0

        def obeys(cell: Genotype) -> bool:
            nonlocal timed
            if self.limits.most and self._share(costs_of(sizes.size(cell))) > 1:
                return False
            if "latency" not in self.limits.most:
                return True
            timed += 1
            return timed <= MOST_TIMED and self.fault(cell, cells=cells, channels=channels) is None

        return obeys

    def sizes(self, architecture: Architecture, sizes: Sequence[Size]) -> tuple[Size, ...]:
        """Those of rising sizes at which a network obeys; raises if there is none."""
        fitting: list[Size] = []
        for cells, channels in sizes:
            fault = self.fault(architecture, cells=cells, channels=channels)
            if fault is not None:
                break
            fitting.append((cells, channels))
        if fitting:
            return tuple(fitting)
        raise ConfigError(f"no network that is planned is within the limits: {fault}; raise the limit")

    def cell_sizes(self, space: str, sizes: Sequence[Size], reference: Architecture) -> tuple[Size, ...]:
        """Those of rising sizes at which an ordinary cell obeys, or one at which some cell does.

        Raises if there is none. With a limited latency the reference cell has to obey as well.
        """
        drawn = [Genotype.random(space, seed=seed) for seed in range(DRAWN)]
        ordinary: list[Size] = []
        possible: list[Size] = []
        smallest: dict[str, float] = {}
        for size in sizes:
            counts = NetworkSizes(self.spec(drawn[0], cells=size[0], channels=size[1]), self.shape)
            costs = [costs_of(counts.size(one)) for one in drawn]
            used = [self._share(one) for one in costs]
            smallest = smallest or costs[used.index(min(used))]
            if min(used) > 1:
                break
            possible.append(size)
            if median(used) <= 1 and not self._too_slow(reference, size):
                ordinary.append(size)
        if possible:
            return tuple(ordinary or possible[:1])
        found = ", ".join(
            in_words(name, smallest[name]) for name in self.limits.most if name in smallest
        )
        raise ConfigError(
            f"no network of {space} is within {self.limits.words}: the smallest that is planned has "
            f"{found}; raise the limit"
        )

    def _share(self, costs: dict[str, float]) -> float:
        return self.limits.used({"latency": 0.0} | costs)

    def _too_slow(self, reference: Architecture, size: Size) -> bool:
        if "latency" not in self.limits.most:
            return False
        return self.fault(reference, cells=size[0], channels=size[1]) is not None
