"""A cell of the supernet computed by few large calls instead of many small ones.

It computes what `SearchCell` computes, with the same parameters, which it packs (`fused_tables`):
experts that read the same states go together, whatever their edge; pools are computed once for a
state, as their batch norms learn nothing; batch norm and the weighted sum of a node are one pass over
`advice`, where every expert's output waits, and the rewards fall out of the sums that batch norm's
gradient needs anyway. A fan-out's depthwise convolutions of all sides and dilations are one call; they
read the ReLU of states, which is written once. What depthwise convolutions computed is kept for the
weights' gradients. Pools, skip connections that reduce, the older of a cell's inputs, and in the
backward pass the gradients of weights, are computed on a second stream. Index tables say which experts
are alive: a deletion makes new tables and compiles nothing.

This serves searches. Final networks are trained by `nn.fused` and `nn.fused_states`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from xnas.kernels.depthwise import depthwise, depthwise_input_gradient
from xnas.kernels.depthwise_weights import depthwise_weight_gradient
from xnas.kernels.mixing import Copies, mix
from xnas.kernels.mixing_gradients import Readers, advice_gradient, term_products
from xnas.kernels.moments import Moments
from xnas.kernels.normalization import normalize
from xnas.kernels.normalization_gradients import normalization_gradient, normalization_sums
from xnas.kernels.pointwise import pointwise, pointwise_with_moments
from xnas.kernels.pointwise_weights import pointwise_weight_gradient
from xnas.kernels.pool_gradients import Convolved, Passed, Pooled, input_gradient
from xnas.kernels.pools import pool
from xnas.kernels.streams import SideStream
from xnas.space.cell import SearchCell
from xnas.space.fused_reductions import Reductions
from xnas.space.fused_tables import FanOut, Stage, Tables, graph_of


class FusedCell:
    """Executes a `SearchCell` in training. Build a new one after a deletion."""

    def __init__(self, cell: SearchCell) -> None:
        self.cell, self.tables = cell, Tables(graph_of(cell))

    @property
    def packed(self) -> list[Tensor]:
        """Leaves that stand for the parameters of the experts."""
        return self.tables.leaves

    def __call__(self, before_that: Tensor, previous: Tensor, mixture: Tensor) -> Tensor:
        """Output (batch, nodes x channels, ...); `mixture` is (edges, experts)."""
        tables, side = self.tables, SideStream(previous.device, line=1)
        side.keep(before_that)
        with side.branch():
            older = channels_last(self.cell.prepare_before_that(before_that))
            if tables.batches is not None:
                tables.batches += 1
        newer = channels_last(self.cell.prepare_previous(previous))
        side.join()
        return computed_nodes(tables, [older, newer], mixture).permute(0, 3, 1, 2)


def computed_nodes(tables: Tables, states: Sequence[Tensor], mixture: Tensor) -> Tensor:
    """Nodes side by side (batch, height, width, nodes x channels) of inputs with channels last."""
    nodes: Tensor = _Nodes.apply(tables, mixture, *states, *tables.leaves)
    return nodes


def channels_last(images: Tensor) -> Tensor:
    """(batch, height, width, channels), contiguous."""
    return images.permute(0, 2, 3, 1).contiguous()


@dataclass(slots=True)
class _Kept:
    """What the backward pass needs of a fan-out, besides its advice."""

    first: Tensor | None
    """Outputs of depthwise convolutions, if weights learn; `second` those of the second ones."""
    second: Tensor | None
    again: Tensor
    """What the second ones read."""
    taken: Tensor
    """Where the maxima were."""


class _Nodes(torch.autograd.Function):
    """`computed_nodes`, with a gradient of its own."""

    BEFORE = 2  # arguments before the inputs

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's
        tables: Tables,
        mixture: Tensor,
        *inputs_and_packed: Tensor,
    ) -> Tensor:
        inputs, packed = inputs_and_packed[: tables.inputs], inputs_and_packed[tables.inputs :]
        first, learning = tables.fan_outs[0], any(ctx.needs_input_grad[_Nodes.BEFORE + tables.inputs :])
        previous = inputs[-1]
        wide = torch.promote_types(previous.dtype, torch.float32)
        batch, height, width, channels = previous.shape
        size = batch, *tables.output_size(height, width)
        advice = previous.new_empty(tables.slot_count, *size, channels)
        image = previous.new_empty(*size, tables.nodes * channels)
        side_by_side, pixels = _nodes_of(image, tables.nodes), advice.flatten(1, 3)
        moments = Moments(*tables.unmoved(channels, wide).clone())
        weights = mixture.flatten()[tables.mixture_index].to(wide)
        if first.stride == 1:
            x = advice[first.slots.identities]
            torch.stack(inputs, out=x)
        else:
            x = torch.stack(inputs)
        active = [x.relu(), previous.new_empty(tables.nodes, *size, channels)]
        kept, side = [], SideStream(previous.device)
        if tables.reductions:
            reduced = first.slots.reduced
            with side.branch():
                ctx.halves = tables.reductions.forward(
                    active[0], packed[-1], out=pixels[reduced], into=moments.slots(reduced)
                )
        for fan_out in tables.fan_outs:
            states = _states(fan_out, [x, advice]), _states(fan_out, active)
            kept.append(_compute(fan_out, *states, packed, advice, moments, side, learning=learning))
            node = fan_out.completes
            mix(
                pixels,
                moments,
                tables.term_slots[tables.terms_of[node]],
                weights[tables.terms_of[node]],
                out=pixels[node],
                copies=Copies(active[1][node].flatten(0, 2), side_by_side[node]),
            )
        ctx.tables, ctx.moments, ctx.kept = tables, moments, kept
        ctx.save_for_backward(*active, advice, mixture, weights, *packed)
        return image

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        *active, advice, mixture, weights = ctx.saved_tensors[:5]
        packed, tables = ctx.saved_tensors[5:], ctx.tables
        image = torch.empty(gradient.shape, dtype=advice.dtype, device=advice.device).copy_(gradient)
        inputs = torch.empty_like(active[0])
        back = _Backward(
            tables,
            image,
            _nodes_of(image, tables.nodes),
            advice.flatten(1, 3),
            ctx.moments,
            weights,
            weights.new_empty(len(weights), 2, advice.shape[-1]),
            {} if any(ctx.needs_input_grad[_Nodes.BEFORE + tables.inputs :]) else None,
            SideStream(advice.device),
        )
        reduced = None
        for fan_out, kept in zip(reversed(tables.fan_outs), reversed(ctx.kept), strict=True):
            back.add_rewards(fan_out.completes)
            back.side.join(but_last=2)  # those of the fan-out after this one, whose memory they keep
            if tables.reductions and fan_out.node is None:
                reduced = back.through_reductions(tables.reductions, fan_out, packed, ctx.halves)
            back.through(fan_out, _states(fan_out, active), packed, kept, inputs)
        back.side.join()
        if reduced is not None:
            tables.reductions.add_gradient(reduced, gate=active[0], into=inputs)
        rewards = None
        if ctx.needs_input_grad[1]:
            rewards = torch.zeros_like(mixture).flatten()
            rewards[tables.mixture_index] = back.products[:, 1].sum(-1).to(rewards.dtype)
            rewards = rewards.reshape(mixture.shape)
        of_weights = back.of_weights or {}
        found = (of_weights.get(index) for index in range(len(packed)))
        return None, rewards, *inputs.unbind(), *found


def _nodes_of(image: Tensor, nodes: int) -> Tensor:
    """(nodes, pixels, channels) of nodes side by side."""
    return image.view(-1, nodes, image.shape[-1] // nodes).transpose(0, 1)


def _states(fan_out: FanOut, both: Sequence[Tensor]) -> Tensor:
    """Of the inputs and all nodes those that a fan-out reads."""
    inputs, nodes = both
    node = fan_out.node
    return inputs if node is None else nodes[node : node + 1]


def _compute(  # noqa: PLR0917 - what is read, and where results go
    d: FanOut,
    states: Tensor,
    active: Tensor,
    packed: Sequence[Tensor],
    advice: Tensor,
    moments: Moments,
    side: SideStream,
    *,
    learning: bool,
) -> _Kept:
    """Compute every expert that reads these states, which are given as they are and with a ReLU."""
    pixels, slots = advice.flatten(1, 3), d.slots
    with side.branch():
        taken = pool(
            states,
            d.pools,
            stride=d.stride,
            out=advice[slots.pools],
            into=moments.slots(slots.pools, running=d.pools_running),
        )
    first = second = None
    again = advice[:0]
    if len(d.first):
        weights = [packed[index] for index in d.first.depthwise]
        first = depthwise(active, weights, d.first.plan, stride=d.stride, relu=False)
        pointwise_with_moments(
            first.flatten(1, 3),
            packed[d.first.pointwise],
            out=pixels[slots.first_products],
            into=moments.slots(slots.first_products, running=d.first.running),
        )
    if len(d.second):
        between = slots.between
        again = normalize(pixels[between], moments.slots(between), relu=True).view_as(advice[between])
        weights = [packed[index] for index in d.second.depthwise]
        second = depthwise(again, weights, d.second.plan, stride=1, relu=False)
        pointwise_with_moments(
            second.flatten(1, 3),
            packed[d.second.pointwise],
            out=pixels[slots.separable],
            into=moments.slots(slots.separable, running=d.second.running),
        )
    side.join()
    return _Kept(first if learning else None, second if learning else None, again, taken)


@dataclass(slots=True)
class _Backward:
    """The backward pass of a cell."""

    tables: Tables
    image: Tensor
    """Gradients of the nodes, side by side, complete once all fan-outs after a node are done."""
    nodes: Tensor
    """The same (nodes, pixels, channels)."""
    advice: Tensor
    moments: Moments
    weights: Tensor
    products: Tensor
    """Of every term: Σ G, and Σ G · normalised advice, whose sum over channels is -reward."""
    of_weights: dict[int, Tensor] | None
    """Gradients of packed weights, or None if they are not needed."""
    side: SideStream
    """Where they are computed, in parallel with the rest."""

    def add_rewards(self, node: int) -> None:
        """Inner products of the gradient of a node with all that goes into it."""
        arriving = self.tables.terms_of[node]
        term_products(
            self.nodes[node],
            self.advice,
            self.moments,
            slots=self.tables.term_slots[arriving],
            out=self.products[arriving],
        )

    def slot_gradients(self, readers: Readers, *, held: bool, out: Tensor) -> None:
        """Put the gradients of these slots into `out`, through their batch norms if `held`."""
        advice_gradient(
            self.nodes,
            self.advice,
            self.moments,
            readers,
            targets=self.tables.targets,
            weights=self.weights,
            products=self.products,
            held=held,
            out=out,
        )

    def through_reductions(
        self, reductions: Reductions, d: FanOut, packed: Sequence[Tensor], halves: Tensor
    ) -> Tensor:
        """Gradient of the halves of the inputs that skip connections reduce, computed in parallel."""
        with self.side.branch():
            flow = torch.empty_like(self.advice[d.slots.reduced])
            self.slot_gradients(d.passed, held=True, out=flow)
            back = reductions.halves_gradient(flow, packed[-1])
            if self.of_weights is not None:
                self.of_weights[len(packed) - 1] = reductions.weight_gradient(halves, flow)
        return back

    def through(
        self, d: FanOut, active: Tensor, packed: Sequence[Tensor], kept: _Kept, inputs: Tensor
    ) -> None:
        """Put the gradient of the states into `inputs`, or add it to the gradient of their node."""
        first, second, size = len(d.first), len(d.second), kept.taken.shape[1:]
        separable = len(d.normalized.slots)  # where they begin, behind all others and those between
        flows = self.advice.new_empty(separable + second, *self.advice.shape[1:])
        self.slot_gradients(d.normalized, held=True, out=flows[second:])
        groups = len(d.first.plan.groups)
        planes = active.new_empty(groups, *active.shape[1:], dtype=self.moments.mean.dtype)
        if second:
            into = torch.empty_like(kept.again)
            self._through_stage(d.second, kept.again, packed, kept.second, flows[separable:], into)
            self._through_norm(d.slots.between, into.flatten(1, 3), out=flows[:second])
        if first:
            self._through_stage(
                d.first, active, packed, kept.first, flows[:first], planes, stride=d.stride, gate=active
            )
        passed = Passed(self.nodes, self.tables.targets, self.weights, d.passed)
        input_gradient(
            Pooled(flows[first:separable].view(-1, *size), kept.taken, d.pools),
            stride=d.stride,
            into=inputs if d.node is None else self._gradient_of(d.node),
            add=d.node is not None,
            convolved=Convolved(planes, d.first.plan.arrivals),
            passed=passed if d.stride == 1 else None,
        )

    def _gradient_of(self, node: int) -> Tensor:
        """(1, batch, height, width, channels)."""
        channels = self.advice.shape[-1]
        return self.image[None, ..., node * channels : (node + 1) * channels]

    def _through_stage(  # noqa: PLR0917
        self,
        stage: Stage,
        x: Tensor,
        packed: Sequence[Tensor],
        convolved: Tensor | None,
        flow: Tensor,
        into: Tensor,
        *,
        stride: int = 1,
        gate: Tensor | None = None,
    ) -> None:
        """From the products of a stage to what its depthwise convolutions read, `x`.

        `convolved` are the outputs of these, which the gradients of weights need.
        """
        size = (-(-side // stride) for side in x.shape[2:4])
        of_depthwise = pointwise(flow, packed[stage.pointwise].transpose(1, 2))
        of_depthwise = of_depthwise.view(-1, x.shape[1], *size, x.shape[-1])
        weights = [packed[index] for index in stage.depthwise]
        if self.of_weights is not None and convolved is not None:
            with self.side.branch(of_depthwise, flow):
                found = depthwise_weight_gradient(
                    x, of_depthwise, stage.plan, like=weights, stride=stride, relu=False
                )
                of_products = pointwise_weight_gradient(convolved.flatten(1, 3), flow)
            self.of_weights.update(zip(stage.depthwise, found, strict=True))
            self.of_weights[stage.pointwise] = of_products
        depthwise_input_gradient(of_depthwise, weights, stage.plan, gate, stride=stride, into=into)

    def _through_norm(self, slots: slice, gradient: Tensor, *, out: Tensor) -> None:
        """From what the second stages read to the products of the first: ReLU and batch norm."""
        given = gradient, self.advice[slots], self.moments.slots(slots)
        normalization_gradient(*given, normalization_sums(*given, relu=True), relu=True, out=out)
