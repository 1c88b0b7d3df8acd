"""A cell of the supernet with partial channels, computed by the kernels of the fused cell.

Of every state only the first 1/K of the channels pass the experts. A node is therefore a small cell of
its own: the experts on all of its incoming edges read the first channels of the states before it, and
add up to its own first channels. The other channels bypass the experts and are added up next to them;
both are joined and shuffled, and the next node reads other channels (`nn.partial`). In a reduction cell
a node has two such parts: its edges from the cell's inputs have stride 2, those from other nodes 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor
from torch.nn.functional import max_pool2d

from xnas.nn.partial import PartialForecaster, split_weights
from xnas.space.cell import SearchCell
from xnas.space.cell_genotype import INPUTS
from xnas.space.fused_cell import FusedCell, channels_last, computed_nodes
from xnas.space.fused_tables import Graph, Tables


def fused_cell(cell: SearchCell) -> FusedCell | FusedPartialCell:
    """The fused form of a cell."""
    return (
        FusedPartialCell(cell) if isinstance(cell.forecaster(0), PartialForecaster) else FusedCell(cell)
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Edges into one node that have the same stride."""

    edges: slice
    """Rows of the mixture."""
    sources: slice
    """States that they read, in this order."""
    tables: Tables


class FusedPartialCell:
    """Executes a `SearchCell` of partial channels in training. Build a new one after a deletion."""

    def __init__(self, cell: SearchCell) -> None:
        first = cell.forecaster(0)
        assert isinstance(first, PartialForecaster)  # noqa: S101 - for the type checker
        self.cell, self.searched, self.groups = cell, first.searched, first.parts
        self.stride, self.experts = first.stride, len(first.names)
        nodes = sorted({node for _, node in cell.edges})
        self.parts = [self._parts_of(node) for node in nodes]

    @property
    def packed(self) -> list[Tensor]:
        """Leaves that stand for the parameters of the experts."""
        return [leaf for parts in self.parts for part in parts for leaf in part.tables.leaves]

    def __call__(self, before_that: Tensor, previous: Tensor, mixture: Tensor) -> Tensor:
        """Output (batch, nodes x channels, ...); `mixture` is (edges, experts), or a column wider."""
        older = channels_last(self.cell.prepare_before_that(before_that))
        newer = channels_last(self.cell.prepare_previous(previous))
        states = [older, newer]
        bypass = [self._halved(state[..., self.searched :]) for state in states]
        mixture, weights = split_weights(mixture, self.experts)
        weights = weights.to(newer.dtype)
        for parts in self.parts:
            mixed = reduce(torch.add, [self._mixed(part, states, mixture) for part in parts])
            edges = slice(parts[0].edges.start, parts[-1].edges.stop)
            bypassed = reduce(torch.add, [w * x for w, x in zip(weights[edges], bypass, strict=True)])
            states.append(self._shuffled(torch.cat([mixed, bypassed], dim=-1)))
            bypass.append(states[-1][..., self.searched :])
        return torch.cat(states[INPUTS:], dim=-1).permute(0, 3, 1, 2)

    def _mixed(self, part: _Part, states: list[Tensor], mixture: Tensor) -> Tensor:
        """The predictions of a part, added up."""
        if part.tables.batches is not None:
            part.tables.batches += 1
        first = [state[..., : self.searched] for state in states[part.sources]]
        return computed_nodes(part.tables, first, mixture[part.edges])

    def _parts_of(self, node: int) -> list[_Part]:
        rows = [row for row, (_, target) in enumerate(self.cell.edges) if target == node]
        if self.stride == 1:
            return [self._part(rows, 1)]
        among_nodes = [self._part(rows[INPUTS:], 1)] if len(rows) > INPUTS else []
        return [self._part(rows[:INPUTS], 2), *among_nodes]

    def _part(self, rows: list[int], stride: int) -> _Part:
        sources = [self.cell.edges[row][0] for row in rows]
        graph = Graph(
            [self.cell.forecaster(row) for row in rows],
            [(place, len(rows)) for place in range(len(rows))],
            len(rows),
            stride,
            next(self.cell.parameters()).device,
        )
        return _Part(slice(rows[0], rows[-1] + 1), slice(sources[0], sources[-1] + 1), Tables(graph))

    def _halved(self, rest: Tensor) -> Tensor:
        """The channels that bypass the experts of an edge that leaves an input."""
        if self.stride == 1:
            return rest
        images = rest.permute(0, 3, 1, 2).contiguous()
        return channels_last(max_pool2d(images, 2, ceil_mode=True))

    def _shuffled(self, x: Tensor) -> Tensor:
        """`nn.partial.shuffled` for channels that come last, so that the layout in memory stays."""
        *size, channels = x.shape
        return x.view(*size, self.groups, channels // self.groups).transpose(-1, -2).reshape(x.shape)
