"""Options of a fit. All else is planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xnas.options import POSITIVE, option
from xnas.runs.options import ImageRunOptions


@dataclass(frozen=True, kw_only=True)
class FitConfig(ImageRunOptions):
    """Options of one fit.

    >>> FitConfig(minutes=10).minutes
    10
    """

    GROUP: ClassVar[str] = "Search"

    minutes: float = option(30.0, POSITIVE)
    """Time budget in minutes, from the start to the exported model. The plan aims at 90 % of it."""
    pretrained: str | None = None
    """A pretrained model of timm to fine-tune, as MODEL (its weights in timm's cache) or MODEL=FILE (a
    state dict, .safetensors or .pth), or none. Nothing is downloaded. Default: resnet18 or another small
    model whose weights are in the cache."""
