"""Residual networks for small images (He et al. 2016, arXiv:1512.03385, Sec. 4.2): a baseline.

A 3x3 convolution, then stages of basic blocks; every stage after the first halves the image and doubles
the channels. Where a block changes the size, its shortcut is a 1x1 convolution (the paper's option B).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.space.network import Network
from xnas.space.network_spec import NetworkSpec

if TYPE_CHECKING:
    from xnas.space.resnet import ResNet

USUAL_CHANNELS = 16  # of the paper's networks for CIFAR


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with batch norm, added to their input."""

    def __init__(self, inputs: int, outputs: int, *, stride: int) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, inputs, h, w) to (batch, outputs, ceil(h/stride), ceil(w/stride))."""
        out: Tensor = (self.convolutions(x) + self.shortcut(x)).relu()
        return out


class ResidualNetwork(Network):
    """Basic blocks in stages, behind one convolution."""

    def __init__(self, resnet: ResNet, spec: NetworkSpec) -> None:
        _require_plain(spec, len(resnet.blocks))
        super().__init__(resnet, spec)
        self.reductions = len(resnet.blocks) - 1
        width = spec.channels
        self.stem = nn.Sequential(
            nn.Conv2d(spec.in_chans, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        )
        self.cells = nn.ModuleList()
        for stage, blocks in enumerate(resnet.blocks):
            outputs = spec.channels << stage
            for block in range(blocks):
                stride = 2 if stage and not block else 1
                self.cells.append(BasicBlock(width, outputs, stride=stride))
                width = outputs
        self.num_features = width
        self.classifier = nn.Linear(width, spec.num_classes)

    def maps(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map images (batch, in_chans, height, width) to features (batch, num_features, h, w), twice.

        This network has no auxiliary tower.
        """
        x = self.stem(x)
        for block in self.cells:
            x = block(x)
        return x, x


def _require_plain(spec: NetworkSpec, stages: int) -> None:
    """Raise for parts that a residual network does not have."""
    for name, wanted in (
        ("auxiliary", False),
        ("squeeze_excitation", False),
        ("stem_channels", spec.channels),
        ("cells", stages),
        ("drop_path_rate", 0.0),
    ):
        given = getattr(spec, name)
        if given != wanted:
            raise ConfigError(
                f"a residual network has no {name} to set, got {given}; leave it out, or use {wanted}"
            )
