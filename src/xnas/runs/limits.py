"""Limits on what the network to be trained may cost: parameters, multiply-accumulates, latency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch

from xnas.engine.distributed import Ranks
from xnas.errors import ConfigError
from xnas.process.devices import pick_device
from xnas.runs.options import LimitOptions
from xnas.space.network_size import NetworkSize

Costs = Mapping[str, float]
"""What a network costs, by resource: `params`, `macs`, and `latency` in milliseconds if it is known."""
RESOURCES = ("params", "macs", "latency")
UNLIMITED: dict[str, Any] = {declared.name: declared.default for declared in fields(LimitOptions)}
"""Options without limits, for runs whose networks are limited by another run."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most of each resource; those without a limit are left out."""

    most: Costs

    @classmethod
    def of(cls, options: LimitOptions) -> Limits:
        """The limits that the options set."""
        given = {name: getattr(options, f"max_{name}") for name in RESOURCES}
        return cls({name: value for name, value in given.items() if value is not None})

    @property
    def words(self) -> str:
        """The limits as they were given."""
        return " and ".join(f"{flag(name)} {value:.7g}" for name, value in self.most.items())

    def beyond(self, costs: Costs) -> str | None:
        """Which limit a network is beyond, in words; None if it obeys all."""
        for name, most in self.most.items():
            if costs[name] > most:
                return f"{in_words(name, costs[name])} are above --max-{name} {most:.7g}"
        return None

    def used(self, costs: Costs) -> float:
        """The largest of the costs as a share of its limit; 0 without limits."""
        return max((costs[name] / most for name, most in self.most.items()), default=0.0)


def flag(name: str) -> str:
    """The option that limits a resource."""
    return f"--max-{name}"


def in_words(name: str, value: float) -> str:
    """An amount of a resource."""
    if name == "latency":
        return f"{value:.3g} ms"
    unit = "parameters" if name == "params" else "multiply-accumulates"
    return f"{round(value):,} {unit}"


def costs_of(size: NetworkSize) -> dict[str, float]:
    """The costs of a network whose latency is not known."""
    return {"params": float(size.parameters), "macs": float(size.macs)}


def latency_device(options: LimitOptions, device: torch.device) -> torch.device:
    """Where latency is measured; `device` is where the command computes."""
    if options.latency_device is None:
        return device
    try:
        return pick_device(options.latency_device)
    except ConfigError as error:
        raise ConfigError(str(error).replace("--device", "--latency-device")) from error


def require_one_process(options: LimitOptions, ranks: Ranks) -> None:
    """Raise if several processes would each measure another latency."""
    if options.max_latency is not None and not ranks.alone:
        raise ConfigError(
            f"--max-latency is measured by one process, and this run has {ranks.size}; use --max-macs, "
            "or run it in one process"
        )
