"""Who computes what in a fused cell: packed weights, slots of advice, and index tables.

A *departure* is a set of states that are known at the same time, with all experts that leave them: the
two inputs of a cell, then each node but the last. After a departure the next node is complete. Every
expert writes its output into a *slot* of the cell's advice; pools write one for a state, all others one
for an edge. A *term* is an expert on an edge as its node sees it: a slot and a weight of the mixture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.kernels.mixing import Lanes
from xnas.nn.operations import FactorizedReduction
from xnas.space.cell import SearchCell
from xnas.space.fused_reductions import Reductions
from xnas.space.layout import edge_stride
from xnas.space.packing import pack, share_buffers
from xnas.space.spaces import INPUTS

CONVOLUTIONS = {  # name: kernel, dilation, whether it is applied twice; those that are come first
    "sep_conv_3x3": (3, 1, True),
    "sep_conv_5x5": (5, 1, True),
    "sep_conv_7x7": (7, 1, True),
    "dil_conv_3x3": (3, 2, False),
    "dil_conv_5x5": (5, 2, False),
}
MAX, AVERAGE, SKIP, NONE = "max_pool_3x3", "avg_pool_3x3", "skip_connect", "none"
KNOWN = (*CONVOLUTIONS, MAX, AVERAGE, SKIP, NONE)

Running = tuple[Tensor, Tensor] | None
Expert = tuple[int, str]
"""Edge and operation."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Convolutions of one shape that leave together."""

    kernel: int
    dilation: int
    slots: slice
    """Among the convolutions of the departure."""
    source: Tensor
    first: Tensor
    order: Tensor
    """0, 1, ...: the second convolution of a slot reads that slot."""
    depthwise: int
    """Which of the packed tensors holds the weights; `again` those of the second convolution."""
    again: int | None


@dataclass(slots=True)
class Departure:
    """States, all experts that leave them, and the slots they write to."""

    node: int | None
    """The node that departs, or None for the two inputs."""
    stride: int
    completes: int
    """The node that has everything it needs afterwards."""
    kinds: list[Kind] = field(default_factory=list)
    convolutions: int = 0
    twice: int = 0
    """So many of them, the first, are applied twice."""
    pointwise: int = -1
    pointwise_again: int = -1
    slots: dict[str, slice] = field(default_factory=dict)
    """Of the advice, by what writes them: separable, dilated, largest, average, identities, reduced."""
    pooled: dict[str, slice] = field(default_factory=dict)
    """Of the departing states those that living pools read, by largest and average."""
    order: Tensor = field(default_factory=lambda: torch.empty(0))
    """0, 1, ... for those that are applied twice."""
    lanes: dict[str, Lanes] = field(default_factory=dict)
    running: dict[str, Running] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether anybody writes slots of that name."""
        return len(range(self.slots[name].start, self.slots[name].stop)) > 0


class Tables:
    """Everything that follows from who is alive in a cell."""

    def __init__(self, cell: SearchCell) -> None:
        self.device = next(cell.parameters()).device
        self.edges = cell.edges
        self.nodes = max(node for _, node in cell.edges) + 1 - INPUTS
        self.stride = edge_stride(cell.kind, 0)
        self.packed: list[Tensor] = []
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

    def output_size(self, height: int, width: int) -> tuple[int, int]:
        """Of the nodes, for inputs of this size."""
        return -(-height // self.stride), -(-width // self.stride)

    def _departure(self, node: int | None) -> Departure:
        """Give slots to the experts that leave a node, or the inputs, and pack their weights."""
        found = Departure(
            node=node,
            stride=self.stride if node is None else 1,
            completes=0 if node is None else node + 1,
        )
        states = range(INPUTS) if node is None else range(node + INPUTS, node + INPUTS + 1)
        leaving = [(e, name) for e, name in self._alive if self.edges[e][0] in states]
        leaving.sort(key=lambda expert: (self.edges[expert[0]][0], expert[0]))
        convolutions = self._convolutions(found, states, leaving)
        found.slots["separable"] = self._take(convolutions[: found.twice])
        found.slots["dilated"] = self._take(convolutions[found.twice :])
        found.running["separable"] = self._running(
            [[self._norm(x, 7)] for x in convolutions[: found.twice]]
        )
        found.running["between"] = self._running(
            [[self._norm(x, 3)] for x in convolutions[: found.twice]]
        )
        found.running["dilated"] = self._running(
            [[self._norm(x, 3)] for x in convolutions[found.twice :]]
        )
        for pool, name in ((MAX, "largest"), (AVERAGE, "average")):
            mine = [expert for expert in leaving if expert[1] == pool]
            sources = sorted({self.edges[e][0] for e, _ in mine})
            families = [[x for x in mine if self.edges[x[0]][0] == s] for s in sources]
            found.slots[name] = self._take_shared(families)
            found.pooled[name] = _span([s - states[0] for s in sources])
            found.running[name] = self._running([[self._norm(x, 1) for x in f] for f in families])
        skips = [expert for expert in leaving if expert[1] == SKIP]
        if found.stride == 1:
            begin = self.nodes if node is None else node
            found.slots["identities"] = slice(begin, begin + len(states))
            for expert in skips:
                self._slot[expert] = begin + self.edges[expert[0]][0] - states[0]
        else:
            found.slots["reduced"] = self._take(skips)
        return found

    def _convolutions(self, found: Departure, states: range, leaving: Sequence[Expert]) -> list[Expert]:
        """Pack weights kind by kind; gives the experts in the order of their slots."""
        ordered: list[Expert] = []
        for name, (kernel, dilation, twice) in CONVOLUTIONS.items():
            mine = [expert for expert in leaving if expert[1] == name]
            if not mine:
                continue
            sources = [self.edges[e][0] - states[0] for e, _ in mine]
            counts = [sources.count(index) for index in range(len(states))]
            found.kinds.append(
                Kind(
                    kernel=kernel,
                    dilation=dilation,
                    slots=slice(len(ordered), len(ordered) + len(mine)),
                    source=self._table(sources),
                    first=self._table([sum(counts[:i]) for i in range(len(counts) + 1)]),
                    order=self._table(range(len(mine) + 1)),
                    depthwise=self._pack_depthwise(mine, 1, kernel),
                    again=self._pack_depthwise(mine, 5, kernel) if twice else None,
                )
            )
            ordered += mine
            found.twice += len(mine) if twice else 0
        found.convolutions = len(ordered)
        found.order = self._table(range(found.twice))
        if ordered:
            found.pointwise = self._pack_pointwise(ordered, 2)
        if found.twice:
            found.pointwise_again = self._pack_pointwise(ordered[: found.twice], 6)
        return ordered

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
            for name, place in departure.slots.items():
                slots = range(self.slots)[place]
                terms = [readers.get(slot, []) for slot in slots]
                departure.lanes[name] = Lanes(
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

    def _pack_depthwise(self, experts: Sequence[Expert], place: int, kernel: int) -> int:
        """As (slots, taps, channels)."""
        self.packed.append(
            pack(
                self._weights(experts, place),
                packed=lambda weight: weight.permute(2, 3, 1, 0).flatten(0, 2),
                unpacked=lambda slot: slot.reshape(kernel, kernel, 1, -1).permute(3, 2, 0, 1),
            )
        )
        return len(self.packed) - 1

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


def _span(places: Sequence[int]) -> slice:
    """Neighbouring places as a slice."""
    return slice(places[0], places[-1] + 1) if places else slice(0)


def _require_known(names: Iterable[str]) -> None:
    unknown = next((name for name in names if name not in KNOWN), None)
    if unknown is not None:
        raise ConfigError(
            f"the operation {unknown!r} has no fused form; use --backend reference for a space with it"
        )
