"""Convolutions with batch norm on kernels, for training final networks, with gradients of their own.

A separable convolution is stages of ReLU, depthwise convolution, 1x1 convolution and batch norm. All of
them are one function of autograd here, and so are projections and factorised reductions: images stay
(1, batch, height, width, channels), which is what channels-last tensors are in memory; statistics are
gathered while the 1x1 convolution computes; the ReLU of the second stage is part of the batch norm
before it. Drop path and the sum at a node are part of the last batch norm. What backward needs is kept,
not computed again: a training has memory to spare. Sums are made in float32 at least, whatever the
images are. `fused_states` has what is no convolution; `space.fused_cell` serves searches.
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
from xnas.kernels.halves import gather, spread
from xnas.kernels.moments import EPSILON, MOMENTUM, Moments
from xnas.kernels.normalization import normalize
from xnas.kernels.normalization_gradients import normalization_gradient, normalization_sums
from xnas.kernels.pointwise import pointwise, pointwise_with_moments
from xnas.kernels.pointwise_weights import pointwise_weight_gradient
from xnas.nn.fused_states import images_of, pixels_of, slot_of
from xnas.nn.operations import SeparableStage


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


def stages_of(stages: Sequence[SeparableStage]) -> list[Stage] | None:
    """What kernels need of each stage, or None if they do not support one of the batch norms."""
    found = []
    for stage in stages:
        depthwise, norm = stage.depthwise, stage.norm
        if not norm.affine or not known_norm(norm):
            return None
        found.append(
            Stage(
                kernel=depthwise.kernel_size[0],
                stride=depthwise.stride[0],
                dilation=depthwise.dilation[0],
                parameters=(depthwise.weight, stage.pointwise.weight, norm.weight, norm.bias),
                running=_running(norm),
                batches=norm.get_buffer("num_batches_tracked"),
            )
        )
    return found


def separable(
    x: Tensor, stages: list[Stage], *, factors: Tensor | None = None, plus: Tensor | None = None
) -> Tensor:
    """Output of the stages, in training, of images (batch, channels, height, width).

    It is multiplied by `factors` (batch) and added to `plus`, images like it.
    """
    torch._foreach_add_([stage.batches for stage in stages], 1)
    parameters = (p for stage in stages for p in stage.parameters)
    with _settled_type(x) as images:
        plus = None if plus is None else plus.to(images.dtype)
        out: Tensor = _Separable.apply(images, plus, factors, stages, *parameters)
    return out


@contextmanager
def _settled_type(x: Tensor) -> Iterator[Tensor]:
    """The images in the type that autocast asks for; inside, nothing is cast any more."""
    device = x.device.type
    if torch.is_autocast_enabled(device):
        x = x.to(torch.get_autocast_dtype(device))
    with torch.autocast(device, enabled=False):
        yield x


class _Separable(torch.autograd.Function):
    KEPT = 9  # tensors a stage
    BEFORE = 4  # inputs before the parameters

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        x: Tensor,
        plus: Tensor | None,
        factors: Tensor | None,
        stages: list[Stage],
        *_parameters: Tensor,
    ) -> Tensor:
        images = slot_of(x)
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
            kept += [images, taps, deep, product, moments.mean, moments.scale, point, scale, shift]
            end: dict[str, Any] = {"relu": True}
            if stage is stages[-1]:
                there = None if plus is None else slot_of(plus).flatten(1, 3)
                end = {"relu": False, "factors": factors, "plus": there}
            out = normalize(product, moments, scale[None], shift[None], **end)
            images = out.view(*deep.shape[:4], -1)
        ctx.stages = [(stage.kernel, stage.stride, stage.dilation) for stage in stages]
        ctx.save_for_backward(*kept, factors)
        return images_of(images)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        (*kept, factors), needed = ctx.saved_tensors, ctx.needs_input_grad
        flow: Tensor | None = pixels_of(gradient)
        found: list[Tensor | None] = [None] * (len(needed) - _Separable.BEFORE)
        for index in reversed(range(len(ctx.stages))):
            if flow is None:
                break
            kernel, stride, dilation = ctx.stages[index]
            plan = _plan(kernel, dilation, gradient.device)
            images, taps, deep, product, mean, factor, point, scale, shift = kept[
                index * _Separable.KEPT : (index + 1) * _Separable.KEPT
            ]
            place = _Separable.BEFORE + 4 * index  # of the stage's parameters among the inputs
            before = needed[0] or any(needed[_Separable.BEFORE : place])
            depth_needed, point_needed = needed[place : place + 2]
            convolved: list[Tensor | None] = [None, None]
            moments, flat, flow = Moments(mean, factor), flow, None
            affine = scale[None], shift[None]
            end = {"relu": index < len(ctx.stages) - 1, "factors": factors}
            sums = normalization_sums(flat, product, moments, *affine, **end)
            if before or depth_needed or point_needed:
                flat = normalization_gradient(flat, product, moments, sums, *affine, **end)
            factors = None  # they belong to the last stage
            if point_needed:
                convolved[1] = _point_gradient(deep.flatten(1, 3), flat, point)
            if before or depth_needed:
                deep_flow = pointwise(flat, point.flatten(1)[None]).view_as(deep)
            if depth_needed:
                (taps_gradient,) = depthwise_weight_gradient(
                    images, deep_flow, plan, like=[taps], stride=stride, relu=index == 0
                )
                convolved[0] = taps_gradient[0].t().reshape(-1, 1, kernel, kernel)
            if before:
                into = torch.empty_like(images)
                gate = images if index == 0 else None  # the batch norm before it has the ReLU
                depthwise_input_gradient(deep_flow, [taps], plan, gate, stride=stride, into=into)
                flow = into.flatten(1, 3)
            found[4 * index : 4 * index + 4] = [*convolved, sums[0, 1], sums[0, 0]]
        of_x = None if flow is None else images_of(flow.view(kept[0].shape))
        return of_x, gradient if needed[1] else None, None, None, *found


def projection(x: Tensor, point: nn.Conv2d, norm: nn.BatchNorm2d) -> Tensor:
    """ReLU, 1x1 convolution, batch norm, in training."""
    norm.get_buffer("num_batches_tracked").add_(1)
    with _settled_type(x) as images:
        out: Tensor = _Projection.apply(images, _running(norm), point.weight, norm.weight, norm.bias)
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
        images = slot_of(x)
        flat = images.flatten(1, 3)
        moments = _moments(images, len(point), running)
        product = flat.new_empty(1, flat.shape[1], len(point))
        weight = point.flatten(1).t()[None]
        pointwise_with_moments(flat, weight, relu=True, out=product, into=moments)
        affine = (None, None) if scale is None or shift is None else (scale[None], shift[None])
        out = normalize(product, moments, *affine, relu=False)
        ctx.save_for_backward(images, product, moments.mean, moments.scale, point, scale)
        return images_of(out.view(*images.shape[:4], -1))

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        images, product, mean, factor, point, scale = ctx.saved_tensors
        moments, flat = Moments(mean, factor), images.flatten(1, 3)
        flow = pixels_of(gradient)
        sums = normalization_sums(flow, product, moments)
        flow = normalization_gradient(
            flow, product, moments, sums, None if scale is None else scale[None]
        )
        into = of_point = None
        if ctx.needs_input_grad[2]:
            of_point = _point_gradient(flat, flow, point, relu=True)
        if ctx.needs_input_grad[0]:
            into = images_of(pointwise(flow, point.flatten(1)[None], gate=flat).view(images.shape))
        if scale is None:
            return into, None, of_point, None, None
        return into, None, of_point, sums[0, 1], sums[0, 0]


def reduction(x: Tensor, even: nn.Conv2d, odd: nn.Conv2d, norm: nn.BatchNorm2d) -> Tensor:
    """ReLU, 1x1 convolutions of the even and of the odd pixels, batch norm, in training."""
    norm.get_buffer("num_batches_tracked").add_(1)
    learned = even.weight, odd.weight, norm.weight, norm.bias
    with _settled_type(x) as images:
        out: Tensor = _Reduction.apply(images, _running(norm), *learned)
    return out


class _Reduction(torch.autograd.Function):
    """The even and the odd pixels are two slots, whose results lie side by side."""

    @staticmethod
    def forward(  # noqa: PLR0917 - autograd's
        ctx: Any,  # noqa: ANN401
        x: Tensor,
        running: tuple[Tensor, Tensor],
        even: Tensor,
        odd: Tensor,
        scale: Tensor | None,
        shift: Tensor | None,
    ) -> Tensor:
        halves = gather(slot_of(x)[0])
        flat, point = halves.flatten(1, 3), torch.stack([even.flatten(1), odd.flatten(1)])
        moments = _moments(halves, 2 * len(even), running)
        product = flat.new_empty(1, flat.shape[1], 2 * len(even))
        pointwise_with_moments(flat, point.transpose(1, 2), relu=True, out=product, into=moments)
        affine = (None, None) if scale is None or shift is None else (scale[None], shift[None])
        out = normalize(product, moments, *affine, relu=False)
        ctx.save_for_backward(halves, product, moments.mean, moments.scale, point, scale)
        ctx.size = x.shape[2:]
        return images_of(out.view(1, *halves.shape[1:4], -1))

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        halves, product, mean, factor, point, scale = ctx.saved_tensors
        moments, needed, flat = Moments(mean, factor), ctx.needs_input_grad, halves.flatten(1, 3)
        flow = pixels_of(gradient)
        sums = normalization_sums(flow, product, moments)
        flow = normalization_gradient(
            flow, product, moments, sums, None if scale is None else scale[None]
        )
        into = None
        points: tuple[Tensor | None, ...] = (None, None)
        if needed[2] or needed[3]:
            like = point.transpose(1, 2)
            found = pointwise_weight_gradient(flat, flow, relu=True, like=like).transpose(1, 2)
            points = tuple(found[..., None, None].unbind())
        if needed[0]:
            pixels = pointwise(flow, point, gate=flat).view_as(halves)
            into = images_of(spread(pixels, *ctx.size)[None])
        learned = (None, None) if scale is None else (sums[0, 1], sums[0, 0])
        return into, None, *points, *learned


def _point_gradient(x: Tensor, flow: Tensor, point: Tensor, *, relu: bool = False) -> Tensor:
    """Of a 1x1 convolution (out, in, 1, 1), laid out as it is."""
    like = point.flatten(1).t()[None]
    return pointwise_weight_gradient(x, flow, relu=relu, like=like)[0].t().view(point.shape)


@cache
def _plan(kernel: int, dilation: int, device: torch.device) -> Plan:
    """One convolution of one input."""
    return plan_of([(0, kernel, dilation)], inputs=1, device=device, alone=True)


def _running(norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
    """Mean and variance of a known norm."""
    return norm.get_buffer("running_mean"), norm.get_buffer("running_var")


def _moments(images: Tensor, channels: int, running: tuple[Tensor, Tensor]) -> Moments:
    """Room for the statistics of `channels`."""
    wide = torch.promote_types(images.dtype, torch.float32)
    mean, scale = (images.new_empty(1, channels, dtype=wide) for _ in range(2))
    return Moments(mean, scale, *(numbers[None] for numbers in running))
