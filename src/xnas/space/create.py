"""Networks by name, and what they cost."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from xnas.errors import ConfigError, UnknownNameError
from xnas.nn.parameters import require_module
from xnas.registry import known_names
from xnas.space.benchmark_network import CELLS, CHANNELS, BenchmarkNetwork
from xnas.space.genotype import Genotype
from xnas.space.network import NETWORKS, CellNetwork, Network
from xnas.space.spaces import SPACES
from xnas.space.zoo import PRESETS, find_genotype


def create_model(
    cell: str | Path | Genotype,
    *,
    network: str = "cifar",
    num_classes: int | None = None,
    in_chans: int = 3,
    channels: int | None = None,
    cells: int | None = None,
    auxiliary: bool = False,
    drop_path_rate: float = 0.0,
    squeeze_excitation: bool | None = None,
    stem_channels: int | None = None,
) -> Network:
    """The network of a cell, with random weights; `forward` returns logits.

    `cell` is a published cell's name (`list_cells()`), `xnas_small`, `xnas_medium` or `xnas_large`, a
    `Genotype`, a string of NAS-Bench-201, a JSON file or the run folder of a search. `network` is
    `cifar` (by default 10 classes, 36 channels, 20 cells) or `imagenet` (1000, 46, 14,
    squeeze-and-excitation, stem of 56 channels). With `auxiliary` there is a second classifier for
    training, see `Network.forward_with_auxiliary`; a `drop_path_rate` above 0 drops edges in training,
    and `model.drop_path.set_rate` then changes it. A cell of NAS-Bench-201 builds the benchmark's own
    network, by default of 16 channels and 5 cells a stage.
    """
    if network not in NETWORKS:
        raise UnknownNameError(f"no network called {network!r}; {known_names(network, NETWORKS)}")
    kind = NETWORKS[network]
    _require_kinds(auxiliary=auxiliary, squeeze_excitation=squeeze_excitation)
    genotype = find_genotype(cell)
    if SPACES[genotype.space].as_string:
        _require_none_of(
            network=None if network == "cifar" else network,
            auxiliary=auxiliary or None,
            drop_path_rate=drop_path_rate or None,
            squeeze_excitation=squeeze_excitation or None,
            stem_channels=None if stem_channels in (channels, CHANNELS) else stem_channels,
        )
        return BenchmarkNetwork(
            genotype,
            num_classes=_least("num_classes", 10 if num_classes is None else num_classes, 1),
            in_chans=_least("in_chans", in_chans, 1),
            channels=_least("channels", CHANNELS if channels is None else channels, 1),
            cells=_least("cells", CELLS if cells is None else cells, 1),
        )
    if channels is None and network == "cifar" and not isinstance(cell, Genotype):
        channels = PRESETS.get(str(cell))
    num_classes = kind.num_classes if num_classes is None else num_classes
    channels = kind.channels if channels is None else channels
    cells = kind.cells if cells is None else cells
    stem = kind.stem_channels(channels, in_chans) if stem_channels is None else stem_channels
    return CellNetwork(
        genotype,
        kind,
        num_classes=_least("num_classes", num_classes, 1),
        in_chans=_least("in_chans", in_chans, 1),
        channels=_least("channels", channels, 1),
        cells=_least("cells", cells, 3),
        auxiliary=auxiliary,
        drop_path_rate=drop_path_rate,
        squeeze_excitation=kind.squeeze_excitation if squeeze_excitation is None else squeeze_excitation,
        stem_channels=_least("stem_channels", stem, 1),
    )


def _require_kinds(**flags: bool | None) -> None:
    for name, value in flags.items():
        if value not in (True, False, None):
            raise ConfigError(f"{name} must be True or False, got {value!r}")


def _least(name: str, value: int, least: int) -> int:
    if not isinstance(value, int):
        raise ConfigError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ConfigError(f"{name} must be at least {least}, got {value}")
    return value


def _require_none_of(**given: str | float | None) -> None:
    """Raise for what NAS-Bench-201's networks do not have."""
    for name, value in given.items():
        if value is not None:
            raise ConfigError(
                f"a network of NAS-Bench-201 has no {name} to set, got {value}; leave it out"
            )


def count_parameters(model: nn.Module) -> int:
    """Numbers in all parameters. An auxiliary tower counts; the paper's counts leave it out."""
    require_module(model)
    return sum(parameter.numel() for parameter in model.parameters())


def count_macs(model: nn.Module, shape: tuple[int, ...]) -> int:
    """Multiply-accumulates of convolutions and linear layers for one image (channels, height, width).

    What the model's `forward` computes counts, so an auxiliary tower does not. Papers that say FLOPs
    mostly mean these.
    """
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415 - it loads triton

    require_module(model)
    parameter = next(model.parameters(), None)
    sizes: object = shape
    if (
        not isinstance(sizes, tuple | list | torch.Size)
        or len(sizes) != 3
        or not all(isinstance(size, int) and size > 0 for size in sizes)
    ):
        raise ConfigError(f"an image is (channels, height, width), got {shape}")
    image = torch.zeros(
        1,
        *shape,
        device=parameter.device if parameter is not None else None,
        dtype=parameter.dtype if parameter is not None else None,
    )
    modes = [(module, module.training) for module in model.modules()]
    counter = FlopCounterMode(display=False)
    try:
        with torch.no_grad(), counter:
            model.eval()(image)
    finally:
        for module, training in modes:
            module.training = training
    return int(counter.get_total_flops()) // 2
