"""Pools, concatenation and sums of gradients on kernels, for training final networks.

Only networks that are trained from scratch use this module and `fused`. The cells of a search are
computed by `space.fused_cell`.

Kernels want images (1, batch, height, width, channels), which is what channels-last tensors are in
memory: `slot_of` and `images_of` go there and back, and copy nothing if images lie so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from xnas.kernels.blocks import parts
from xnas.kernels.pool_gradients import average_pool_gradient, max_pool_gradient
from xnas.kernels.pools import average_pool, max_pool
from xnas.kernels.states import join, total


def pool(x: Tensor, stride: int, *, largest: bool) -> Tensor:
    """3x3 pool: the largest, or the mean without the padding."""
    out: Tensor = _Pool.apply(x, stride, largest)
    return out


def shared(x: Tensor, users: int) -> tuple[Tensor, ...]:
    """The same images for each user, whose gradients are added up in one pass."""
    several: tuple[Tensor, ...] = _Shared.apply(x, users)
    return several


def joined(states: Sequence[Tensor]) -> Tensor:
    """Images with the channels of all states."""
    out: Tensor = _Joined.apply(*states)
    return out


class _Pool(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, stride: int, largest: bool) -> Tensor:  # noqa: ANN401, FBT001
        images = slot_of(x)
        _, batch, height, width, channels = images.shape
        out = images.new_empty(1, batch, parts(height, stride), parts(width, stride), channels)
        if largest:
            ctx.save_for_backward(max_pool(images, stride=stride, out=out))
        else:
            average_pool(images, stride=stride, out=out)
        ctx.stride, ctx.shape = stride, images.shape
        return images_of(out)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401
        into = gradient.new_zeros(ctx.shape)
        if ctx.saved_tensors:
            (taken,) = ctx.saved_tensors
            max_pool_gradient(slot_of(gradient), taken, stride=ctx.stride, into=into)
        else:
            average_pool_gradient(slot_of(gradient), stride=ctx.stride, into=into)
        return images_of(into), None, None


class _Shared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, users: int) -> tuple[Tensor, ...]:  # noqa: ANN401
        ctx.set_materialize_grads(False)
        return tuple(x.view_as(x) for _ in range(users))

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, None]:  # noqa: ANN401, ARG004
        known = [gradient for gradient in gradients if gradient is not None]
        if not known:
            return None, None
        batch, _, height, width = known[0].shape
        found = total([pixels_of(gradient)[0] for gradient in known])
        return images_of(found.view(1, batch, height, width, -1)), None


class _Joined(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *states: Tensor) -> Tensor:  # noqa: ANN401
        images = [slot_of(state) for state in states]
        ctx.count = len(images)
        return images_of(join([one.flatten(0, 3) for one in images]).view(*images[0].shape[:4], -1))

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:  # noqa: ANN401
        return gradient.chunk(ctx.count, 1)


def slot_of(x: Tensor) -> Tensor:
    """From (batch, channels, height, width); a view of channels-last images."""
    return x.permute(0, 2, 3, 1).contiguous()[None]


def pixels_of(gradient: Tensor) -> Tensor:
    """(1, pixels, channels); a view of channels-last images, also of some of their channels."""
    last = gradient.permute(0, 2, 3, 1)
    return (last if last.stride(3) == 1 else last.contiguous()).flatten(0, 2)[None]


def images_of(x: Tensor) -> Tensor:
    """The inverse of `slot_of`: channels-last images."""
    return x[0].permute(0, 3, 1, 2)
