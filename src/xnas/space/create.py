"""Networks by name, and what they cost."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from xnas.errors import ConfigError, UnknownNameError
from xnas.nn.parameters import require_module
from xnas.registry import known_names
from xnas.space.architecture import Architecture, Found, find_architecture
from xnas.space.network import Network
from xnas.space.network_spec import NetworkSpec
from xnas.space.zoo import PRESETS


def create_model(
    cell: str | Path | Architecture | Found,
    *,
    network: str = "cifar",
    num_classes: int | None = None,
    in_chans: int = 3,
    channels: int | None = None,
    cells: int | None = None,
    auxiliary: bool = False,
    drop_path_rate: float | None = None,
    squeeze_excitation: bool | None = None,
    stem_channels: int | None = None,
) -> Network:
    """Return the network of a cell, with random weights; `forward` returns logits (batch, classes).

    `cell` is a published cell's name (`list_cells()`), `xnas_small`, `xnas_medium` or `xnas_large`, a
    `Genotype`, a string of NAS-Bench-201, a JSON file, the run folder of a search or what the search
    returned. `network` is
    `cifar` (by default 10 classes, 36 channels, 20 cells) or `imagenet` (1000, 46, 14,
    squeeze-and-excitation, stem of 56 channels). With `auxiliary` there is a second classifier for
    training, see `Network.forward_with_auxiliary`; a `drop_path_rate` above 0 drops edges in training,
    and `model.drop_path.set_rate` then changes it. A cell of NAS-Bench-201 builds the benchmark's own
    network, by default of 16 channels and 5 cells per stage. A `Wiring`, or the name of one such as
    `ws-4-0.75-0`, builds a randomly wired network, which drops edges on ImageNet by default if it has
    four stages. `resnet-20` and the like build the residual networks for CIFAR. `model.spec` describes
    what was built.

    >>> model = create_model("xnas", num_classes=7, channels=4, cells=3)
    >>> model(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 7])
    """
    architecture = find_architecture(cell)
    if channels is None and network == "cifar" and isinstance(cell, str | Path):
        channels = PRESETS.get(str(cell))
    spec = network_spec(architecture, network).but(
        num_classes=num_classes,
        in_chans=in_chans,
        channels=channels,
        cells=cells,
        squeeze_excitation=squeeze_excitation,
        stem_channels=stem_channels,
        auxiliary=auxiliary,
        drop_path_rate=drop_path_rate,
    )
    return build_network(architecture, spec)


def network_spec(architecture: Architecture, network: str = "cifar") -> NetworkSpec:
    """Return the network of that name for an architecture, with the sizes it has by default."""
    known = architecture.defaults.networks
    if network not in known:
        raise UnknownNameError(f"no network called {network!r}; {known_names(network, known)}")
    return known[network]


def build_network(architecture: Architecture, spec: NetworkSpec) -> Network:
    """Return the network of an architecture as it is described, with random weights."""
    network_spec(architecture, spec.network)
    for name, value, least in (
        ("num_classes", spec.num_classes, 1),
        ("cells", spec.cells, architecture.defaults.least_cells),
    ):
        if value < least:
            raise ConfigError(f"{name} must be at least {least}, got {value}")
    return architecture.build(spec)


def count_parameters(model: nn.Module) -> int:
    """Return how many numbers all parameters have.

    An auxiliary tower counts; the paper's counts leave it out.

    >>> count_parameters(nn.Conv2d(3, 8, 3))
    224
    """
    require_module(model)
    return sum(parameter.numel() for parameter in model.parameters())


def count_macs(model: nn.Module, shape: tuple[int, ...]) -> int:
    """Return the multiply-accumulates of convolutions and linear layers for one image.

    `shape` is (channels, height, width). What the model's `forward` computes counts, so an auxiliary
    tower does not. Papers that say FLOPs mostly mean these.

    >>> count_macs(nn.Conv2d(3, 8, 3, padding=1), (3, 32, 32)) == 3 * 8 * 3 * 3 * 32 * 32
    True
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
