"""The networks under timm's names: `import xnas.timm`, then `timm.create_model("xnas_small")`.

Registered are the paper's `xnas_small`, `xnas_medium` and `xnas_large`, and for every published cell
`<cell>_cifar` and `<cell>_imagenet`. They follow timm's `num_classes`, `in_chans` and `drop_path_rate`,
and take the sizes of `xnas.create_model`. Any other setting would have no effect and is refused.
`num_classes=0` leaves the classifier out: the network then returns its pooled features.

The name of this module is no obstacle to timm's own: imports are absolute.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from timm.models import build_model_with_cfg, register_model, resolve_pretrained_cfg

from xnas.data.cifar import MEAN, STD
from xnas.errors import ConfigError
from xnas.registry import known_names
from xnas.space import NETWORKS, PRESETS, Network, create_model, list_cells

SETTINGS = (
    "num_classes",
    "in_chans",
    "drop_path_rate",
    "channels",
    "cells",
    "stem_channels",
    "squeeze_excitation",
    "auxiliary",
)
"""What may be given, all of them arguments of `xnas.create_model`."""
AS_THEY_ARE: dict[str, object] = {"drop_rate": 0, "global_pool": "avg"}
"""What timm's scripts may set of their own accord: these values, which change nothing."""

SOURCES = {
    **{name: (name, "cifar") for name in PRESETS},
    **{f"{cell}_{network}": (cell, network) for cell in list_cells() for network in NETWORKS},
}
"""Name in timm -> the cell and the kind of network, as `xnas.create_model` takes them."""

CONFIGS: dict[str, dict[str, object]] = {
    "cifar": {
        "num_classes": NETWORKS["cifar"].num_classes,
        "input_size": (3, 32, 32),
        "min_input_size": (3, 4, 4),
        "pool_size": (8, 8),
        "crop_pct": 1.0,
        "interpolation": "bilinear",
        "mean": MEAN,
        "std": STD,
        "first_conv": "stem.layers.0",
        "classifier": "classifier",
    },
    "imagenet": {  # timm's own mean and deviation are ImageNet's
        "num_classes": NETWORKS["imagenet"].num_classes,
        "input_size": (3, 224, 224),
        "min_input_size": (3, 32, 32),
        "pool_size": (7, 7),
        "crop_pct": 0.875,
        "interpolation": "bilinear",
        "first_conv": "stem.quarter.0",
        "classifier": "classifier",
    },
}
default_cfgs = {name: CONFIGS[network] for name, (_, network) in SOURCES.items()}
"""What timm knows of each network's images; `register_model` looks for it under this name."""


def _require_settings(name: str, settings: dict[str, object]) -> None:
    """Raise for what the network cannot follow."""
    for setting, value in settings.items():
        if setting in AS_THEY_ARE and value != AS_THEY_ARE[setting]:
            raise ConfigError(
                f"{name} was given {setting}={value!r}, which it cannot follow; leave it out, or give "
                f"{setting}={AS_THEY_ARE[setting]!r}"
            )
        if setting not in SETTINGS and setting not in AS_THEY_ARE:
            raise ConfigError(f"{name} takes no {setting!r}; {known_names(setting, SETTINGS)}")


def _create(name: str, *, num_classes: int, **settings: Any) -> Network:  # noqa: ANN401 - they pass
    cell, network = SOURCES[name]
    model = create_model(cell, network=network, num_classes=num_classes or None, **settings)
    if num_classes == 0:
        model.reset_classifier(0)
    return model


def _entrypoint(name: str) -> Callable[..., Network]:
    """The function that timm calls for a name; timm also takes the name from the function."""

    def entrypoint(
        pretrained: bool = False,  # noqa: FBT001, FBT002 - timm's convention
        *,
        pretrained_cfg: Any = None,  # noqa: ANN401 - timm's own: a tag, a dict or an object
        pretrained_cfg_overlay: dict[str, Any] | None = None,
        pretrained_model_args: dict[str, Any] | None = None,
        cache_dir: Path | str | None = None,
        **settings: Any,  # noqa: ANN401 - checked below
    ) -> Network:
        _require_settings(name, settings)
        # A configuration of the user's own, as in a folder that timm saved, may say where weights are.
        config = resolve_pretrained_cfg(name, pretrained_cfg, pretrained_cfg_overlay)
        if pretrained and not config.has_weights:
            raise ConfigError(
                f"{name} was asked for with pretrained=True, but no weights are published with it; "
                "leave that out, and train the network or load weights of your own"
            )
        source: dict[str, Any] = (
            {"pretrained_model_args": pretrained_model_args} if pretrained_model_args else {}
        )
        return build_model_with_cfg(
            partial(_create, name),
            name,
            pretrained,
            pretrained_cfg=pretrained_cfg,
            pretrained_cfg_overlay=pretrained_cfg_overlay,
            cache_dir=cache_dir,
            **source,  # older versions of timm neither give nor take it
            **{key: value for key, value in settings.items() if key in SETTINGS},
        )

    entrypoint.__name__ = entrypoint.__qualname__ = name
    entrypoint.__doc__ = "The network of the cell {} of the kind {}.".format(*SOURCES[name])
    return entrypoint


__all__ = ["SOURCES"]
for _name in SOURCES:
    # timm adds the name to __all__, so it has to be one of this module.
    globals()[_name] = register_model(_entrypoint(_name))
