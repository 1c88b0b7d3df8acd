"""What the operation of every expert costs in the network that will be trained.

Costs of edges add up, so that those of an edge are those of the network with its operation. In spaces
whose networks are not known to be such sums, an operation costs by how much it enlarges the network of
a plain cell. That is close, and limits are checked against whole networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from xnas.runs.cell_costs import CellCosts
from xnas.space import CellKind, Genotype, SearchSpace, discretize
from xnas.space.cell_genotype import NONE
from xnas.space.layout import edge_stride
from xnas.space.network_size import NetworkSizes, adds_up
from xnas.space.strongest_within import Pick


@dataclass(frozen=True, slots=True)
class ExpertCosts:
    """Costs of the experts of a space, by resource."""

    space: SearchSpace
    resources: tuple[str, ...]
    each: Mapping[str, Tensor]
    """For each kind of cell (edges, experts, resources), in all cells of that kind."""
    rest: Tensor
    """Of a network beyond its edges (resources)."""

    @property
    def spreads(self) -> Tensor:
        """By how much the operations of one edge differ at most (resources)."""
        largest = [(cost.amax(1) - cost.amin(1)).amax(0) for cost in self.each.values()]
        return torch.stack(largest).amax(0)

    @property
    def least(self) -> Tensor:
        """The least of each resource that a cell can have (resources)."""
        return self.rest - self._most(-1)

    @property
    def most(self) -> Tensor:
        """The most of each resource that a cell can have (resources)."""
        return self.rest + self._most(1)

    def _most(self, sign: int) -> Tensor:
        """The largest sum of signed costs over the edges that a cell keeps."""
        space, total = self.space, torch.zeros_like(self.rest)
        able = [column for column, name in enumerate(space.operations) if name != NONE]
        for costs in self.each.values():
            largest = (sign * costs[:, able]).amax(1)
            for node in space.node_numbers:
                rows = [row for row, (_, target) in enumerate(space.edges) if target == node]
                keep = space.kept_edges or len(rows)
                total += largest[rows].topk(keep, dim=0).values.sum(0)
        return total

    def total(self, picks: Sequence[Pick]) -> dict[str, float]:
        """What the network of these operations costs."""
        summed = self.rest + sum(self.each[kind][row, column] for kind, row, column in picks)
        return dict(zip(self.resources, summed.tolist(), strict=True))


def expert_costs(
    space: SearchSpace, costs: CellCosts, sizes: NetworkSizes, resources: Sequence[str]
) -> ExpertCosts:
    """Count, or predict, what each operation of a space costs on each edge."""
    plain = _plain_cell(space, {})
    whole = costs.predicted(plain)
    if not adds_up(space.name):
        return _differences(space, costs, tuple(resources), whole)

    def of_edge(kind: CellKind, source: int, operation: str) -> dict[str, float]:
        size = sizes.of_edge(kind, operation, edge_stride(kind, source))
        found = {"params": float(size.parameters), "macs": float(size.macs)}
        if costs.latencies is not None:
            found["latency"] = costs.latencies.of_edge(plain, kind, operation, source)
        return found

    each = {
        str(kind): torch.tensor(
            [
                [[of_edge(kind, source, name)[r] for r in resources] for name in space.operations]
                for source, _ in space.edges
            ],
            dtype=torch.float64,
        )
        for kind in space.kinds
    }
    rest = torch.tensor([whole[r] for r in resources], dtype=torch.float64)
    for kind in space.kinds:
        for node, edges in enumerate(plain.cell(kind).nodes, start=space.inputs):
            for edge in edges:
                row = space.edges.index((edge.source, node))
                rest -= each[str(kind)][row, space.operations.index(edge.operation)]
    return ExpertCosts(space, tuple(resources), each, rest)


def _differences(
    space: SearchSpace, costs: CellCosts, resources: tuple[str, ...], whole: Mapping[str, float]
) -> ExpertCosts:
    """Costs as differences between whole networks; `none` costs what the cheapest operation does."""
    each = {}
    for kind in space.kinds:
        table = torch.zeros(len(space.edges), len(space.operations), len(resources)).double()
        for row, edge in enumerate(space.edges):
            for column, name in enumerate(space.operations):
                found = costs.predicted(_plain_cell(space, {(kind, edge): name}))
                table[row, column] = torch.tensor([found[r] - whole[r] for r in resources])
            if NONE in space.operations:
                able = [i for i, name in enumerate(space.operations) if name != NONE]
                table[row, space.operations.index(NONE)] = table[row, able].amin(0)
        each[str(kind)] = table
    rest = torch.tensor([whole[r] for r in resources], dtype=torch.float64)
    return ExpertCosts(space, resources, each, rest)


def _plain_cell(space: SearchSpace, changed: Mapping[tuple[CellKind, tuple[int, int]], str]) -> Genotype:
    """A cell of the first operation, but for the edges that are given, which it keeps."""
    strengths = {str(kind): torch.zeros(len(space.edges), len(space.operations)) for kind in space.kinds}
    for (kind, edge), name in changed.items():
        strengths[str(kind)][space.edges.index(edge), space.operations.index(name)] = 1.0
    alive = {kind: torch.ones_like(table, dtype=torch.bool) for kind, table in strengths.items()}
    return discretize(strengths, alive, space)
