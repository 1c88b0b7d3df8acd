"""What the network of any cell costs, without building it: sums over its operations.

Parameters and multiply-accumulates are counted (`space.network_size`). Latency is predicted: each
operation of the space is timed once for the channels and image sizes at which it stands, and a few
whole networks for the rest. The times are kept with the run, so that a resumed one predicts the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from xnas.data import Images
from xnas.errors import ConfigError, DamagedFileError
from xnas.model.latency import measure_latency, steady_latency
from xnas.nn.operations import FINAL, build_operation
from xnas.process.devices import pick_device
from xnas.runs.config_file import as_json, read_json
from xnas.runs.limits import Limits, costs_of, latency_device
from xnas.runs.options import LimitOptions
from xnas.runs.train_config import TrainConfig
from xnas.runs.train_plan import resolve
from xnas.space import SPACES, Genotype, build_network
from xnas.space.cell_genotype import NONE
from xnas.space.network_size import NetworkSize, NetworkSizes, Place, adds_up

NAME, FORMAT, VERSION = "latency.json", "xnas-latency", 1
OPERATION_SECONDS = 0.1  # of timed passes of one operation
WHOLE_NETWORKS = 2  # whose least rest counts: a busy machine only ever adds to it


@dataclass
class Latencies:
    """Latency of the networks of one specification, as a sum of operations that were timed alone."""

    sizes: NetworkSizes
    device: torch.device
    batch: int = 1
    times: dict[str, float] = field(default_factory=dict)
    """Milliseconds of each operation, by `_name`."""
    rest: float = 0.0
    """Milliseconds of a network beyond its operations: stem, classifier and the inputs of its cells."""

    @classmethod
    def measured(cls, sizes: NetworkSizes, space: str, device: torch.device, batch: int) -> Latencies:
        """Time every operation of a space where it stands, and a few whole networks."""
        if not adds_up(space):
            raise ConfigError(
                f"the latency of a cell of the space {space} cannot be predicted: its networks are not "
                "known to be sums of their operations; use --max-macs, or --max-latency in a training"
            )
        made = cls(sizes, device, batch)
        samples = [Genotype.random(space, seed=seed) for seed in range(WHOLE_NETWORKS)]
        for operation in (*SPACES[space].operations, NONE):
            for place in made._all_places(samples[0]):
                made.times[_name(operation, place)] = made._time(operation, place)
        rests = [made.whole(cell, below=0.0) - made.predicted(cell) for cell in samples]
        made.rest = max(0.0, min(rests))
        return made

    def predicted(self, genotype: Genotype) -> float:
        """Milliseconds of the network of a genotype, as the sum has it."""
        kinds = SPACES[genotype.space].kinds
        return self.rest + sum(
            self.of_edge(genotype, kind, edge.operation, edge.source)
            for kind in kinds
            for edges in genotype.cell(kind).nodes
            for edge in edges
        )

    def of_edge(self, genotype: Genotype, kind: Any, operation: str, source: int) -> float:  # noqa: ANN401
        """Milliseconds of an operation on an edge from `source`, in all cells of a kind."""
        places = self.sizes.places(genotype, kind, source)
        return sum(self.times[_name(operation, place)] for place in places)

    def whole(self, genotype: Genotype, *, below: float) -> float:
        """Milliseconds of the network itself, measured again while it is not `below` so many."""
        with torch.random.fork_rng(devices=[]):
            model = build_network(genotype, self.sizes.spec.for_inference)
        shape = self.sizes.image
        return steady_latency(
            model, shape, batch=self.batch, device=self.device, below=below
        ).milliseconds

    def to_json(self) -> dict[str, object]:
        """What a run keeps of it."""
        own = {"device": str(self.device), "batch": self.batch, "rest": self.rest, "times": self.times}
        return {"format": FORMAT, "version": VERSION} | own

    def restored(self, saved: Mapping[str, Any]) -> Latencies:
        """The same with the times of a run; raises if they cannot be read."""
        if (saved.get("format"), saved.get("version")) != (FORMAT, VERSION):
            raise DamagedFileError(
                "latency.json is not what this version of xnas writes; restore it from a copy, or start "
                "a new run"
            )
        try:
            times = {str(name): float(value) for name, value in saved["times"].items()}
            return Latencies(self.sizes, self.device, int(saved["batch"]), times, float(saved["rest"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedFileError(
                f"latency.json is damaged ({error!r}); restore it from a copy, or start a new run"
            ) from error

    def _all_places(self, genotype: Genotype) -> list[Place]:
        space = SPACES[genotype.space]
        every = (
            place
            for kind in space.kinds
            for source, _ in space.edges
            for place in self.sizes.places(genotype, kind, source)
        )
        return list(dict.fromkeys(every))

    def _time(self, operation: str, place: Place) -> float:
        channels, stride, size = place
        with torch.random.fork_rng(devices=[]):
            module = build_operation(operation, channels, stride, FINAL).to(self.device)
        return measure_latency(
            module,
            (channels, *size),
            batch=self.batch,
            device=self.device,
            seconds=OPERATION_SECONDS,
        ).milliseconds


@dataclass(frozen=True, slots=True)
class CellCosts:
    """Costs of the networks of cells, as far as limits need them."""

    size: Callable[[Genotype], NetworkSize]
    latencies: Latencies | None = None

    def predicted(self, genotype: Genotype) -> dict[str, float]:
        """Counts, and the latency that is predicted."""
        found = costs_of(self.size(genotype))
        if self.latencies is not None:
            found["latency"] = self.latencies.predicted(genotype)
        return found

    def measured(self, genotype: Genotype, limits: Limits) -> dict[str, float]:
        """Counts, and the latency that the network itself has."""
        found = costs_of(self.size(genotype))
        if self.latencies is not None:
            found["latency"] = self.latencies.whole(genotype, below=limits.most["latency"])
        return found


def _name(operation: str, place: Place) -> str:
    """An operation and its place in one word, such as `sep_conv_3x3/36/1/32x32`."""
    channels, stride, (height, width) = place
    return f"{operation}/{channels}/{stride}/{height}x{width}"


def network_sizes(options: TrainConfig, genotype: Genotype, images: Images) -> NetworkSizes:
    """Sizes of the networks that trainings by these options have, for any cell of a space."""
    plan = resolve(
        options,
        genotype,
        dataset=images.name,
        examples=len(images.labels),
        classes=len(images.classes),
        shape=(images.channels, *images.size),
        device=pick_device(options.device),
    )
    return NetworkSizes(plan.network, (images.channels, *plan.recipe.images.seen(images.size)))


def latencies_of(
    options: LimitOptions,
    sizes: NetworkSizes,
    space: str,
    device: torch.device,
    saved: Callable[[Latencies], Latencies] | None,
) -> Latencies:
    """Latencies of cells, by the times of a run or measured now; `device` is where the run computes."""
    where = latency_device(options, device)
    if saved is not None:
        return saved(Latencies(sizes, where, options.latency_batch))
    return Latencies.measured(sizes, space, where, options.latency_batch)


def first_files(costs: CellCosts | None) -> dict[str, str]:
    """Files that a run begins with so that it predicts the same when it is resumed, by name."""
    if costs is None or costs.latencies is None:
        return {}
    return {NAME: as_json(costs.latencies.to_json())}


def saved_times(folder: Path) -> Callable[[Latencies], Latencies]:
    """What puts the times that the run in a folder has measured in place of new ones."""
    saved = read_json(folder / NAME, remedy="restore it from a copy, or start a new run")
    return lambda latencies: latencies.restored(saved)
