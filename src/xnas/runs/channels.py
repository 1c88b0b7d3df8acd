"""How wide a network may be within limits; costs grow with its channels."""

from __future__ import annotations

from collections.abc import Callable

import torch

from xnas.errors import ConfigError
from xnas.model.latency import steady_latency
from xnas.runs.limits import Limits, costs_of, in_words, latency_device
from xnas.runs.train_config import TrainConfig
from xnas.space import Architecture, NetworkSpec, build_network, count_macs, count_parameters
from xnas.space.network_size import NetworkSize

MOST_CHANNELS = 1024


def channels_within(
    options: TrainConfig,
    spec: NetworkSpec,
    architecture: Architecture,
    shape: tuple[int, int, int],
    device: torch.device,
) -> tuple[int, str]:
    """Return the channels that the options give, or the most even ones within their limits, and a note.

    `shape` is (channels, height, width) of the images. Raises if the channels that were given are beyond
    a limit, or if no network is within all.
    """
    limits, plain = Limits.of(options), spec.for_inference

    def costs(channels: int) -> dict[str, float]:
        wide = plain.but(channels=channels)
        with torch.device("meta"):
            model = build_network(architecture, wide)
        found = costs_of(NetworkSize(count_parameters(model), count_macs(model, shape)))
        if "latency" in limits.most and not limits.beyond(found | {"latency": 0.0}):
            with torch.random.fork_rng(devices=[]):
                timed = build_network(architecture, wide)
            found["latency"] = steady_latency(
                timed,
                shape,
                batch=options.latency_batch,
                device=latency_device(options, device),
                below=limits.most["latency"],
            ).milliseconds
        return found

    def fits(channels: int) -> bool:
        return limits.beyond({"latency": 0.0} | costs(channels)) is None

    if options.channels is not None:
        fault = limits.beyond({"latency": 0.0} | costs(options.channels))
        if fault is None:
            return options.channels, ""
        most = _most(fits)
        advice = (
            f"{most} channels would fit: leave --channels out" if most else _advice(spec, architecture)
        )
        raise ConfigError(f"with {options.channels} channels {fault}; {advice}")
    most = _most(fits)
    if not most:
        least = {"latency": 0.0} | costs(2)
        unit = architecture.defaults.cells_unit
        name = next(name for name in limits.most if least[name] > limits.most[name])
        raise ConfigError(
            f"no network of {spec.cells} {unit} is within {limits.words}: with 2 channels it is "
            f"{in_words(name, least[name])}; {_advice(spec, architecture)}"
        )
    return most, f"{most} channels, the most within the limits"


def _most(fits: Callable[[int], bool]) -> int:
    """The most even channels that fit; 0 if none do."""
    if not fits(2):
        return 0
    least, most = 1, 2
    while most <= MOST_CHANNELS // 2 and fits(2 * most):  # from below: wide networks take long to time
        least, most = most, 2 * most
    most = min(most - 1, MOST_CHANNELS // 2)
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if fits(2 * middle) else (least, middle - 1)
    return 2 * least


def _advice(spec: NetworkSpec, architecture: Architecture) -> str:
    fewer = ", or use fewer --cells" if spec.cells > architecture.defaults.least_cells else ""
    return f"raise the limit{fewer}"
