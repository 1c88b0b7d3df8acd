"""Candidate operations by name, as DARTS defines them (Sec. 4.1, 9.2).

An operation maps `channels` to `channels` at stride 1 or 2, in the order ReLU, convolution, batch norm.
Separable convolutions are applied twice, with the stride in the first; dilated ones once, with dilation
2. In a search batch norms have no scale of their own and stand behind pools too: a learned scale would
undo the mixture weight, and an unnormalised pool would speak at another volume than a convolution.

Departure: the paper applies depthwise separable convolutions "always twice" (Sec. 9.2); dilated ones are
applied once here, as its parameter counts need (E21 in docs/errata.md).

Below the operations that a search chooses from stand those that older published cells need. Some compute
on kernels of their own in a training, once `fuse` is set; weights and results are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, max_pool2d, pad

from xnas.errors import ConfigError
from xnas.nn.drop_path import silenced
from xnas.registry import Registry


@dataclass(frozen=True, slots=True)
class Normalization:
    """Which batch norms an operation has."""

    affine: bool
    after_pools: bool


SEARCH = Normalization(affine=False, after_pools=True)
FINAL = Normalization(affine=True, after_pools=False)

OperationFactory = Callable[[int, int, Normalization], nn.Module]
OPERATIONS: Registry[OperationFactory] = Registry("operation")
"""Name -> factory (channels, stride, normalization) -> module; add your own with `OPERATIONS.add`."""


def build_operation(name: str, channels: int, stride: int, normalization: Normalization) -> nn.Module:
    """The operation of that name; stride 1 or 2."""
    if stride not in (1, 2):
        raise ConfigError(f"stride must be 1 or 2, got {stride}")
    return OPERATIONS[name](channels, stride, normalization)


class Fusable(nn.Module):
    """A module that has kernels for training; evaluation stays with plain modules."""

    fuse = False

    @property
    def on_kernels(self) -> bool:
        """Whether they compute."""
        return self.fuse and self.training


def fuse(network: nn.Module, *, on: bool = True) -> None:
    """Let the modules that have kernels use them in training."""
    for module in network.modules():
        if isinstance(module, Fusable):
            module.fuse = on
        if isinstance(module, SeparableConvolution):
            module.lay_out(taps_first=on)


def relu_conv_bn(inputs: int, outputs: int, normalization: Normalization) -> nn.Sequential:
    """ReLU, 1x1 convolution, batch norm: how a cell prepares its inputs."""
    return Projection(
        nn.ReLU(),
        nn.Conv2d(inputs, outputs, 1, bias=False),
        nn.BatchNorm2d(outputs, affine=normalization.affine),
    )


class PlainConvolution(nn.Sequential):
    """ReLU, convolution, batch norm."""

    @property
    def convolution(self) -> nn.Conv2d:
        """Its second layer."""
        return _convolution(self[1])

    @property
    def norm(self) -> nn.BatchNorm2d:
        """Its last layer."""
        return _norm(self[2])


class Projection(Fusable, PlainConvolution):
    """ReLU, 1x1 convolution, batch norm."""

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, inputs, h, w) to (batch, outputs, h, w)."""
        if self.on_kernels:
            from xnas.nn.fused import known_norm, projection  # noqa: PLC0415 - brings Triton

            if known_norm(self.norm):
                return projection(x, self.convolution, self.norm)
        out: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return out


class FactorizedReduction(Fusable):
    """Halve the image, not its content: two 1x1 convolutions of stride 2, one shifted by a pixel.

    Odd sizes are padded by one at the right and the bottom.
    """

    def __init__(self, inputs: int, outputs: int, normalization: Normalization) -> None:
        super().__init__()
        if outputs % 2:
            raise ConfigError(
                f"a factorised reduction makes half its channels from each of two convolutions, got "
                f"{outputs} channels; use an even number"
            )
        self.even = nn.Conv2d(inputs, outputs // 2, 1, stride=2, bias=False)
        self.odd = nn.Conv2d(inputs, outputs // 2, 1, stride=2, bias=False)
        self.norm = nn.BatchNorm2d(outputs, affine=normalization.affine)

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, inputs, h, w) to (batch, outputs, ceil(h/2), ceil(w/2))."""
        if self.on_kernels:
            from xnas.nn.fused import known_norm, reduction  # noqa: PLC0415 - brings Triton

            if known_norm(self.norm):
                return reduction(x, self.even, self.odd, self.norm)
        height, width = x.shape[-2:]
        x = pad(x.relu(), (0, width % 2, 0, height % 2))
        out: Tensor = self.norm(torch.cat([self.even(x), self.odd(x[:, :, 1:, 1:])], dim=1))
        return out


class AveragePool(Fusable):
    """3x3 average pool whose mean leaves the padding out."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, channels, h, w) to (batch, channels, ceil(h/stride), ceil(w/stride))."""
        if self.on_kernels:
            from xnas.nn.fused_states import pool  # noqa: PLC0415 - brings Triton

            return pool(x, self.stride, largest=False)
        # The CUDA backward of a padded pool is wrong on channels-last images in torch 2.11, without a
        # word; compiled code has a backward of its own.
        if x.is_cuda and not torch.compiler.is_compiling():
            x = x.contiguous()
        return avg_pool2d(x, 3, self.stride, 1, count_include_pad=False)


class MaxPool(Fusable, nn.MaxPool2d):
    """3x3 max pool."""

    def __init__(self, stride: int) -> None:
        super().__init__(3, stride, 1)
        self.steps = stride

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, channels, h, w) to (batch, channels, ceil(h/stride), ceil(w/stride))."""
        if self.on_kernels:
            from xnas.nn.fused_states import pool  # noqa: PLC0415 - brings Triton

            return pool(x, self.steps, largest=True)
        out: Tensor = super().forward(x)
        return out


class LargestOfFour(nn.Module):
    """2x2 max pool at any stride; the image is continued at the right and the bottom where it ends."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, channels, h, w) to (batch, channels, ceil(h/stride), ceil(w/stride))."""
        height, width = x.shape[-2:]
        right, bottom = (1, 1) if self.stride == 1 else (width % 2, height % 2)
        return max_pool2d(pad(x, (0, right, 0, bottom), value=-torch.inf), 2, self.stride)


class Zero(nn.Module):
    """The operation `none`: no connection."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, channels, h, w) to zeros (batch, channels, ceil(h/stride), ceil(w/stride))."""
        return torch.zeros_like(x[:, :, :: self.stride, :: self.stride])


class NormalizedPool(nn.Sequential):
    """A pool and its batch norm, as a search has them."""

    @property
    def norm(self) -> nn.BatchNorm2d:
        """Its last layer."""
        return _norm(self[1])


@dataclass(frozen=True, slots=True)
class SeparableStage:
    """The layers of one stage of a separable convolution, behind its ReLU."""

    depthwise: nn.Conv2d
    pointwise: nn.Conv2d
    norm: nn.BatchNorm2d


class SeparableConvolution(Fusable, nn.Sequential):
    """Stages of ReLU, depthwise convolution, 1x1 convolution and batch norm, one after another.

    In a state dict the layers of all stages are numbered from 0, ReLUs included: published weights and
    checkpoints have these names. In code they are found by `stages`.
    """

    @property
    def stages(self) -> tuple[SeparableStage, ...]:
        """The stages in the order in which they are applied."""
        depthwise, pointwise, norms = (list(self)[first::4] for first in (1, 2, 3))
        return tuple(
            SeparableStage(_convolution(depth), _convolution(point), _norm(norm))
            for depth, point, norm in zip(depthwise, pointwise, norms, strict=True)
        )

    def forward(self, x: Tensor, *, factors: Tensor | None = None, plus: Tensor | None = None) -> Tensor:
        """Map (batch, channels, h, w) to (batch, channels, ceil(h/stride), ceil(w/stride)).

        That is multiplied by drop path's `factors` (batch), and added to `plus`, what the node has.
        """
        if self.on_kernels:
            from xnas.nn.fused import separable, stages_of  # noqa: PLC0415 - brings Triton

            stages = stages_of(self.stages)
            if stages is not None:
                return separable(x, stages, factors=factors, plus=plus)
        out: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        out = out if factors is None else silenced(out, factors)
        return out if plus is None else plus + out

    def lay_out(self, *, taps_first: bool) -> None:
        """Have the channels of a tap lie together in memory, as kernels read them, or a channel's taps.

        Shapes stay. The convolutions of a search, whose norms have no scale, are packed elsewhere.
        """
        for stage in self.stages:
            weight = stage.depthwise.weight
            if stage.norm.affine:
                taps = weight.data.flatten(1).t().contiguous()
                weight.data = taps.t().view(weight.shape) if taps_first else weight.data.contiguous()


def _convolution(layer: nn.Module) -> nn.Conv2d:
    assert isinstance(layer, nn.Conv2d)  # noqa: S101 - for the type checker
    return layer


def _norm(layer: nn.Module) -> nn.BatchNorm2d:
    assert isinstance(layer, nn.BatchNorm2d)  # noqa: S101 - for the type checker
    return layer


def _depthwise_pointwise(
    channels: int, kernel: int, stride: int, dilation: int, normalization: Normalization
) -> list[nn.Module]:
    padding = dilation * (kernel - 1) // 2
    return [
        nn.ReLU(),
        nn.Conv2d(
            channels, channels, kernel, stride, padding, dilation=dilation, groups=channels, bias=False
        ),
        nn.Conv2d(channels, channels, 1, bias=False),
        nn.BatchNorm2d(channels, affine=normalization.affine),
    ]


def _separable(kernel: int) -> OperationFactory:
    def build(channels: int, stride: int, normalization: Normalization) -> nn.Module:
        return SeparableConvolution(
            *_depthwise_pointwise(channels, kernel, stride, 1, normalization),
            *_depthwise_pointwise(channels, kernel, 1, 1, normalization),
        )

    return build


def _dilated(kernel: int) -> OperationFactory:
    def build(channels: int, stride: int, normalization: Normalization) -> nn.Module:
        return SeparableConvolution(*_depthwise_pointwise(channels, kernel, stride, 2, normalization))

    return build


def _sharp(kernel: int, dilation: int, widening: int) -> OperationFactory:
    """SharpSepConv of sharpDARTS (arXiv:1903.09900): two stages with `widening` times C between them.

    Stride and dilation are those of the first stage. With neither dilation nor more channels it is the
    separable convolution above. It has no kernels: a search with it runs on the reference backend.
    """

    def build(channels: int, stride: int, normalization: Normalization) -> nn.Module:
        between = widening * channels
        around = dilation * (kernel - 1) // 2
        return nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(channels, channels, kernel, stride, around, dilation, groups=channels, bias=False),
            nn.Conv2d(channels, between, 1, bias=False),
            nn.BatchNorm2d(between, affine=normalization.affine),
            nn.ReLU(),
            nn.Conv2d(between, between, kernel, padding=kernel // 2, groups=between, bias=False),
            nn.Conv2d(between, channels, 1, bias=False),
            nn.BatchNorm2d(channels, affine=normalization.affine),
        )

    return build


def _plain(kernel: int) -> OperationFactory:
    def build(channels: int, stride: int, normalization: Normalization) -> nn.Module:
        return PlainConvolution(
            nn.ReLU(),
            nn.Conv2d(channels, channels, kernel, stride, kernel // 2, bias=False),
            nn.BatchNorm2d(channels, affine=normalization.affine),
        )

    return build


def _crossed(length: int) -> OperationFactory:
    """Along the rows, then along the columns; each convolution takes the stride of its direction."""

    def build(channels: int, stride: int, normalization: Normalization) -> nn.Module:
        half = length // 2
        return nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(channels, channels, (1, length), (1, stride), (0, half), bias=False),
            nn.Conv2d(channels, channels, (length, 1), (stride, 1), (half, 0), bias=False),
            nn.BatchNorm2d(channels, affine=normalization.affine),
        )

    return build


def _pool(make: Callable[[int], nn.Module]) -> OperationFactory:
    def build(channels: int, stride: int, normalization: Normalization) -> nn.Module:
        if normalization.after_pools:
            return NormalizedPool(make(stride), nn.BatchNorm2d(channels, affine=normalization.affine))
        return make(stride)

    return build


def _skip(channels: int, stride: int, normalization: Normalization) -> nn.Module:
    return nn.Identity() if stride == 1 else FactorizedReduction(channels, channels, normalization)


def _none(channels: int, stride: int, normalization: Normalization) -> nn.Module:  # noqa: ARG001
    return Zero(stride)


OPERATIONS.add("none", _none)
OPERATIONS.add("max_pool_3x3", _pool(MaxPool))
OPERATIONS.add("avg_pool_3x3", _pool(AveragePool))
OPERATIONS.add("skip_connect", _skip)
OPERATIONS.add("sep_conv_3x3", _separable(3))
OPERATIONS.add("sep_conv_5x5", _separable(5))
OPERATIONS.add("dil_conv_3x3", _dilated(3))
OPERATIONS.add("dil_conv_5x5", _dilated(5))
OPERATIONS.add("sep_conv_7x7", _separable(7))
OPERATIONS.add("conv_7x1_1x7", _crossed(7))
OPERATIONS.add("nor_conv_1x1", _plain(1))
OPERATIONS.add("nor_conv_3x3", _plain(3))
OPERATIONS.add("max_pool_2x2", _pool(LargestOfFour))
OPERATIONS.add("flood_conv_3x3", _sharp(3, dilation=1, widening=4))
OPERATIONS.add("sharp_dil_conv_3x3", _sharp(3, dilation=2, widening=1))
OPERATIONS.add("sharp_dil_conv_5x5", _sharp(5, dilation=2, widening=1))
