"""A model of timm as a final network: images enlarged and standardised as the model expects them.

That is part of the network, so images are augmented at their own size, a trained network answers on
images as the data have them, and an exported one needs no other preparation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from xnas.errors import ConfigError
from xnas.space.network import Network
from xnas.space.network_spec import NetworkSpec

if TYPE_CHECKING:
    from xnas.model.timm_model import TimmModel

COLOURS = 3
"""Channels of the images of pretrained models. Grey ones are given to them three times."""


class TimmNetwork(Network):
    """A model of timm behind what its images need."""

    reductions = 0
    body: Any
    """The model; timm's classes have more than `nn.Module` declares."""

    def __init__(self, model: TimmModel, spec: NetworkSpec) -> None:
        _require_plain(spec)
        super().__init__(model, spec)
        self.side, self.square = model.side, model.square
        shape = (1, COLOURS, 1, 1)
        self.register_buffer("scale", torch.tensor(model.scale).view(shape), persistent=False)
        self.register_buffer("shift", torch.tensor(model.shift).view(shape), persistent=False)
        self.scale: Tensor
        self.shift: Tensor
        self.stem, self.cells = nn.Identity(), nn.ModuleList()
        self.classifier = nn.Identity()  # the model has its own
        self.body = model.create(spec.num_classes)
        self.num_features = self.body.num_features

    def maps(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map images (batch, in_chans, height, width) to the model's own features, twice."""
        x = self.body.forward_features(self.prepared(x))
        return x, x

    def prepared(self, x: Tensor) -> Tensor:
        """What the model gets of images (batch, in_chans, h, w): (batch, 3, height, width)."""
        height, width = x.shape[-2:]
        size = (self.side, self.side)
        if not self.square:  # images that are larger stay as they are
            factor = max(1.0, self.side / min(height, width))
            size = (round(factor * height), round(factor * width))
        if size != (height, width):
            smaller = size[0] < height or size[1] < width
            x = interpolate(x, size, mode="bilinear", align_corners=False, antialias=smaller)
        return x * self.scale + self.shift  # also gives a grey image three channels

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:  # noqa: FBT001, FBT002 - timm's
        """Return logits (batch, classes) of the model's features.

        With `pre_logits` return what its classifier would take.
        """
        logits: Tensor = self.body.forward_head(x, pre_logits=pre_logits)
        return logits

    def get_classifier(self) -> nn.Module:
        """The last layer."""
        layer: nn.Module = self.body.get_classifier()
        return layer

    def reset_classifier(self, num_classes: int, global_pool: str | None = None) -> None:
        """Put a new last layer for other classes; 0 leaves the features as they are."""
        if num_classes < 0:
            raise ConfigError(f"num_classes must be at least 0, got {num_classes}")
        self.spec = replace(self.spec, num_classes=num_classes)
        self.body.reset_classifier(num_classes, global_pool)


def _require_plain(spec: NetworkSpec) -> None:
    """Raise for parts that a model of timm does not have, and for images that it cannot take."""
    for name, wanted in (
        ("auxiliary", False),
        ("squeeze_excitation", False),
        ("drop_path_rate", 0.0),
        ("channels", 1),
        ("cells", 1),
        ("stem_channels", 1),
    ):
        given = getattr(spec, name)
        if given != wanted:
            raise ConfigError(f"a model of timm has no {name} to set, got {given}; leave it out")
    if spec.in_chans not in (1, COLOURS):
        raise ConfigError(
            f"a pretrained model takes images of 1 or {COLOURS} channels, got {spec.in_chans}; leave "
            "it out"
        )
