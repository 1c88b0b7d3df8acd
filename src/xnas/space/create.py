"""Networks by name, and what they cost."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from xnas.errors import ConfigError, UnknownNameError
from xnas.registry import known_names
from xnas.space.genotype import Genotype
from xnas.space.network import NETWORKS, Network
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
    `Genotype`, a JSON file or the run folder of a search. `network` is `cifar` (by default 10 classes,
    36 channels, 20 cells) or `imagenet` (1000, 46, 14, squeeze-and-excitation, stem of 56 channels).
    With `auxiliary` there is a second classifier for training, see `Network.forward_with_auxiliary`;
    `drop_path_rate` drops edges in training, and `model.drop_path.set_rate` changes it.
    """
    if network not in NETWORKS:
        raise UnknownNameError(f"no network called {network!r}; {known_names(network, NETWORKS)}")
    kind = NETWORKS[network]
    genotype = find_genotype(cell)
    if channels is None and isinstance(cell, str):
        channels = PRESETS.get(cell)
    num_classes = kind.num_classes if num_classes is None else num_classes
    channels = kind.channels if channels is None else channels
    cells = kind.cells if cells is None else cells
    stem = kind.stem_channels(channels, in_chans) if stem_channels is None else stem_channels
    for name, value, least in (
        ("num_classes", num_classes, 1),
        ("in_chans", in_chans, 1),
        ("channels", channels, 1),
        ("cells", cells, 3),
        ("stem_channels", stem, 1),
    ):
        if value < least:
            raise ConfigError(f"{name} must be at least {least}, got {value}")
    return Network(
        genotype,
        kind,
        num_classes=num_classes,
        in_chans=in_chans,
        channels=channels,
        cells=cells,
        auxiliary=auxiliary,
        drop_path_rate=drop_path_rate,
        squeeze_excitation=kind.squeeze_excitation if squeeze_excitation is None else squeeze_excitation,
        stem_channels=stem,
    )


def count_parameters(model: nn.Module) -> int:
    """Numbers that training may change. An auxiliary tower counts; the paper's counts leave it out."""
    return sum(parameter.numel() for parameter in model.parameters())


def count_macs(model: nn.Module, shape: tuple[int, ...]) -> int:
    """Multiply-accumulates of convolutions and linear layers for one image (channels, height, width).

    What the model's `forward` computes counts, so an auxiliary tower does not. Papers that say FLOPs
    mostly mean these.
    """
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415 - it loads triton

    parameter = next(model.parameters(), None)
    if len(shape) != 3 or min(shape) < 1:
        raise ConfigError(f"an image is (channels, height, width), got {tuple(shape)}")
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
