"""A cell of the supernet: nodes joined by forecasters (Sec. 2.1, Fig. 1).

A cell has two inputs, the outputs of the two cells before it, and a few nodes. Every node adds up the
predictions of the forecasters on its incoming edges, one from each input and each earlier node; the
cell's output is the concatenation of its nodes.

Departure: Sec. 9.2 has a 1x1 convolution behind the nodes; they are concatenated alone, as in Sec. 4.1
(E9 in docs/errata.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from xnas.nn import Forecaster
from xnas.nn.operations import (
    SEARCH,
    FactorizedReduction,
    Normalization,
    build_operation,
    relu_conv_bn,
)
from xnas.nn.partial import PartialForecaster
from xnas.space.cell_genotype import CellKind
from xnas.space.layout import edge_stride

if TYPE_CHECKING:
    from xnas.space.spaces import SearchSpace


class SearchCell(nn.Module):
    """One cell whose edges are still undecided. Its mixtures belong to the supernet."""

    def __init__(
        self,
        space: SearchSpace,
        kind: CellKind,
        channels: int,
        *,
        inputs: tuple[int, int],
        after_reduction: bool,
        partial_channels: int = 1,
    ) -> None:
        """`inputs` are the channels of the cell before the previous one and of the previous one."""
        super().__init__()
        before_that, previous = inputs
        self.kind = kind
        self.edges = space.edges
        self.prepare_before_that: nn.Module
        if after_reduction:  # the older input is still twice as large
            self.prepare_before_that = FactorizedReduction(before_that, channels, SEARCH)
        else:
            self.prepare_before_that = relu_conv_bn(before_that, channels, SEARCH)
        self.prepare_previous = relu_conv_bn(previous, channels, SEARCH)
        self.forecasters = nn.ModuleList(
            build_forecaster(space, channels, edge_stride(kind, source), SEARCH, parts=partial_channels)
            for source, _ in self.edges
        )

    def forward(self, before_that: Tensor, previous: Tensor, mixture: Tensor) -> Tensor:
        """Return (batch, nodes x channels, h, w) of two maps (batch, channels, h, w).

        `mixture` is (edges, experts), or (batch, edges, experts) with one per sample.
        """
        states = [self.prepare_before_that(before_that), self.prepare_previous(previous)]
        add_predictions(states, self.edges, self.forecasters, mixture)
        return torch.cat(states[2:], dim=1)

    def forecaster(self, edge: int) -> Forecaster:
        """The forecaster on one edge, by its place in the order of the space."""
        found = self.forecasters[edge]
        assert isinstance(found, Forecaster)  # noqa: S101 - for the type checker
        return found


def build_forecaster(
    space: SearchSpace, channels: int, stride: int, normalization: Normalization, *, parts: int = 1
) -> Forecaster:
    """All operations of a space on one edge; with `parts` on 1/parts of the channels."""
    experts = {
        name: build_operation(name, channels // parts, stride, normalization)
        for name in space.operations
    }
    if parts == 1:
        return Forecaster(experts, own_mixture=False)
    return PartialForecaster(experts, channels=channels, parts=parts, stride=stride)


def add_predictions(
    states: list[Tensor],
    edges: Iterable[tuple[int, int]],
    forecasters: Iterable[nn.Module],
    mixture: Tensor,
) -> None:
    """Append to `states` a state for every node: the sum of the predictions on its incoming edges.

    `edges` are pairs (source, node), in the order of nodes; `mixture` is (..., edges, experts).
    """
    for (source, node), forecaster, u in zip(edges, forecasters, mixture.unbind(-2), strict=True):
        prediction = forecaster(states[source], u)
        if node == len(states):
            states.append(prediction)
        else:
            states[node] = states[node] + prediction
