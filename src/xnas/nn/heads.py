"""Where a network begins, and where a training loss taps it.

A stem gives the two inputs of the first cell. An auxiliary tower classifies from the map after the last
reduction, and its loss is added in training alone (Sec. 9.3); it is DARTS's.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError


class CifarStem(nn.Module):
    """One convolution at full size; both inputs of the first cell are its output."""

    halvings = 0
    cells_see_two_sizes = False

    def __init__(self, in_chans: int, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(in_chans, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map images (batch, in_chans, h, w) to (batch, channels, h, w), twice the same tensor."""
        x = self.layers(x)
        return x, x


class ImagenetStem(nn.Module):
    """Three convolutions of stride 2: 224 pixels become 56 for the older input and 28 for the newer.

    Departure: the paper's "224 to 56 (3 reductions)" (Sec. 9.3) is two of them; three lead to 28.
    """

    halvings = 3
    cells_see_two_sizes = True

    def __init__(self, in_chans: int, channels: int) -> None:
        super().__init__()
        if channels % 2:
            raise ConfigError(
                f"the first convolution of the ImageNet stem has half of its channels, got "
                f"stem_channels {channels}; use an even number"
            )
        self.quarter = nn.Sequential(
            nn.Conv2d(in_chans, channels // 2, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(channels // 2),
            nn.ReLU(),
            nn.Conv2d(channels // 2, channels, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )
        self.eighth = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map images (batch, in_chans, h, w) to maps of a quarter and of an eighth of their size.

        Both have `channels` channels; sides are rounded up.
        """
        older = self.quarter(x)
        return older, self.eighth(older)


class AuxiliaryTower(nn.Module):
    """A second classifier on the map after the last reduction.

    On the map for which DARTS made it (8 x 8 from CIFAR's images, 7 x 7 from ImageNet's) a 5 x 5 pool
    leaves 2 x 2; at any other size an adaptive pool does.
    """

    def __init__(
        self, channels: int, num_classes: int, *, own_size: int, stride: int, last_norm: bool
    ) -> None:
        """`stride` is that of the pool on the map of `own_size`."""
        super().__init__()
        self.own_size = own_size
        self.pool = nn.AvgPool2d(5, stride=stride)
        self.layers = nn.Sequential(
            nn.Conv2d(channels, 128, 1, bias=False),
            nn.BatchNorm2d(128),
            nn.ReLU(),
            nn.Conv2d(128, 768, 2, bias=False),
            *([nn.BatchNorm2d(768)] if last_norm else []),
            nn.ReLU(),
        )
        self.features = 768
        self.classifier: nn.Module = nn.Linear(768, num_classes)

    @classmethod
    def for_cifar(cls, channels: int, num_classes: int) -> AuxiliaryTower:
        """Pool of stride 3 on 8 x 8."""
        return cls(channels, num_classes, own_size=8, stride=3, last_norm=True)

    @classmethod
    def for_imagenet(cls, channels: int, num_classes: int) -> AuxiliaryTower:
        """Pool of stride 2 on 7 x 7; DARTS leaves out the last batch norm."""
        return cls(channels, num_classes, own_size=7, stride=2, last_norm=False)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of a map (batch, channels, height, width)."""
        x = x.relu()
        if x.shape[-2:] == (self.own_size, self.own_size):
            x = self.pool(x)
        else:
            x = nn.functional.adaptive_avg_pool2d(x, 2)
        logits: Tensor = self.classifier(torch.flatten(self.layers(x), 1))
        return logits
