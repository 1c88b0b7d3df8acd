"""The description of a final network: everything that decides how it is built, its cells aside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from reprlib import repr as brief

from xnas.errors import ConfigError, VersionError

JSON_TYPES: dict[str, type] = {
    "network": str,
    "num_classes": int,
    "in_chans": int,
    "channels": int,
    "cells": int,
    "squeeze_excitation": bool,
    "stem_channels": int,
}
"""Fields that a file has, all of them: a default may change some day."""
LARGEST = {
    "cells": 1000,  # published networks have 20
    "channels": 1 << 20,
    "stem_channels": 1 << 20,
    "in_chans": 1 << 20,
    "num_classes": 1 << 20,
}
"""Largest numbers that are read from a file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkSpec:
    """How a network is built around its cells. Every built network keeps its own as `model.spec`.

    >>> spec = NetworkSpec(num_classes=10, channels=36, cells=20, stem_channels=108)
    >>> wider = spec.but(channels=44)
    >>> wider.channels, wider.stem_channels
    (44, 132)
    """

    network: str = "cifar"
    """Kind of network: `cifar` or `imagenet`, or one that a space of your own names."""
    num_classes: int
    """0 for a network without a classifier, which gives its pooled features."""
    in_chans: int = 3
    """Channels of the images."""
    channels: int
    """Channels of a node in the first cells; they double in every reduction."""
    cells: int
    """Cells of the network, or of each of its stages, as the space counts them."""
    squeeze_excitation: bool = False
    stem_channels: int
    auxiliary: bool = False
    """Whether there is an auxiliary tower, a second classifier for training."""
    drop_path_rate: float = 0.0
    """Share of edges that training drops; 0 builds no drop path."""

    def __post_init__(self) -> None:
        for name in ("squeeze_excitation", "auxiliary"):
            if getattr(self, name) not in (True, False):
                raise ConfigError(f"{name} must be True or False, got {getattr(self, name)!r}")
        for name in ("num_classes", "in_chans", "channels", "cells", "stem_channels"):
            value = getattr(self, name)
            if not isinstance(value, int):
                raise ConfigError(f"{name} must be a whole number, got {value!r}")
            if value < 1 and (name, value) != ("num_classes", 0):
                raise ConfigError(f"{name} must be at least 1, got {value}")

    def but(
        self,
        *,
        num_classes: int | None = None,
        in_chans: int | None = None,
        channels: int | None = None,
        cells: int | None = None,
        squeeze_excitation: bool | None = None,
        stem_channels: int | None = None,
        auxiliary: bool | None = None,
        drop_path_rate: float | None = None,
    ) -> NetworkSpec:
        """Return the same description with what is given in place of its own; None keeps a field.

        Unless it is given, a stem that is a multiple of the channels stays a multiple of them, at most
        as many times as an image has channels.
        """
        spec = NetworkSpec(
            network=self.network,
            num_classes=self.num_classes if num_classes is None else num_classes,
            in_chans=self.in_chans if in_chans is None else in_chans,
            channels=self.channels if channels is None else channels,
            cells=self.cells if cells is None else cells,
            squeeze_excitation=(
                self.squeeze_excitation if squeeze_excitation is None else squeeze_excitation
            ),
            stem_channels=self.stem_channels if stem_channels is None else stem_channels,
            auxiliary=self.auxiliary if auxiliary is None else auxiliary,
            drop_path_rate=self.drop_path_rate if drop_path_rate is None else drop_path_rate,
        )
        multiple, rest = divmod(self.stem_channels, self.channels)
        if stem_channels is not None or rest:
            return spec
        return replace(spec, stem_channels=min(multiple, spec.in_chans) * spec.channels)

    @property
    def for_inference(self) -> NetworkSpec:
        """The description without the parts that only training uses: auxiliary tower and drop path."""
        return replace(self, auxiliary=False, drop_path_rate=0.0)

    def to_json(self) -> dict[str, str | int | bool]:
        """Return the fields that `model.json` has; parts that only training uses are left out."""
        return {name: getattr(self, name) for name in JSON_TYPES}

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> NetworkSpec:
        """Read what `to_json` gave; anything else is a ConfigError, or a VersionError if it is newer."""
        unknown = [name for name in value if name not in JSON_TYPES]
        if unknown:
            raise VersionError(
                f"its network has the setting {brief(unknown[0])}, which this xnas does not know; "
                "install a newer one"
            )
        if value.keys() != JSON_TYPES.keys():
            raise ConfigError(
                f"the network of a model needs {', '.join(JSON_TYPES)}, got "
                f"{', '.join(value) or 'nothing'}; get the file again, or train again"
            )
        for name, kind in JSON_TYPES.items():
            if type(value[name]) is not kind:
                raise ConfigError(
                    f"{name} of a model's network must be a {kind.__name__}, got {brief(value[name])}; "
                    "get the file again, or train again"
                )
        for name, most in LARGEST.items():
            number = value[name]
            if isinstance(number, int) and number > most:
                raise ConfigError(f"its network has {name} {number:.4g}; at most {most:,} are read")
        return cls(**value)  # type: ignore[arg-type]  # checked above
