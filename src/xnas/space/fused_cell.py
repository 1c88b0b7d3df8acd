"""A cell of the supernet computed by few large calls instead of many small ones.

It computes what `SearchCell` computes, with the same parameters, which it packs (`fused_tables`):
experts that leave the same states go together, whatever their edge; pools are computed once for a
state, as their batch norms learn nothing; batch norm and the weighted sum of a node are one pass over
`advice`, where every expert's output waits, and the rewards fall out of the sums that batch norm's
gradient needs anyway. Backward keeps the outputs of pointwise convolutions alone, and computes the rest
again. Who is alive is a matter of index tables: a deletion makes new tables and compiles nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from xnas.kernels.depthwise import depthwise, depthwise_input_gradient, depthwise_weight_gradient
from xnas.kernels.mixing import advice_gradient, inner_products, mix
from xnas.kernels.moments import Moments, gather_moments
from xnas.kernels.normalization import normalization_gradient, normalize
from xnas.kernels.pointwise import pointwise, pointwise_weight_gradient, pointwise_with_moments
from xnas.kernels.pools import average_pool, average_pool_gradient, max_pool, max_pool_gradient
from xnas.space.cell import SearchCell
from xnas.space.fused_tables import Departure, Tables


class FusedCell:
    """Executes a `SearchCell` in training. To be made anew after a deletion."""

    def __init__(self, cell: SearchCell) -> None:
        self.cell, self.tables = cell, Tables(cell)

    @property
    def packed(self) -> list[Tensor]:
        """Leaves that stand for the parameters of the experts."""
        reductions = self.tables.reductions
        return [*self.tables.packed, *(reductions.packed if reductions else ())]

    def __call__(self, before_that: Tensor, previous: Tensor, mixture: Tensor) -> Tensor:
        """Output (batch, nodes x channels, ...); `mixture` is (edges, experts)."""
        tables = self.tables
        inputs = [
            _channels_last(self.cell.prepare_before_that(before_that)),
            _channels_last(self.cell.prepare_previous(previous)),
        ]
        reduced = tables.reductions(inputs) if tables.reductions else inputs[0].new_empty(0)
        nodes: Tensor = _Nodes.apply(tables, *inputs, mixture, reduced, *tables.packed)
        if tables.batches is not None:
            tables.batches += 1
        return nodes.permute(1, 0, 4, 2, 3).flatten(1, 2)


def _channels_last(images: Tensor) -> Tensor:
    """(batch, height, width, channels), contiguous."""
    return images.permute(0, 2, 3, 1).contiguous()


@dataclass(slots=True)
class _Kept:
    """What backward needs of a departure, besides its advice."""

    middle: Tensor
    """Separable convolutions between their two halves, before batch norm."""
    between: Moments
    taken: Tensor | None
    """Where the maxima were."""


class _Nodes(torch.autograd.Function):
    """All nodes of a cell (nodes, batch, height, width, channels) from its two inputs."""

    @staticmethod
    def forward(  # noqa: PLR0917 - autograd's
        ctx: Any,  # noqa: ANN401 - torch's
        tables: Tables,
        before_that: Tensor,
        previous: Tensor,
        mixture: Tensor,
        reduced: Tensor,
        *packed: Tensor,
    ) -> Tensor:
        x = torch.stack([before_that, previous])
        wide = torch.promote_types(x.dtype, torch.float32)
        batch, height, width, channels = before_that.shape
        advice = x.new_empty(tables.slots, batch, *tables.output_size(height, width), channels)
        pixels = advice.flatten(1, 3)
        moments = Moments(
            torch.zeros(tables.slots, channels, dtype=wide, device=x.device),
            torch.ones(tables.slots, channels, dtype=wide, device=x.device),
        )
        weights = mixture.flatten()[tables.mixture_index].to(wide)
        first = tables.departures[0]
        if first.stride == 1:
            advice[first.slots["identities"]] = x
        elif len(reduced):
            pixels[first.slots["reduced"]] = reduced.to(x.dtype)
        kept = []
        for departure in tables.departures:
            kept.append(_depart(departure, _states(departure, x, advice), packed, advice, moments))
            arriving = tables.arriving[departure.completes]
            mix(
                pixels,
                moments,
                tables.term_slots[arriving],
                weights[arriving],
                out=pixels[departure.completes],
            )
        ctx.tables, ctx.moments, ctx.kept = tables, moments, kept
        ctx.save_for_backward(x, advice, mixture, weights, *packed)
        return advice[: tables.nodes].clone()

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        x, advice, mixture, weights, *packed = ctx.saved_tensors
        tables: Tables = ctx.tables
        nodes = gradient.to(x.dtype).clone(memory_format=torch.contiguous_format).flatten(1, 3)
        back = _Back(
            tables,
            nodes,
            advice.flatten(1, 3),
            ctx.moments,
            weights,
            weights.new_empty(len(weights), 2, x.shape[-1]),
            {} if any(ctx.needs_input_grad[5:]) else None,
        )
        flow = x
        for departure, kept in zip(reversed(tables.departures), reversed(ctx.kept), strict=True):
            back.see_rewards(departure.completes)
            flow = back.through(departure, _states(departure, x, advice), packed, kept)
            if departure.node is not None:
                nodes[departure.node] += flow[0].flatten(0, 2)
        inputs = flow.to(x.dtype)
        rewards = None
        if ctx.needs_input_grad[3]:
            rewards = torch.zeros_like(mixture).flatten()
            rewards[tables.mixture_index] = back.products[:, 1].sum(-1).to(rewards.dtype)
            rewards = rewards.reshape(mixture.shape)
        reduced = None
        if tables.reductions:
            reduced = back.along("reduced", tables.departures[0], held=False)
        of_weights = back.of_weights or {}
        found = (of_weights.get(index) for index in range(len(packed)))
        return None, inputs[0], inputs[1], rewards, reduced, *found


def _states(departure: Departure, x: Tensor, advice: Tensor) -> Tensor:
    node = departure.node
    return x if node is None else advice[node : node + 1]


def _depart(
    departure: Departure, states: Tensor, packed: Sequence[Tensor], advice: Tensor, moments: Moments
) -> _Kept:
    """Compute every expert that leaves these states."""
    d, twice, shape = departure, departure.twice, advice.shape[1:]
    pixels = advice.flatten(1, 3)

    def known(name: str) -> Moments:
        return moments.slots(d.slots[name], running=d.running[name])

    middle = states.new_empty(twice, *pixels.shape[1:])
    room = [moments.mean.new_empty(twice, shape[-1]) for _ in range(2)]
    between = Moments(*room, *(d.running["between"] or (None, None)))
    if d.convolutions:
        first = _first_depthwise(d, states, packed, shape).flatten(1, 3)
        weight = packed[d.pointwise]
        pointwise_with_moments(first[:twice], weight[:twice], out=middle, into=between)
        pointwise_with_moments(
            first[twice:], weight[twice:], out=pixels[d.slots["dilated"]], into=known("dilated")
        )
    if twice:
        again = normalize(middle, between, relu=True).reshape(twice, *shape)
        second = _second_depthwise(d, again, packed).flatten(1, 3)
        pointwise_with_moments(
            second, packed[d.pointwise_again], out=pixels[d.slots["separable"]], into=known("separable")
        )
    taken = None
    if d.has("largest"):
        taken = max_pool(states[d.pooled["largest"]], stride=d.stride, out=advice[d.slots["largest"]])
        gather_moments(pixels[d.slots["largest"]], known("largest"))
    if d.has("average"):
        average_pool(states[d.pooled["average"]], stride=d.stride, out=advice[d.slots["average"]])
        gather_moments(pixels[d.slots["average"]], known("average"))
    return _Kept(middle, between, taken)


def _first_depthwise(
    d: Departure, states: Tensor, packed: Sequence[Tensor], shape: Sequence[int]
) -> Tensor:
    out = states.new_empty(d.convolutions, *shape)
    for kind in d.kinds:
        depthwise(
            states,
            packed[kind.depthwise],
            kind.source,
            stride=d.stride,
            dilation=kind.dilation,
            out=out[kind.slots],
        )
    return out


def _second_depthwise(d: Departure, again: Tensor, packed: Sequence[Tensor]) -> Tensor:
    out = torch.empty_like(again)
    for kind in d.kinds:
        if kind.again is not None:
            depthwise(
                again[kind.slots],
                packed[kind.again],
                kind.order[:-1],
                stride=1,
                dilation=kind.dilation,
                out=out[kind.slots],
            )
    return out


@dataclass(slots=True)
class _Back:
    """The way back through a cell."""

    tables: Tables
    nodes: Tensor
    """Gradients of the nodes (nodes, pixels, channels), whole once all departures after it are done."""
    advice: Tensor
    moments: Moments
    weights: Tensor
    products: Tensor
    """Of every term: Σ G, and Σ G · normalised advice, whose sum over channels is -reward."""
    of_weights: dict[int, Tensor] | None
    """Gradients of packed weights, or None if nobody wants them."""

    def see_rewards(self, node: int) -> None:
        """Inner products of the gradient of a node with all that goes into it."""
        arriving = self.tables.arriving[node]
        inner_products(
            self.nodes,
            self.advice,
            self.moments,
            targets=self.tables.targets[arriving],
            slots=self.tables.term_slots[arriving],
            out=self.products[arriving],
        )

    def along(
        self, name: str, departure: Departure, *, held: bool = True, out: Tensor | None = None
    ) -> Tensor:
        """What flows back to the slots of that name, through their batch norms if `held`."""
        if out is None:
            out = torch.empty_like(self.advice[departure.slots[name]])
        advice_gradient(
            self.nodes,
            self.advice,
            self.moments,
            departure.lanes[name],
            targets=self.tables.targets,
            weights=self.weights,
            products=self.products,
            held=held,
            out=out,
        )
        return out

    def through(self, d: Departure, states: Tensor, packed: Sequence[Tensor], kept: _Kept) -> Tensor:
        """What flows back to the states of a departure (states, batch, height, width, channels)."""
        size = self.tables.output_size(*states.shape[2:4]) if d.node is None else states.shape[2:4]
        shape = (states.shape[1], *size, states.shape[-1])
        flow = torch.empty_like(states, dtype=self.moments.mean.dtype)
        if d.stride == 1:
            self.along("identities", d, held=False, out=flow.flatten(1, 3))
        else:
            flow.zero_()
        if d.convolutions:
            into_products = torch.empty_like(self.advice[: d.convolutions])
            self.along("dilated", d, out=into_products[d.twice :])
            if d.twice:
                self._through_second_half(d, packed, kept, shape, into_products[: d.twice])
            self._through_first_half(
                d=d, states=states, packed=packed, into_products=into_products, shape=shape, flow=flow
            )
        if kept.taken is not None:
            gradient = self.along("largest", d).reshape(-1, *shape)
            max_pool_gradient(gradient, kept.taken, stride=d.stride, into=flow[d.pooled["largest"]])
        if d.has("average"):
            gradient = self.along("average", d).reshape(-1, *shape)
            average_pool_gradient(gradient, stride=d.stride, into=flow[d.pooled["average"]])
        return flow

    def _through_first_half(
        self,
        *,
        d: Departure,
        states: Tensor,
        packed: Sequence[Tensor],
        into_products: Tensor,
        shape: Sequence[int],
        flow: Tensor,
    ) -> None:
        into = pointwise(into_products, packed[d.pointwise].transpose(1, 2)).reshape(-1, *shape)
        for kind in d.kinds:
            mine, weight = into[kind.slots], packed[kind.depthwise]
            depthwise_input_gradient(
                mine,
                weight,
                kind.first,
                states,
                stride=d.stride,
                dilation=kind.dilation,
                into=flow,
                add=True,
            )
            at = kind.source, d.stride, kind.dilation
            self._depthwise_weights(kind.depthwise, states, mine, weight, at=at)
        if self.of_weights is not None:
            first = _first_depthwise(d, states, packed, shape).flatten(1, 3)
            self.of_weights[d.pointwise] = pointwise_weight_gradient(first, into_products)

    def _through_second_half(
        self, d: Departure, packed: Sequence[Tensor], kept: _Kept, shape: Sequence[int], out: Tensor
    ) -> None:
        middle, between = kept.middle, kept.between
        into_products = self.along("separable", d)
        again = normalize(middle, between, relu=True).reshape(-1, *shape)
        weight = packed[d.pointwise_again]
        into = pointwise(into_products, weight.transpose(1, 2)).reshape(-1, *shape)
        into_again = torch.empty_like(again)
        for kind in d.kinds:
            if kind.again is None:
                continue
            mine, x = into[kind.slots], again[kind.slots]
            depthwise_input_gradient(
                mine,
                packed[kind.again],
                kind.order,
                x,
                stride=1,
                dilation=kind.dilation,
                into=into_again[kind.slots],
                add=False,
            )
            at = kind.order[:-1], 1, kind.dilation
            self._depthwise_weights(kind.again, x, mine, packed[kind.again], at=at)
        if self.of_weights is not None:
            second = _second_depthwise(d, again, packed).flatten(1, 3)
            self.of_weights[d.pointwise_again] = pointwise_weight_gradient(second, into_products)
        gradient = into_again.flatten(1, 3)
        sums = self.products.new_empty(d.twice, 2, shape[-1])
        order = d.order
        inner_products(gradient, middle, between, targets=order, slots=order, out=sums)
        normalization_gradient(gradient, middle, between, sums, out=out)

    def _depthwise_weights(
        self, index: int, x: Tensor, gradient: Tensor, weight: Tensor, *, at: tuple[Tensor, int, int]
    ) -> None:
        if self.of_weights is not None:
            source, stride, dilation = at
            self.of_weights[index] = depthwise_weight_gradient(
                x, gradient, source, like=weight, stride=stride, dilation=dilation
            )
