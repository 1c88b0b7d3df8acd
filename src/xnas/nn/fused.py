"""Separable convolutions and pools of a training on kernels, with gradients of their own.

A separable convolution is stages of ReLU, depthwise convolution, 1x1 convolution and batch norm. All of
them are one function of autograd here: images stay (1, batch, height, width, channels), which is what
channels-last tensors are in memory; statistics are gathered while the 1x1 convolution computes; the ReLU
of the second stage is part of the batch norm before it. What backward needs is kept, not computed again:
a training has memory to spare. Sums are made in float32 at least, whatever the images are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from xnas.kernels.depthwise import depthwise, depthwise_input_gradient
from xnas.kernels.depthwise_plan import Plan, plan_of
from xnas.kernels.depthwise_weights import depthwise_weight_gradient
from xnas.kernels.mixing import inner_products
from xnas.kernels.moments import EPSILON, MOMENTUM, Moments
from xnas.kernels.normalization import normalization_gradient, normalize
from xnas.kernels.pointwise import pointwise, pointwise_weight_gradient, pointwise_with_moments
from xnas.kernels.pools import average_pool, average_pool_gradient, max_pool, max_pool_gradient


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: ReLU, depthwise convolution, 1x1 convolution, batch norm."""

    kernel: int
    stride: int
    dilation: int
    parameters: tuple[Tensor, Tensor, Tensor, Tensor]
    """Depthwise (channels, 1, kernel, kernel), pointwise (out, in, 1, 1), scale and shift (channels)."""
    running: tuple[Tensor, Tensor]
    """Mean and variance, which a forward pass moves."""
    batches: Tensor
    """How many it has seen."""


def known_norm(norm: nn.BatchNorm2d) -> bool:
    """Whether kernels compute this batch norm, with its constants and running statistics."""
    return norm.track_running_stats and (norm.eps, norm.momentum) == (EPSILON, MOMENTUM)


def stages_of(layers: Sequence[nn.Module]) -> list[Stage] | None:
    """ReLU, depthwise, 1x1 and batch norm, repeated; None if kernels do not know such a norm."""
    found = []
    for first in range(0, len(layers), 4):
        _, depth, point, norm = layers[first : first + 4]
        assert isinstance(depth, nn.Conv2d)  # noqa: S101 - for the type checker
        assert isinstance(norm, nn.BatchNorm2d)  # noqa: S101
        if not norm.affine or not known_norm(norm):
            return None
        assert norm.running_mean is not None  # noqa: S101 - known
        assert norm.running_var is not None  # noqa: S101
        found.append(
            Stage(
                kernel=depth.kernel_size[0],
                stride=depth.stride[0],
                dilation=depth.dilation[0],
                parameters=(depth.weight, point.get_parameter("weight"), norm.weight, norm.bias),
                running=(norm.running_mean, norm.running_var),
                batches=norm.get_buffer("num_batches_tracked"),
            )
        )
    return found


def separable(x: Tensor, stages: list[Stage]) -> Tensor:
    """Output of the stages, in training, of images (batch, channels, height, width)."""
    torch._foreach_add_([stage.batches for stage in stages], 1)
    with _settled_type(x) as images:
        out: Tensor = _Separable.apply(images, stages, *(p for s in stages for p in s.parameters))
    return out


@contextmanager
def _settled_type(x: Tensor) -> Iterator[Tensor]:
    """The images in the type that autocast asks for; inside, nothing is cast any more."""
    device = x.device.type
    if torch.is_autocast_enabled(device):
        x = x.to(torch.get_autocast_dtype(device))
    with torch.autocast(device, enabled=False):
        yield x


def pool(x: Tensor, stride: int, *, largest: bool) -> Tensor:
    """3x3 pool: the largest, or the mean without the padding."""
    out: Tensor = _Pool.apply(x, stride, largest)
    return out


class _Separable(torch.autograd.Function):
    KEPT = 8  # tensors a stage

    @staticmethod
    def forward(ctx: Any, x: Tensor, stages: list[Stage], *_parameters: Tensor) -> Tensor:  # noqa: ANN401
        images = _slot(x)
        kept = []
        for stage in stages:
            plan, relu = _plan(stage.kernel, stage.dilation, x.device), stage is stages[0]
            depth, point, scale, shift = stage.parameters
            taps = depth.flatten(1).t()[None]
            deep = depthwise(images, [taps], plan, stride=stage.stride, relu=relu)
            moments = _moments(images, len(point), stage.running)
            flat = deep.flatten(1, 3)
            product = flat.new_empty(1, flat.shape[1], len(point))
            pointwise_with_moments(flat, point.flatten(1).t()[None], out=product, into=moments)
            kept += [images, taps, deep, product, moments.mean, moments.scale, point, scale]
            last = stage is stages[-1]
            out = normalize(product, moments, scale[None], shift[None], relu=not last)
            images = out.view(*deep.shape[:4], -1)
        ctx.stages = [(stage.kernel, stage.stride, stage.dilation) for stage in stages]
        ctx.save_for_backward(*kept)
        return _images(images)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        source = _source(gradient.device)
        kept, needed = ctx.saved_tensors, ctx.needs_input_grad
        flow: Tensor | None = _pixels(gradient)
        found: list[Tensor | None] = [None] * (len(needed) - 2)
        for index in reversed(range(len(ctx.stages))):
            if flow is None:
                break
            kernel, stride, dilation = ctx.stages[index]
            plan = _plan(kernel, dilation, gradient.device)
            images, taps, deep, product, mean, factor, point, scale = kept[
                index * _Separable.KEPT : (index + 1) * _Separable.KEPT
            ]
            place = 2 + 4 * index  # of the stage's parameters among the inputs
            before = needed[0] or any(needed[2:place])
            depth_needed, point_needed = needed[place : place + 2]
            parts: list[Tensor | None] = [None, None]
            moments, flat, flow = Moments(mean, factor), flow, None
            sums = mean.new_empty(1, 2, mean.shape[1])
            inner_products(flat, product, moments, targets=source, slots=source, out=sums)
            if before or depth_needed or point_needed:
                flat = normalization_gradient(flat, product, moments, sums, scale[None])
            if point_needed:
                parts[1] = _point_gradient(deep.flatten(1, 3), flat, point)
            if before or depth_needed:
                deep_flow = pointwise(flat, point.flatten(1)[None]).view_as(deep)
            if depth_needed:
                (taps_gradient,) = depthwise_weight_gradient(
                    images, deep_flow, plan, like=[taps], stride=stride, relu=index == 0
                )
                parts[0] = taps_gradient[0].t().reshape(-1, 1, kernel, kernel)
            if before:
                into = torch.empty_like(images)
                depthwise_input_gradient(deep_flow, [taps], plan, images, stride=stride, into=into)
                flow = into.flatten(1, 3)
            found[4 * index : 4 * index + 4] = [*parts, sums[0, 1], sums[0, 0]]
        shape = kept[0].shape
        return None if flow is None else _images(flow.view(shape)), None, *found


def projection(x: Tensor, point: nn.Conv2d, norm: nn.BatchNorm2d) -> Tensor:
    """ReLU, 1x1 convolution, batch norm, in training."""
    assert norm.running_mean is not None  # noqa: S101 - for the type checker
    assert norm.running_var is not None  # noqa: S101
    norm.get_buffer("num_batches_tracked").add_(1)
    running = norm.running_mean, norm.running_var
    with _settled_type(x) as images:
        out: Tensor = _Projection.apply(images, running, point.weight, norm.weight, norm.bias)
    return out


class _Projection(torch.autograd.Function):
    @staticmethod
    def forward(  # noqa: PLR0917 - autograd's
        ctx: Any,  # noqa: ANN401
        x: Tensor,
        running: tuple[Tensor, Tensor],
        point: Tensor,
        scale: Tensor | None,
        shift: Tensor | None,
    ) -> Tensor:
        images = _slot(x)
        flat = images.flatten(1, 3)
        moments = _moments(images, len(point), running)
        product = flat.new_empty(1, flat.shape[1], len(point))
        weight = point.flatten(1).t()[None]
        pointwise_with_moments(flat, weight, relu=True, out=product, into=moments)
        affine = (None, None) if scale is None or shift is None else (scale[None], shift[None])
        out = normalize(product, moments, *affine, relu=False)
        ctx.save_for_backward(images, product, moments.mean, moments.scale, point, scale)
        return _images(out.view(*images.shape[:4], -1))

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        source = _source(gradient.device)
        images, product, mean, factor, point, scale = ctx.saved_tensors
        moments, flat = Moments(mean, factor), images.flatten(1, 3)
        flow = _pixels(gradient)
        sums = mean.new_empty(1, 2, mean.shape[1])
        inner_products(flow, product, moments, targets=source, slots=source, out=sums)
        flow = normalization_gradient(
            flow, product, moments, sums, None if scale is None else scale[None]
        )
        into = of_point = None
        if ctx.needs_input_grad[2]:
            of_point = _point_gradient(flat, flow, point, relu=True)
        if ctx.needs_input_grad[0]:
            into = _images(pointwise(flow, point.flatten(1)[None], gate=flat).view(images.shape))
        if scale is None:
            return into, None, of_point, None, None
        return into, None, of_point, sums[0, 1], sums[0, 0]


def _point_gradient(x: Tensor, flow: Tensor, point: Tensor, *, relu: bool = False) -> Tensor:
    """Of a 1x1 convolution (out, in, 1, 1), laid out as it is."""
    like = point.flatten(1).t()[None]
    return pointwise_weight_gradient(x, flow, relu=relu, like=like)[0].t().view(point.shape)


class _Pool(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, stride: int, largest: bool) -> Tensor:  # noqa: ANN401, FBT001
        images = _slot(x)
        _, batch, height, width, channels = images.shape
        out = images.new_empty(1, batch, -(-height // stride), -(-width // stride), channels)
        if largest:
            ctx.save_for_backward(max_pool(images, stride=stride, out=out))
        else:
            average_pool(images, stride=stride, out=out)
        ctx.stride, ctx.shape = stride, images.shape
        return _images(out)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401
        into = gradient.new_zeros(ctx.shape)
        if ctx.saved_tensors:
            (taken,) = ctx.saved_tensors
            max_pool_gradient(_slot(gradient), taken, stride=ctx.stride, into=into)
        else:
            average_pool_gradient(_slot(gradient), stride=ctx.stride, into=into)
        return _images(into), None, None


@cache
def _source(device: torch.device) -> Tensor:
    """The one slot, 0; made on the device, once."""
    return torch.zeros(1, dtype=torch.int32, device=device)


@cache
def _plan(kernel: int, dilation: int, device: torch.device) -> Plan:
    """One convolution of one input."""
    return plan_of([(0, kernel, dilation)], inputs=1, device=device, alone=True)


def _moments(images: Tensor, channels: int, running: tuple[Tensor, Tensor]) -> Moments:
    wide = torch.promote_types(images.dtype, torch.float32)
    mean, scale = (images.new_empty(1, channels, dtype=wide) for _ in range(2))
    return Moments(mean, scale, *(numbers[None] for numbers in running))


def _slot(x: Tensor) -> Tensor:
    """From (batch, channels, height, width); a view of channels-last images."""
    return x.permute(0, 2, 3, 1).contiguous()[None]


def _pixels(gradient: Tensor) -> Tensor:
    """(1, pixels, channels); a view of channels-last images, also of some of their channels."""
    last = gradient.permute(0, 2, 3, 1)
    return (last if last.stride(3) == 1 else last.contiguous()).flatten(0, 2)[None]


def _images(x: Tensor) -> Tensor:
    """The way back: channels-last."""
    return x[0].permute(0, 3, 1, 2)
