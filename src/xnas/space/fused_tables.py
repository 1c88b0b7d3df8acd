"""Index tables of a fused cell: packed weights, slots of advice, and the terms of every node.

A *fan-out* is a set of states that are known at the same time, with all experts that read them: the
inputs of a cell, then each node but the last. After a fan-out the next node is complete. Every
expert writes its output into a *slot* of the cell's advice. Pools of one state share a slot per kind,
all other experts have one per edge. A *term* is an expert on an edge as its node sees it: a slot and a
weight of the mixture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.kernels.depthwise_plan import Plan, plan_of
from xnas.kernels.mixing_gradients import Readers
from xnas.nn import Forecaster
from xnas.nn.operations import (
    FactorizedReduction,
    NormalizedPool,
    SeparableConvolution,
    SeparableStage,
)
from xnas.space.cell import SearchCell
from xnas.space.cell_genotype import INPUTS, NONE
from xnas.space.fused_reductions import Reductions
from xnas.space.layout import edge_stride
from xnas.space.packing import pack, share_buffers


class Shape(NamedTuple):
    """Kernel size and dilation of a convolution, and how many stages it has."""

    side: int
    dilation: int
    stages: int


# Those of two stages come first, and large ones before small ones, which fill up the end of a launch.
CONVOLUTIONS = {
    "sep_conv_7x7": Shape(7, dilation=1, stages=2),
    "sep_conv_5x5": Shape(5, dilation=1, stages=2),
    "sep_conv_3x3": Shape(3, dilation=1, stages=2),
    "dil_conv_5x5": Shape(5, dilation=2, stages=1),
    "dil_conv_3x3": Shape(3, dilation=2, stages=1),
}
MAX, AVERAGE, SKIP = "max_pool_3x3", "avg_pool_3x3", "skip_connect"
KNOWN = (*CONVOLUTIONS, MAX, AVERAGE, SKIP, NONE)

Running = tuple[Tensor, Tensor] | None
"""Running mean and variance (slots, channels), or None without batch norms."""


@dataclass(frozen=True, slots=True, eq=False)
class Expert:
    """An operation that is alive on an edge."""

    edge: int
    source: int
    """State that it reads."""
    node: int
    """Node that it adds to; the first is 0."""
    name: str
    module: nn.Module


@dataclass(frozen=True, slots=True)
class Slots:
    """Slots of the advice that a fan-out writes, by what writes them."""

    separable: slice
    between: slice
    """First stages of separable convolutions. These are no advice, but their neighbours are."""
    dilated: slice
    pools: slice
    identities: slice
    """The states themselves, which skip connections pass on; empty at stride 2."""
    reduced: slice
    """Skip connections that halve the image; empty at stride 1."""

    @property
    def first_products(self) -> slice:
        """Of the first pointwise convolutions: between, dilated."""
        return slice(self.between.start, self.dilated.stop)


@dataclass(frozen=True, slots=True)
class Stage:
    """The first, or the second, stages of a fan-out's convolutions, computed together."""

    plan: Plan
    depthwise: tuple[int, ...]
    """Which of the packed tensors hold the depthwise weights, one per kernel size."""
    pointwise: int
    """Which of the packed tensors holds the 1x1 weights; -1 if there are none."""
    running: Running

    def __len__(self) -> int:
        """How many convolutions there are."""
        return len(self.plan.rows)


@dataclass(frozen=True, slots=True)
class FanOut:
    """States, all experts that read them, and the slots these write to."""

    node: int | None
    """The node that is read, or None for the two inputs."""
    stride: int
    completes: int
    """The node that has everything it needs afterwards."""
    first: Stage
    """The stages that read the states."""
    second: Stage
    """The stages after those, of the separable convolutions alone. They are the first in `first`."""
    slots: Slots
    pools: Tensor
    """(states, 2): which slots of pools get the maximum and the mean of every state, or -1."""
    pools_running: Running
    normalized: Readers
    """Slots with batch norms: dilated, pools, separable."""
    passed: Readers
    """States that are passed on as they are; or the slots of reduced ones."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Forecasters between states, which are computed together: those of a cell, or a part of them."""

    forecasters: Sequence[Forecaster]
    edges: Sequence[tuple[int, int]]
    """Of each forecaster the state that it reads, and the one that it adds to; inputs come first."""
    inputs: int
    stride: int
    """Of the forecasters that read inputs."""
    device: torch.device


def graph_of(cell: SearchCell) -> Graph:
    """All forecasters of a cell."""
    return Graph(
        [cell.forecaster(edge) for edge in range(len(cell.edges))],
        cell.edges,
        INPUTS,
        edge_stride(cell.kind, 0),
        next(cell.parameters()).device,
    )


class Tables:
    """Everything that follows from which experts of a graph are alive."""

    def __init__(self, graph: Graph) -> None:
        self.device = graph.device
        self.inputs = graph.inputs
        self.nodes = max(node for _, node in graph.edges) + 1 - graph.inputs
        self.stride = graph.stride
        self._unmoved: dict[tuple[int, torch.dtype], Tensor] = {}
        experts = _alive(graph)
        _require_known(expert.name for expert in experts)
        terms = sorted((x for x in experts if x.name != NONE), key=lambda x: x.node)
        states = self.nodes + (graph.inputs if self.stride == 1 else 0)  # are slots of advice as well
        builder = _Builder(terms, graph, nodes=self.nodes, states=states)
        self.fan_outs = tuple(
            builder.fan_out(node, experts, stride=self.stride if node is None else 1)
            for node in (None, *range(self.nodes - 1))
        )
        self.packed, self.slot_count = builder.packed, builder.slot_count
        names = graph.forecasters[0].names
        self.term_slots = builder.table(builder.slot_of[x] for x in terms)
        self.targets = builder.table(x.node for x in terms)
        self.mixture_index = torch.tensor(
            [x.edge * len(names) + names.index(x.name) for x in terms],
            dtype=torch.long,
            device=self.device,
        )
        self.terms_of = [
            slice(sum(x.node < node for x in terms), sum(x.node <= node for x in terms))
            for node in range(self.nodes)
        ]
        """By node, the terms that it adds up."""
        self.reductions = _reductions(experts) if self.stride == 2 else None
        norms = [m for f in graph.forecasters for m in f.modules() if isinstance(m, nn.BatchNorm2d)]
        self.batches = share_buffers([norms], "num_batches_tracked") if norms else None

    @property
    def leaves(self) -> list[Tensor]:
        """What is packed, with the reductions at the end."""
        return [*self.packed, *([self.reductions.packed] if self.reductions else ())]

    def unmoved(self, channels: int, dtype: torch.dtype) -> Tensor:
        """Means 0 and scales 1 of all slots, as those without a batch norm have them; read only."""
        key = channels, dtype
        if key not in self._unmoved:
            moments = torch.zeros(2, self.slot_count, channels, dtype=dtype, device=self.device)
            moments[1] = 1
            self._unmoved[key] = moments
        return self._unmoved[key]

    def output_size(self, height: int, width: int) -> tuple[int, int]:
        """Height and width of the nodes, for inputs of this size."""
        return -(-height // self.stride), -(-width // self.stride)


class _Builder:
    """Gives slots to experts and packs their weights, one fan-out after another."""

    def __init__(self, terms: Sequence[Expert], graph: Graph, *, nodes: int, states: int) -> None:
        """Slots of the `nodes` come first, then those of other `states` that are advice."""
        self.device = graph.device
        self._inputs = graph.inputs
        self.packed: list[Tensor] = []
        self.slot_of: dict[Expert, int] = {}
        self.slot_count = states
        self._nodes = nodes
        self._term_of = {expert: term for term, expert in enumerate(terms)}

    def fan_out(self, node: int | None, alive: Iterable[Expert], *, stride: int) -> FanOut:
        """Tables of the experts that read a node, or the inputs."""
        first = 0 if node is None else self._inputs + node
        states = range(first, self._inputs if node is None else first + 1)
        experts = sorted((x for x in alive if x.source in states), key=lambda x: (x.source, x.edge))
        convolutions = [x for name in CONVOLUTIONS for x in experts if x.name == name]
        separable = [x for x in convolutions if CONVOLUTIONS[x.name].stages == 2]
        pools = [
            [x for x in experts if x.name == name and x.source == state]
            for state in states
            for name in (MAX, AVERAGE)
        ]
        slots = self._slots(node, states, experts, convolutions, pools, stride=stride)
        return FanOut(
            node=node,
            stride=stride,
            completes=0 if node is None else node + 1,
            first=self._stage(
                0, convolutions, [x.source - states[0] for x in convolutions], inputs=len(states)
            ),
            second=self._stage(1, separable, None, inputs=len(separable)),
            slots=slots,
            pools=self._pool_places(pools),
            pools_running=_running([[_pool_norm(x) for x in same] for same in pools if same]),
            normalized=self._readers(slots.dilated, slots.pools, slots.separable),
            passed=self._readers(slots.identities, slots.reduced),
        )

    def _slots(
        self,
        node: int | None,
        states: range,
        experts: Sequence[Expert],
        convolutions: Sequence[Expert],
        pools: Sequence[Sequence[Expert]],
        *,
        stride: int,
    ) -> Slots:
        separable = [[x] for x in convolutions if CONVOLUTIONS[x.name].stages == 2]
        dilated = [[x] for x in convolutions if CONVOLUTIONS[x.name].stages == 1]
        skips = [x for x in experts if x.name == SKIP]
        own, between = self._take(separable), self._take([[]] * len(separable))
        dilated_slots, pool_slots = self._take(dilated), self._take([same for same in pools if same])
        identities = slice(0, 0)
        if stride == 1:
            begin = self._nodes if node is None else node
            identities = slice(begin, begin + len(states))
            self.slot_of |= {x: begin + x.source - states[0] for x in skips}
        reduced = self._take([[x] for x in skips] if stride == 2 else [])
        return Slots(own, between, dilated_slots, pool_slots, identities, reduced)

    def _take(self, families: Sequence[Sequence[Expert]]) -> slice:
        """A slot for each family, whose experts share it."""
        begin = self.slot_count
        for family in families:
            for expert in family:
                self.slot_of[expert] = self.slot_count
            self.slot_count += 1
        return slice(begin, self.slot_count)

    def _stage(
        self, number: int, experts: Sequence[Expert], sources: Sequence[int] | None, *, inputs: int
    ) -> Stage:
        """The stages of this number; without `sources` each reads an input of its own."""
        shapes = [CONVOLUTIONS[x.name] for x in experts]
        rows = [
            (source, shape.side, shape.dilation)
            for source, shape in zip(range(inputs) if sources is None else sources, shapes, strict=True)
        ]
        layers = [_stage_of(x, number) for x in experts]
        sides = sorted({shape.side for shape in shapes})
        depthwise = tuple(
            self._pack_depthwise(
                [a for a, b in zip(layers, shapes, strict=True) if b.side == side], side
            )
            for side in sides
        )
        return Stage(
            plan=plan_of(rows, inputs=inputs, device=self.device, alone=sources is None, shrinks=True),
            depthwise=depthwise,
            pointwise=self._pack_pointwise(layers) if layers else -1,
            running=_running([[layer.norm] for layer in layers]),
        )

    def _pack_depthwise(self, stages: Sequence[SeparableStage], side: int) -> int:
        """As (slots, taps, channels); gives the index among what is packed."""
        self.packed.append(
            pack(
                [stage.depthwise.get_parameter("weight") for stage in stages],
                packed=lambda weight: weight.permute(2, 3, 1, 0).flatten(0, 2),
                unpacked=partial(_taps, side=side),
            )
        )
        return len(self.packed) - 1

    def _pack_pointwise(self, stages: Sequence[SeparableStage]) -> int:
        """As (slots, channels in, channels out)."""
        self.packed.append(
            pack(
                [stage.pointwise.get_parameter("weight") for stage in stages],
                packed=lambda weight: weight[:, :, 0, 0].T,
                unpacked=lambda slot: slot.T[:, :, None, None],
            )
        )
        return len(self.packed) - 1

    def _pool_places(self, pools: Sequence[Sequence[Expert]]) -> Tensor:
        """Of the slots of pools those of each state's maximum and mean."""
        places = [sum(map(bool, pools[:index])) if same else -1 for index, same in enumerate(pools)]
        return self.table(places).view(-1, 2)

    def _readers(self, *places: slice) -> Readers:
        """Slots with the terms that read them."""
        slots = [slot for place in places for slot in range(place.start, place.stop)]
        readers: dict[int, list[int]] = {slot: [] for slot in slots}
        for expert, term in self._term_of.items():
            if self.slot_of.get(expert) in readers:
                readers[self.slot_of[expert]].append(term)
        terms = [readers[slot] for slot in slots]
        return Readers(
            self.table(slots),
            self.table(sum(map(len, terms[:i])) for i in range(len(terms) + 1)),
            self.table(term for mine in terms for term in mine),
        )

    def table(self, numbers: Iterable[int]) -> Tensor:
        """Whole numbers of 32 bits on the device of the cell."""
        return torch.tensor(list(numbers), dtype=torch.int32, device=self.device)


def _alive(graph: Graph) -> list[Expert]:
    """All experts of a graph, edge by edge."""
    found = []
    for edge, ((source, target), forecaster) in enumerate(
        zip(graph.edges, graph.forecasters, strict=True)
    ):
        found += [
            Expert(edge, source, target - graph.inputs, name, forecaster.experts[name])
            for name in forecaster.names
            if name in forecaster.experts
        ]
    return found


def _require_known(names: Iterable[str]) -> None:
    unknown = next((name for name in names if name not in KNOWN), None)
    if unknown is not None:
        raise ConfigError(
            f"the operation {unknown!r} has no fused form; use the reference backend for a space with it"
        )


def _reductions(experts: Iterable[Expert]) -> Reductions | None:
    """Skip connections that halve the image, in the order of their slots, if any are alive."""
    skips = sorted(
        (x for x in experts if x.name == SKIP and x.source < INPUTS), key=lambda x: (x.source, x.edge)
    )
    modules = [x.module for x in skips if isinstance(x.module, FactorizedReduction)]
    return Reductions(modules, [x.source for x in skips]) if skips else None


def _stage_of(expert: Expert, number: int) -> SeparableStage:
    assert isinstance(expert.module, SeparableConvolution)  # noqa: S101 - for the type checker
    return expert.module.stages[number]


def _pool_norm(expert: Expert) -> nn.BatchNorm2d:
    assert isinstance(expert.module, NormalizedPool)  # noqa: S101 - for the type checker
    return expert.module.norm


def _running(families: Sequence[Sequence[nn.BatchNorm2d]]) -> Running:
    """Statistics of a slot per family, whose batch norms see the same and share them."""
    if not families:
        return None
    return share_buffers(families, "running_mean"), share_buffers(families, "running_var")


def _taps(slot: Tensor, side: int) -> Tensor:
    """A packed slot as a module has it."""
    return slot.reshape(side, side, 1, -1).permute(3, 2, 0, 1)
