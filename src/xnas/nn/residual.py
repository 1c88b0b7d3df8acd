"""The block between two stages of NAS-Bench-201's networks."""

from __future__ import annotations

from torch import Tensor, nn

from xnas.nn.operations import Normalization


class ResidualReduction(nn.Module):
    """Two 3x3 convolutions, the first of stride 2, added to a pool with a 1x1 convolution.

    Odd sizes are rounded up in both branches.
    """

    def __init__(self, inputs: int, outputs: int, normalization: Normalization) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            *_relu_conv_bn(inputs, outputs, 2, normalization),
            *_relu_conv_bn(outputs, outputs, 1, normalization),
        )
        self.shortcut = nn.Sequential(
            nn.AvgPool2d(2, stride=2, ceil_mode=True), nn.Conv2d(inputs, outputs, 1, bias=False)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, inputs, h, w) to (batch, outputs, ceil(h/2), ceil(w/2))."""
        out: Tensor = self.shortcut(x) + self.convolutions(x)
        return out


def _relu_conv_bn(
    inputs: int, outputs: int, stride: int, normalization: Normalization
) -> list[nn.Module]:
    return [
        nn.ReLU(),
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
        nn.BatchNorm2d(outputs, affine=normalization.affine),
    ]
