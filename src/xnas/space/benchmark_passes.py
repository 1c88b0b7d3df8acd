"""One cell of NAS-Bench-201 as an autograd function with a backward pass of its own.

Autograd would copy where edges part and add where they meet. Here a state needs in the forward pass one
convolution, its statistics, and one kernel that adds all its experts to the later nodes; in the backward
pass the inner products, which are rewards and what batch norm's gradient needs, one kernel up
to the convolution, the convolution's own, and one that gathers the state's gradient.

Images lie channels-last. Sums of nodes wait for the next state in the images' own type: a state is added
in 32 bits, and rounding once per state, twice more than needed, is as autocast does with modules; wider
sums would be read and written at twice the cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import conv2d

from xnas.kernels.fan_out import Advice, Routes, fan_out, gather_slots
from xnas.kernels.fan_out_gradients import raw_gradient, state_gradient
from xnas.kernels.moments import EPSILON, Moments
from xnas.kernels.rewards import fan_out_products
from xnas.kernels.square_weights import square_gradients, square_weight_gradient
from xnas.kernels.streams import SideStream

POINTWISE, SQUARE = "nor_conv_1x1", "nor_conv_3x3"
SAVED = 5  # tensors per state


@dataclass(frozen=True, slots=True)
class Setting:
    """What a cell computes with, but for what has gradients."""

    routes: tuple[Routes, ...]
    """By state."""
    running: list[tuple[Tensor, Tensor]]
    """By state: mean and variance (slots, channels), kept in training and used otherwise."""
    training: bool
    rectify: bool
    """Whether a cell follows that begins with the ReLU of this one's output."""


class CellPass(torch.autograd.Function):
    """A whole cell. Sums and gradients are (nodes, batch, height, width, channels)."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        setting: Setting,
        x: Tensor,
        rectified: Tensor | None,
        weights: Tensor,
        *kernels: Tensor | None,
    ) -> tuple[Tensor, Tensor | None]:
        """The last node, and its ReLU if asked for; `rectified` is the ReLU of `x`, if it is known.

        `weights` are those of all states, a row after the other; `kernels` are one per state, or None.
        """
        routes, saved, state = setting.routes, list[Tensor | None](), _last(x)
        ctx.setting = setting
        ctx.tensors = [isinstance(one, Tensor) for one in (setting, x, rectified, weights, *kernels)]
        sums = x.new_empty((len(routes), *state.shape))
        asked = [kernel is not None for kernel in kernels[1:]] + [setting.rectify]
        with torch.autocast(x.device.type, enabled=False):
            for number, row in enumerate(weights.split_with_sizes([one.width for one in routes])):
                kernel, later, advice = kernels[number], sums[number:], None
                if kernel is not None:
                    rectified = _first(state).relu() if rectified is None else rectified
                    advice = _convolved(rectified, kernel, setting, number)
                    saved += [rectified, kernel, advice.raw, advice.moments.mean, advice.moments.scale]
                else:
                    saved += [None] * SAVED
                rectified = _first(torch.empty_like(later[0])) if asked[number] else None
                fan_out(
                    state,
                    advice,
                    routes[number],
                    row,
                    add=number > 0,
                    sums=later,
                    rectified=None if rectified is None else _last(rectified),
                )
                state = later[0]
        ctx.save_for_backward(x, weights, sums, *saved)
        ctx.set_materialize_grads(False)
        if rectified is not None:
            ctx.mark_non_differentiable(rectified)
        return _first(state), rectified

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: None) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        """Gradients of the input, the weights and the kernels, from the last state to the first."""
        setting, needed = ctx.setting, _needed(ctx)
        x, weights, sums, *saved = ctx.saved_tensors
        states, sizes = [_last(x), *sums[:-1]], [one.width for one in setting.routes]
        given: list[Tensor | None] = [None] * len(needed)
        rewards: list[Tensor | None] = [None] * len(sizes)
        if needed[3]:
            given[3] = earned = torch.empty_like(weights)
            rewards = list(earned.split_with_sizes(sizes))
        towards, side = torch.empty_like(sums), SideStream(x.device)  # towards: gradients of the nodes
        towards[-1].copy_(_last(gradient))
        with torch.autocast(x.device.type, enabled=False):
            for number, row in reversed(list(enumerate(weights.split_with_sizes(sizes)))):
                out = towards[number - 1] if number else None
                if number == 0 and needed[1]:
                    out = torch.empty_like(states[0])
                    given[1] = _first(out)
                kept = saved[SAVED * number : SAVED * (number + 1)]
                given[4 + number] = _back_through(
                    _Read(setting, number, states[number], row, kept),
                    towards[number:],
                    rewards=rewards[number],
                    of_kernel=needed[4 + number],
                    out=out,
                    side=side,
                )
        side.join()
        return tuple(given)


class StatePass(torch.autograd.Function):
    """What the experts that read one state say to each later node, before it is added up."""

    @staticmethod
    def forward(  # noqa: PLR0917
        ctx: Any,  # noqa: ANN401
        setting: Setting,
        number: int,
        state: Tensor,
        weights: Tensor,
        kernel: Tensor | None,
    ) -> Tensor:
        """Return (nodes, batch, height, width, channels) for `state`, which is one of these."""
        route, saved, advice = setting.routes[number], list[Tensor | None]([None] * SAVED), None
        ctx.setting, ctx.number = setting, number
        ctx.tensors = [isinstance(one, Tensor) for one in (setting, number, state, weights, kernel)]
        with torch.autocast(state.device.type, enabled=False):
            if kernel is not None:
                rectified = _first(state).relu()
                advice = _convolved(rectified, kernel, setting, number)
                saved = [rectified, kernel, advice.raw, advice.moments.mean, advice.moments.scale]
            out = state.new_empty((len(route.places), *state.shape))
            fan_out(state, advice, route, weights, add=False, sums=out, rectified=None)
        ctx.save_for_backward(state, weights, *saved)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        """Gradients of the state, the weights and the kernel."""
        _, _, of_state, of_weights, of_kernel = _needed(ctx)
        state, weights, *saved = ctx.saved_tensors
        rewards = torch.empty_like(weights) if of_weights else None
        out, side = torch.empty_like(state) if of_state else None, SideStream(state.device)
        with torch.autocast(state.device.type, enabled=False):
            of_its_kernel = _back_through(
                _Read(ctx.setting, ctx.number, state, weights, saved),
                gradient.contiguous(),
                rewards=rewards,
                of_kernel=of_kernel,
                out=out,
                side=side,
            )
        side.join()
        return None, None, out, rewards, of_its_kernel


class KernelPass(torch.autograd.Function):
    """The kernels of a stage in one tensor (slots · channels, channels, 3, 3), channels last."""

    @staticmethod
    def forward(  # noqa: PLR0917
        ctx: Any,  # noqa: ANN401
        square: Tensor | None,
        pointwise: Tensor | None,
        places: dict[str, Tensor],
        slots: int,
        dtype: torch.dtype,
    ) -> Tensor:
        """Square kernels as they are, pointwise ones in the middle of zeros."""
        known = square if square is not None else pointwise
        assert known is not None  # noqa: S101 - a stage without kernels does not come here
        channels = known.shape[-1]
        shape = (slots, channels, 3, 3, channels)
        together = known.new_empty(shape, dtype=dtype)
        if pointwise is not None:
            together.zero_()
            together[:, :, 1, 1].index_copy_(0, places[POINTWISE], pointwise.to(dtype))
        if square is not None:
            together.index_copy_(0, places[SQUARE], square.to(dtype))
        ctx.places, ctx.shape, ctx.dtype = places, shape, known.dtype
        ctx.there = square is not None, pointwise is not None
        return _first(together.flatten(0, 1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        """What belongs to the square kernels, and the middles of the others."""
        of_slots = _last(gradient).reshape(ctx.shape)
        square = pointwise = None
        if ctx.there[0]:
            square = of_slots.index_select(0, ctx.places[SQUARE]).to(ctx.dtype)
        if ctx.there[1]:
            pointwise = of_slots[:, :, 1, 1].index_select(0, ctx.places[POINTWISE]).to(ctx.dtype)
        return square, pointwise, None, None, None


def _convolved(rectified: Tensor, kernel: Tensor, setting: Setting, number: int) -> Advice:
    """The outputs of a state's convolutions, and the statistics that normalise them."""
    raw = conv2d(rectified, kernel, padding=1).contiguous(memory_format=torch.channels_last)
    raw = _last(raw).reshape(-1, setting.routes[number].slots, rectified.shape[1])
    kept_mean, kept_variance = setting.running[number]
    if not setting.training:
        return Advice(raw, Moments(kept_mean, (kept_variance + EPSILON).rsqrt()))
    mean, scale = kept_mean.new_empty((2, *kept_mean.shape))
    moments = Moments(mean, scale, kept_mean, kept_variance)
    gather_slots(raw, moments)
    return Advice(raw, moments)


@dataclass(frozen=True, slots=True)
class _Read:
    """A state that experts have read, and what was saved of that."""

    setting: Setting
    number: int
    state: Tensor
    weights: Tensor
    saved: list[Tensor | None]

    @property
    def convolved(self) -> tuple[Tensor, Tensor, Advice] | None:
        """The state's ReLU, the kernel and what came of them, if a convolution reads the state."""
        rectified, kernel, raw, mean, scale = self.saved
        if rectified is None or kernel is None or raw is None or mean is None or scale is None:
            return None
        return rectified, kernel, Advice(raw, Moments(mean, scale))


def _back_through(
    read: _Read,
    received: Tensor,
    *,
    rewards: Tensor | None,
    of_kernel: bool,
    out: Tensor | None,
    side: SideStream,
) -> Tensor | None:
    """From `received`, the gradients of the later nodes, the kernel's gradient, if it is wanted.

    `rewards` and `out`, if given, get the gradients of the weights and of the state.
    """
    state, row, route = read.state, read.weights, read.setting.routes[read.number]
    convolved = found = None
    rectified, kernel, advice = read.convolved or (None, None, None)
    products = row.new_empty((route.slots + len(received), state.shape[-1]))
    if advice is not None or rewards is not None:
        fan_out_products(received, state, advice, route, rewards=rewards, products=products)
    if rectified is not None and kernel is not None and advice is not None:
        flow = torch.empty_like(advice.raw)
        held = read.setting.training
        raw_gradient(received, advice, route, row, products, held=held, out=flow)
        if of_kernel:
            with side.branch(flow):
                found = _kernel_gradient(flow, rectified)
        if out is not None:
            back = _back_convolved(flow, rectified, kernel)
            convolved = _last(back), _last(rectified)
    if out is not None:
        state_gradient(received, convolved, route, row, out=out)
    return found


def _kernel_gradient(flow: Tensor, rectified: Tensor) -> Tensor:
    """From the gradient of a convolution's outputs that of its kernel, channels last as it is."""
    x = _last(rectified)
    return _first(square_weight_gradient(x, flow.view(*x.shape[:3], -1)))


def _back_convolved(flow: Tensor, rectified: Tensor, kernel: Tensor) -> Tensor:
    """From the gradient of a convolution's outputs that of its input."""
    flow = _first(flow.view(*_last(rectified).shape[:3], -1))
    back, _, _ = square_gradients(flow, rectified, kernel, [True, False, False])
    return back.contiguous(memory_format=torch.channels_last)


def _first(x: Tensor) -> Tensor:
    """Channels in their usual place: (batch, channels, height, width), laid out channels-last."""
    return x.permute(0, 3, 1, 2)


def _last(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1)


def _needed(ctx: Any) -> list[bool]:  # noqa: ANN401
    """For each argument whether this backward asks for its gradient.

    `needs_input_grad` does not know which inputs backward was asked to reach; the architecture step asks
    for no weight's gradient, and the engine knows.
    """
    edges, needed = iter(ctx.next_functions), []
    for there, requires in zip(ctx.tensors, ctx.needs_input_grad, strict=True):
        node = next(edges)[0] if there else None
        needed.append(requires and node is not None and _runs(node))
    return needed


def _runs(node: Any) -> bool:  # noqa: ANN401
    if type(node).__name__ == "AccumulateGrad":
        return True  # a leaf: the engine would not say
    return bool(torch._C._will_engine_execute_node(node))
