"""NAS-Bench-201's supernet: three stages of equal cells, residual reductions between them.

A cell has one input and three nodes, each the sum of forecasters on edges from all states before it; the
last node is the output. All cells share one mixture of six forecasters. Batch norms follow convolutions
alone, and have no scale of their own.

`fuse` has `fused_benchmark` compute the cells in few kernels: the same function of the same weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.nn import Forecaster
from xnas.nn.operations import Normalization
from xnas.nn.partial import require_divisible
from xnas.nn.residual import ResidualReduction
from xnas.space.cell import add_predictions, build_forecaster
from xnas.space.cell_genotype import CellKind
from xnas.space.parent import ParentNetwork, require_sizes

if TYPE_CHECKING:
    from xnas.space.fused_benchmark import FusedCells
    from xnas.space.spaces import SearchSpace

STAGES = 3
NORMALIZATION = Normalization(affine=False, after_pools=False)


class BenchmarkSearchCell(nn.Module):
    """One cell whose edges are still undecided. Its mixture belongs to the supernet."""

    def __init__(
        self,
        space: SearchSpace,
        channels: int,
        normalization: Normalization,
        *,
        partial_channels: int = 1,
    ) -> None:
        super().__init__()
        self.edges = space.edges
        self.forecasters = nn.ModuleList(
            build_forecaster(space, channels, 1, normalization, parts=partial_channels)
            for _ in self.edges
        )

    def forward(self, x: Tensor, mixture: Tensor) -> Tensor:
        """Output (batch, channels, ...); `mixture` is (edges, experts), or one per sample."""
        states = [x]
        add_predictions(states, self.edges, self.forecasters, mixture)
        return states[-1]

    def forecaster(self, edge: int) -> Forecaster:
        """The forecaster on one edge, by its place in the order of the space."""
        found = self.forecasters[edge]
        assert isinstance(found, Forecaster)  # noqa: S101 - for the type checker
        return found


class BenchmarkSupernet(ParentNetwork):
    """Three stages of `cells` cells, the first with `channels` channels; they double at reductions."""

    normal_mixture: nn.Parameter

    def __init__(
        self,
        space: SearchSpace,
        *,
        num_classes: int,
        in_chans: int = 3,
        cells: int = 5,
        channels: int = 16,
        partial_channels: int = 1,
    ) -> None:
        """With `partial_channels` K only 1/K of the channels of a cell pass the experts."""
        require_divisible(channels, partial_channels)
        require_sizes(num_classes=num_classes, in_chans=in_chans, cells=cells, channels=channels)
        super().__init__(space, {CellKind.NORMAL.value: STAGES * cells})
        self.cells_per_stage, self.partial_channels = cells, partial_channels
        self.fused_cells: FusedCells | None = None
        self.stem = nn.Sequential(
            nn.Conv2d(in_chans, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        )
        built: list[nn.Module] = []
        for stage in range(STAGES):
            if stage:
                built.append(ResidualReduction(channels, 2 * channels, NORMALIZATION))
                channels *= 2
            built += [
                BenchmarkSearchCell(space, channels, NORMALIZATION, partial_channels=partial_channels)
                for _ in range(cells)
            ]
        self.blocks = nn.ModuleList(built)
        self.last = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU())
        self.classifier = nn.Linear(channels, num_classes)

    def logits(self, x: Tensor, mixtures: Mapping[str, Tensor]) -> Tensor:
        """Return logits (batch, classes) of images (batch, channels, height, width)."""
        rows = mixtures[CellKind.NORMAL.value]
        # With nothing but `none` alive there is nothing to compute together.
        fused = self.fused_cells is not None and not self.fused_cells.empty
        x = self._through_fused_cells(x, rows) if fused else self._through_cells(x, rows)
        logits: Tensor = self.classifier(self.last(x).mean((-2, -1)))
        return logits

    def forecasters_of(self, kind: str, edge: int) -> list[Forecaster]:  # noqa: ARG002 - there is one
        """Return the forecaster on this edge of every cell."""
        return [cell.forecaster(edge) for cell in self._cells()]

    @property
    def fused(self) -> bool:
        """Whether cells are computed in few kernels."""
        return self.fused_cells is not None

    @property
    def packed(self) -> list[Tensor]:
        """Leaves that stand for the cells' weights in backward; none unless fused."""
        return [] if self.fused_cells is None else self.fused_cells.packed

    def fuse(self) -> None:
        """Compute the cells in few kernels from now on; once more after a wipe, and after a move.

        Parameters stay what they are, as views of packed ones: `packed` belongs among the inputs of
        backward.
        """
        from xnas.space.fused_benchmark import FusedCells  # noqa: PLC0415 - brings Triton

        if self.normal_mixture.is_cuda:
            for module in self.modules():
                if isinstance(module, nn.Conv2d):
                    module.to(memory_format=torch.channels_last)
        cells = [[cell.forecaster(edge) for edge in range(len(cell.edges))] for cell in self._cells()]
        size = self.cells_per_stage
        stages = [cells[first : first + size] for first in range(0, len(cells), size)]
        self.fused_cells = FusedCells(self.space, stages).to(self.normal_mixture.device)

    def unfuse(self) -> None:
        """Compute the cells by their modules again."""
        self.fused_cells = None

    def wipe(self, kind: str, forecaster: int, experts: Iterable[int]) -> None:
        """Delete experts, given by their columns, of one edge in every cell; undoes `fuse`."""
        self.unfuse()
        super().wipe(kind, forecaster, experts)

    def stages(self, kind: str) -> tuple[int, ...]:  # noqa: ARG002 - there is one
        """Return for each cell its stage: how many reductions came before it."""
        return tuple(stage for stage in range(STAGES) for _ in range(self.cells_per_stage))

    def _cells(self) -> list[BenchmarkSearchCell]:
        return [block for block in self.blocks if isinstance(block, BenchmarkSearchCell)]

    def _through_cells(self, x: Tensor, mixtures: Tensor) -> Tensor:
        rows = iter(mixtures.unbind(0))
        x = self.stem(x)
        for block in self.blocks:
            x = block(x, next(rows)) if isinstance(block, BenchmarkSearchCell) else block(x)
        return x

    def _through_fused_cells(self, x: Tensor, mixtures: Tensor) -> Tensor:
        assert self.fused_cells is not None  # noqa: S101 - for the type checker
        if mixtures.dim() != 3:
            raise ConfigError(
                "the fused backend takes one mixture per cell, (replications, edges, operations), got "
                f"{tuple(mixtures.shape)}; for one per sample use the reference backend"
            )
        if x.is_cuda:
            x = x.contiguous(memory_format=torch.channels_last)
        x = self.stem(x)
        computed_in = (
            torch.get_autocast_dtype(x.device.type)
            if torch.is_autocast_enabled(x.device.type)
            else x.dtype
        )
        cell = self.fused_cells.begin(mixtures, training=self.training, dtype=computed_in)
        for block in self.blocks:
            x = cell(x) if isinstance(block, BenchmarkSearchCell) else block(x)
        return x
