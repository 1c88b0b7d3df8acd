"""Which depthwise convolutions are computed together, and plain PyTorch versions of their kernels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import conv2d
from torch.nn.grad import conv2d_input, conv2d_weight


@dataclass(frozen=True, slots=True)
class Plan:
    """Convolutions, a slot each, and the groups in which their input gradients are added up."""

    rows: tuple[tuple[int, int, int], ...]
    """Of each slot the input that it reads, its side and its dilation."""
    table: Tensor
    """The same, with the row of its weights among those of its side (slots x 4)."""
    groups: tuple[tuple[int, int], ...]
    """Slots that share an input and a dilation, in this order."""
    group_table: Tensor
    """Of each group its input, its dilation, and where its members begin and end (groups x 4)."""
    members: Tensor
    """Group by group the number of a slot, its side, the row of its weights, and 0 (slots x 4)."""
    alone: bool
    """Slot i reads input i, and no other does: groups are slots, by design and not by chance."""
    shrinks: bool
    """Slots may be deleted, which should compile nothing: kernels are for side 3 and 5 anyway."""
    arrivals: Tensor
    """The groups of input i are those from arrivals[i] to arrivals[i + 1]."""

    @property
    def sides(self) -> list[int]:
        """Those that occur, in order; each has a tensor of weights."""
        return sorted({side for _, side, _ in self.rows})

    @property
    def dilations(self) -> list[int]:
        """Those that occur, in order."""
        return sorted({dilation for _, _, dilation in self.rows})


def plan_of(
    rows: Sequence[tuple[int, int, int]],
    *,
    inputs: int,
    device: torch.device,
    alone: bool = False,
    shrinks: bool = False,
) -> Plan:
    """A plan for slots of these inputs, sides and dilations; weights of a side are in this order."""
    assert not alone or [row[0] for row in rows] == list(range(len(rows)))  # noqa: S101

    def table(numbers: Iterable[int]) -> Tensor:
        return torch.tensor(list(numbers), dtype=torch.int32, device=device)

    sides = [side for _, side, _ in rows]
    places = [sides[:slot].count(side) for slot, side in enumerate(sides)]
    numbers = ((*row, place) for row, place in zip(rows, places, strict=True))
    keys = [(source, dilation) for source, _, dilation in rows]
    groups = sorted(set(keys))
    order = sorted(range(len(rows)), key=keys.__getitem__)
    spans = ((sum(key < g for key in keys), sum(key <= g for key in keys)) for g in groups)
    return Plan(
        rows=tuple(rows),
        table=table(number for row in numbers for number in row),
        groups=tuple(groups),
        group_table=table(n for group, span in zip(groups, spans, strict=True) for n in (*group, *span)),
        members=table(n for slot in order for n in (slot, sides[slot], places[slot], 0)),
        alone=alone,
        shrinks=shrinks,
        arrivals=table(sum(source < i for source, _ in groups) for i in range(inputs + 1)),
    )


@dataclass(frozen=True, slots=True)
class _Kind:
    """Slots that PyTorch can compute in one call."""

    side: int
    dilation: int
    slots: list[int]
    sources: list[int]
    weight: int
    """Which of the weights; `rows` among its slots."""
    rows: list[int]

    @property
    def padding(self) -> int:
        return self.dilation * (self.side // 2)


def _kinds(plan: Plan) -> Iterable[_Kind]:
    for key in sorted({row[1:] for row in plan.rows}):
        slots = [slot for slot, row in enumerate(plan.rows) if row[1:] == key]
        of_side = [slot for slot, row in enumerate(plan.rows) if row[1] == key[0]]
        sources = [plan.rows[slot][0] for slot in slots]
        rows = [of_side.index(slot) for slot in slots]
        yield _Kind(*key, slots, sources, plan.sides.index(key[0]), rows)


def plain_depthwise(x: Tensor, weights: Sequence[Tensor], plan: Plan, stride: int, out: Tensor) -> None:
    """The plain PyTorch version of `depthwise`: PyTorch's convolution with groups."""
    for kind in _kinds(plan):
        taps = _taps(weights[kind.weight][kind.rows]).to(x.dtype)
        images = _images(x[kind.sources])
        found = conv2d(images, taps, None, stride, kind.padding, kind.dilation, groups=len(taps))
        out[kind.slots] = _slots(found, len(kind.slots)).to(out.dtype)


def plain_depthwise_input_gradient(
    gradient: Tensor,
    weights: Sequence[Tensor],
    plan: Plan,
    x: Tensor | None,
    stride: int,
    into: Tensor,
) -> None:
    """The plain PyTorch version of `depthwise_input_gradient`."""
    into.zero_()
    batch, height, width, channels = into.shape[1:]
    for kind in _kinds(plan):
        taps = _taps(weights[kind.weight][kind.rows]).to(gradient.dtype)
        size = torch.Size([batch, len(kind.slots) * channels, height, width])
        images, numbers = _images(gradient[kind.slots]), (stride, kind.padding, kind.dilation)
        flown = _slots(conv2d_input(size, taps, images, *numbers, groups=len(taps)), len(kind.slots))
        for source, flow in zip(kind.sources, flown.to(into.dtype), strict=True):
            group = plan.groups.index((source, kind.dilation))
            into[group] += flow if x is None else torch.where(x[source] > 0, flow, 0.0)


def plain_depthwise_weight_gradient(
    x: Tensor, gradient: Tensor, plan: Plan, stride: int, out: Sequence[Tensor]
) -> None:
    """The plain PyTorch version of `depthwise_weight_gradient`.

    In float32 at least: PyTorch's own in bfloat16 is wrong on a CPU at dilation 2 (torch 2.15).
    """
    channels = x.shape[-1]
    wide = torch.promote_types(x.dtype, torch.float32)
    for kind in _kinds(plan):
        groups = len(kind.slots) * channels
        found = conv2d_weight(
            _images(x[kind.sources]).to(wide),
            torch.Size([groups, 1, kind.side, kind.side]),
            _images(gradient[kind.slots]).to(wide),
            stride,
            kind.padding,
            kind.dilation,
            groups=groups,
        )
        of_slots = found.reshape(len(kind.slots), channels, -1).transpose(1, 2)
        out[kind.weight][kind.rows] = of_slots.to(out[kind.weight].dtype)


def _images(x: Tensor) -> Tensor:
    """(slots, batch, height, width, channels) as PyTorch's (batch, slots x channels, height, width)."""
    return x.permute(1, 0, 4, 2, 3).flatten(1, 2)


def _slots(images: Tensor, slots: int) -> Tensor:
    batch, _, height, width = images.shape
    return images.view(batch, slots, -1, height, width).permute(1, 0, 3, 4, 2)


def _taps(weight: Tensor) -> Tensor:
    side = math.isqrt(weight.shape[1])
    return weight.transpose(1, 2).reshape(-1, 1, side, side)
