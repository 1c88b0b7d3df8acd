"""Who computes what in a fused cell: packed weights, slots of advice, and index tables.

A *departure* is a set of states that are known at the same time, with all experts that leave them: the
two inputs of a cell, then each node but the last. After a departure the next node is complete. Every
expert writes its output into a *slot* of the cell's advice; pools write one for a state, all others one
for an edge. A *term* is an expert on an edge as its node sees it: a slot and a weight of the mixture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.kernels.depthwise_plan import Plan, plan_of
from xnas.kernels.mixing_gradients import Lanes
from xnas.nn.operations import FactorizedReduction
from xnas.space.cell import SearchCell
from xnas.space.fused_reductions import Reductions
from xnas.space.layout import edge_stride
from xnas.space.packing import pack, share_buffers
from xnas.space.spaces import INPUTS, NONE

CONVOLUTIONS = {  # name: kernel, dilation, whether it is applied twice; those that are come first
    "sep_conv_7x7": (7, 1, True),  # and large ones before small ones, which fill up the end of a launch
    "sep_conv_5x5": (5, 1, True),
    "sep_conv_3x3": (3, 1, True),
    "dil_conv_5x5": (5, 2, False),
    "dil_conv_3x3": (3, 2, False),
}
MAX, AVERAGE, SKIP = "max_pool_3x3", "avg_pool_3x3", "skip_connect"
KNOWN = (*CONVOLUTIONS, MAX, AVERAGE, SKIP, NONE)

Running = tuple[Tensor, Tensor] | None
Expert = tuple[int, str]
"""Edge and operation."""


@dataclass(slots=True)
class Departing:
    """States, all experts that leave them, and the slots they write to."""

    node: int | None
    """The node that departs, or None for the two inputs."""
    stride: int
    completes: int
    """The node that has everything it needs afterwards."""
    first: Plan
    """The depthwise convolutions that read the states, and `second` those that come after."""
    second: Plan
    convolutions: int
    twice: int
    """So many of them, the first, are applied twice."""
    depthwise: list[int]
    """Which of the packed tensors hold the weights of each side; `again` of the second ones."""
    again: list[int]
    pointwise: int = -1
    pointwise_again: int = -1
    slots: dict[str, slice] = field(default_factory=dict)
    """Of the advice, by what writes them: separable, between, dilated, pools, identities, reduced.

    Those between the halves of separable convolutions are no advice, but their neighbours are.
    """
    pools: Tensor = field(init=False)
    """Of the slots of pools those that get the maximum and the mean of every state, or -1."""
    normalized: Lanes = field(init=False)
    """Slots with batch norms: dilated, pools, separable."""
    passed: Lanes = field(init=False)
    """States that are passed on as they are; or the slots of reduced ones."""
    running: dict[str, Running] = field(default_factory=dict)
    """Of separable convolutions, of the first products, and of pools."""

    @property
    def first_products(self) -> slice:
        """Slots of the first pointwise convolutions: between, dilated."""
        return slice(self.slots["between"].start, self.slots["dilated"].stop)


class Tables:
    """Everything that follows from who is alive in a cell."""

    def __init__(self, cell: SearchCell) -> None:
        self.device = next(cell.parameters()).device
        self.edges = cell.edges
        self.nodes = max(node for _, node in cell.edges) + 1 - INPUTS
        self.stride = edge_stride(cell.kind, 0)
        self.packed: list[Tensor] = []
        self._unmoved: dict[tuple[int, torch.dtype], Tensor] = {}
        self._cell = cell
        self._alive = [
            (edge, name)
            for edge in range(len(cell.edges))
            for name in cell.forecaster(edge).names
            if name in cell.forecaster(edge).experts
        ]
        _require_known(name for _, name in self._alive)
        self._slot: dict[Expert, int] = {}
        self.slots = self.nodes + (INPUTS if self.stride == 1 else 0)  # states are advice, too
        self.departures = [
            self._departure(None if index == 0 else index - 1) for index in range(self.nodes)
        ]
        self._name_terms()
        self.reductions = self._reductions()
        norms = [m for f in cell.forecasters for m in f.modules() if isinstance(m, nn.BatchNorm2d)]
        self.batches = share_buffers([norms], "num_batches_tracked") if norms else None

    def unmoved(self, channels: int, dtype: torch.dtype) -> Tensor:
        """Means 0 and scales 1 of all slots, as those without a batch norm have them; not to change."""
        key = channels, dtype
        if key not in self._unmoved:
            moments = torch.zeros(2, self.slots, channels, dtype=dtype, device=self.device)
            moments[1] = 1
            self._unmoved[key] = moments
        return self._unmoved[key]

    def output_size(self, height: int, width: int) -> tuple[int, int]:
        """Of the nodes, for inputs of this size."""
        return -(-height // self.stride), -(-width // self.stride)

    def _departure(self, node: int | None) -> Departing:
        """Give slots to the experts that leave a node, or the inputs, and pack their weights."""
        states = range(INPUTS) if node is None else range(node + INPUTS, node + INPUTS + 1)
        leaving = [(e, name) for e, name in self._alive if self.edges[e][0] in states]
        leaving.sort(key=lambda expert: (self.edges[expert[0]][0], expert[0]))
        convolutions = [x for kind in CONVOLUTIONS for x in leaving if x[1] == kind]
        applied_twice = [x for x in convolutions if CONVOLUTIONS[x[1]][2]]
        twice = len(applied_twice)
        found = Departing(
            node=node,
            stride=self.stride if node is None else 1,
            completes=0 if node is None else node + 1,
            first=self._plan(
                convolutions, [self.edges[e][0] - states[0] for e, _ in convolutions], states
            ),
            second=self._plan(applied_twice, None, range(twice)),
            convolutions=len(convolutions),
            twice=twice,
            depthwise=self._pack_depthwise(convolutions, 1),
            again=self._pack_depthwise(applied_twice, 5),
        )
        if convolutions:
            found.pointwise = self._pack_pointwise(convolutions, 2)
        if twice:
            found.pointwise_again = self._pack_pointwise(applied_twice, 6)
        found.slots["separable"] = self._take(applied_twice)
        found.slots["between"] = self._take_shared([[]] * twice)
        found.slots["dilated"] = self._take(convolutions[twice:])
        found.running["separable"] = self._running([[self._norm(x, 7)] for x in applied_twice])
        found.running["first products"] = self._running([[self._norm(x, 3)] for x in convolutions])
        self._pools(found, states, leaving)
        skips = [expert for expert in leaving if expert[1] == SKIP]
        if found.stride == 1:
            begin = self.nodes if node is None else node
            found.slots["identities"] = slice(begin, begin + len(states))
            for expert in skips:
                self._slot[expert] = begin + self.edges[expert[0]][0] - states[0]
        else:
            found.slots["reduced"] = self._take(skips)
        return found

    def _pools(self, found: Departing, states: range, leaving: Sequence[Expert]) -> None:
        """One slot for a state and a pool; batch norms of a family see the same."""
        families = [
            [x for x in leaving if x[1] == pool and self.edges[x[0]][0] == state]
            for state in states
            for pool in (MAX, AVERAGE)
        ]
        alive = [family for family in families if family]
        places = [alive.index(family) if family else -1 for family in families]
        found.slots["pools"] = self._take_shared(alive)
        found.pools = self._table(places).view(-1, 2)
        found.running["pools"] = self._running([[self._norm(x, 1) for x in f] for f in alive])

    def _plan(
        self, experts: Sequence[Expert], sources: Sequence[int] | None, inputs: Sequence[int]
    ) -> Plan:
        """Each reads its source, or if there are none an input of its own."""
        of_each = inputs if sources is None else sources
        rows = [
            (source, *CONVOLUTIONS[name][:2]) for (_, name), source in zip(experts, of_each, strict=True)
        ]
        return plan_of(rows, inputs=len(inputs), device=self.device, alone=sources is None, shrinks=True)

    def _name_terms(self) -> None:
        """Sort terms by the node they go to, and say which lanes lead back to every slot."""
        experts = [(e, name) for e, name in self._alive if name != NONE]
        experts.sort(key=lambda expert: self.edges[expert[0]][1])
        node_of = [self.edges[e][1] - INPUTS for e, _ in experts]
        names = self._cell.forecaster(0).names
        self.term_slots = self._table([self._slot[expert] for expert in experts])
        self.targets = self._table(node_of)
        self.mixture_index = torch.tensor(
            [e * len(names) + names.index(name) for e, name in experts],
            dtype=torch.long,
            device=self.device,
        )
        self.arriving = [
            slice(sum(n < node for n in node_of), sum(n <= node for n in node_of))
            for node in range(self.nodes)
        ]
        readers: dict[int, list[int]] = {}
        for term, expert in enumerate(experts):
            readers.setdefault(self._slot[expert], []).append(term)
        for departure in self.departures:
            names = ("dilated", "pools", "separable")
            departure.normalized = self._lanes([departure.slots[name] for name in names], readers)
            name = "identities" if departure.stride == 1 else "reduced"
            departure.passed = self._lanes([departure.slots[name]], readers)

    def _lanes(self, places: Sequence[slice], readers: dict[int, list[int]]) -> Lanes:
        slots = [slot for place in places for slot in range(self.slots)[place]]
        terms = [readers.get(slot, []) for slot in slots]
        return Lanes(
            self._table(slots),
            self._table([sum(map(len, terms[:i])) for i in range(len(terms) + 1)]),
            self._table([term for mine in terms for term in mine]),
        )

    def _reductions(self) -> Reductions | None:
        """Skip connections that halve the image, if any live."""
        mine = [
            x for x in self._alive if x[1] == SKIP and self.stride == 2 and self.edges[x[0]][0] < INPUTS
        ]
        mine.sort(key=lambda expert: self._slot[expert])
        if not mine:
            return None
        modules = [self._module(expert) for expert in mine]
        return Reductions(
            [m for m in modules if isinstance(m, FactorizedReduction)],
            [self.edges[e][0] for e, _ in mine],
        )

    def _take(self, experts: Sequence[Expert]) -> slice:
        return self._take_shared([[expert] for expert in experts])

    def _take_shared(self, families: Sequence[Sequence[Expert]]) -> slice:
        begin = self.slots
        for family in families:
            for expert in family:
                self._slot[expert] = self.slots
            self.slots += 1
        return slice(begin, self.slots)

    def _module(self, expert: Expert) -> nn.Module:
        edge, name = expert
        return self._cell.forecaster(edge).experts[name]

    def _norm(self, expert: Expert, place: int) -> nn.Module:
        module = self._module(expert)
        assert isinstance(module, nn.Sequential)  # noqa: S101 - convolutions and pools are
        return module[place]

    def _weights(self, experts: Sequence[Expert], place: int) -> list[nn.Parameter]:
        return [self._norm(expert, place).get_parameter("weight") for expert in experts]

    def _pack_depthwise(self, experts: Sequence[Expert], place: int) -> list[int]:
        """As (slots, taps, channels), for each side; gives the indices."""
        begin = len(self.packed)
        for side in sorted({CONVOLUTIONS[name][0] for _, name in experts}):
            mine = [x for x in experts if CONVOLUTIONS[x[1]][0] == side]
            self.packed.append(
                pack(
                    self._weights(mine, place),
                    packed=lambda weight: weight.permute(2, 3, 1, 0).flatten(0, 2),
                    unpacked=partial(_taps, side=side),
                )
            )
        return list(range(begin, len(self.packed)))

    def _pack_pointwise(self, experts: Sequence[Expert], place: int) -> int:
        """As (slots, channels in, channels out)."""
        self.packed.append(
            pack(
                self._weights(experts, place),
                packed=lambda weight: weight[:, :, 0, 0].T,
                unpacked=lambda slot: slot.T[:, :, None, None],
            )
        )
        return len(self.packed) - 1

    def _running(self, families: Sequence[Sequence[nn.Module]]) -> Running:
        if not families:
            return None
        return share_buffers(families, "running_mean"), share_buffers(families, "running_var")

    def _table(self, numbers: Iterable[int]) -> Tensor:
        return torch.tensor(list(numbers), dtype=torch.int32, device=self.device)


def _taps(slot: Tensor, side: int) -> Tensor:
    """A packed slot as a module has it."""
    return slot.reshape(side, side, 1, -1).permute(3, 2, 0, 1)


def _require_known(names: Iterable[str]) -> None:
    unknown = next((name for name in names if name not in KNOWN), None)
    if unknown is not None:
        raise ConfigError(
            f"the operation {unknown!r} has no fused form; use --backend reference for a space with it"
        )
