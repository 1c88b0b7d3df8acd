"""The parent network: cells whose edges are forecasters, with one mixture per kind of cell (Sec. 4.1).

All normal cells share one mixture, all reduction cells another, so a reward is the sum over the cells
of a kind, and a wiped expert leaves all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.nn import Forecaster
from xnas.nn.operations import fuse
from xnas.nn.partial import require_divisible
from xnas.space.cell import SearchCell
from xnas.space.cell_genotype import CellKind
from xnas.space.layout import cell_kinds, edge_stride
from xnas.space.packing import own_buffers
from xnas.space.parent import ParentNetwork, require_sizes

if TYPE_CHECKING:
    from xnas.space.fused_cell import FusedCell
    from xnas.space.fused_partial_cell import FusedPartialCell
    from xnas.space.spaces import SearchSpace

LEAST_CELLS = 3  # two of them reductions


class Supernet(ParentNetwork):
    """A network of `cells` cells, the first of them with `channels` channels per node.

    Reduction cells are at one and two thirds of the depth; channels double there. The stem has
    channels x min(input channels, 3).

    Departure: the paper doubles channels "after each reduction cell" (Sec. 4.2, 9.3), which its own
    parameter counts do not fit (E22 in docs/errata.md).
    """

    normal_mixture: nn.Parameter
    reduction_mixture: nn.Parameter

    def __init__(
        self,
        space: SearchSpace,
        *,
        num_classes: int,
        in_chans: int = 3,
        cells: int = 8,
        channels: int = 16,
        partial_channels: int = 1,
    ) -> None:
        """With `partial_channels` K only 1/K of the channels of a cell pass the experts."""
        require_divisible(channels, partial_channels)
        require_sizes(
            num_classes=num_classes,
            in_chans=in_chans,
            cells=cells,
            channels=channels,
            least_cells=LEAST_CELLS,
        )
        if space.kinds != tuple(CellKind):
            raise ConfigError(
                f"the supernet of DARTS has normal and reduction cells, the space {space.name!r} has "
                f"{', '.join(space.kinds)}; give the space a supernet of its own"
            )
        kinds = cell_kinds(cells)
        super().__init__(space, {kind.value: kinds.count(kind) for kind in space.kinds})
        self.kinds, self.partial_channels = kinds, partial_channels
        stem = channels * min(in_chans, 3)
        self.stem = nn.Sequential(
            nn.Conv2d(in_chans, stem, 3, padding=1, bias=False), nn.BatchNorm2d(stem)
        )
        built: list[SearchCell] = []
        inputs, kind = (stem, stem), CellKind.NORMAL
        for following in self.kinds:
            after_reduction, kind = kind is CellKind.REDUCTION, following
            channels *= 2 if kind is CellKind.REDUCTION else 1
            built.append(
                SearchCell(
                    space,
                    kind,
                    channels,
                    inputs=inputs,
                    after_reduction=after_reduction,
                    partial_channels=partial_channels,
                )
            )
            inputs = (inputs[1], space.nodes * channels)
        self.cells = nn.ModuleList(built)
        self._fused: list[FusedCell | FusedPartialCell] = []
        self.classifier = nn.Linear(inputs[1], num_classes)

    def logits(self, x: Tensor, mixtures: Mapping[str, Tensor]) -> Tensor:
        """Return logits (batch, classes) of images (batch, channels, height, width)."""
        rows = {kind: iter(mixture.unbind(0)) for kind, mixture in mixtures.items()}
        executed = self._executed(mixtures)
        before_that = previous = self.stem(x)
        for kind, cell in zip(self.kinds, executed, strict=True):
            before_that, previous = previous, cell(before_that, previous, next(rows[kind]))
        logits: Tensor = self.classifier(previous.mean((-2, -1)))
        return logits

    def forecasters_of(self, kind: str, edge: int) -> list[Forecaster]:
        """Return the forecaster on this edge of every cell of a kind."""
        return [cell.forecaster(edge) for cell in self._cells() if cell.kind == kind]

    def stride(self, kind: str, source: int) -> int:
        """Return 2 for edges of a reduction cell that leave its inputs, otherwise 1."""
        return edge_stride(CellKind(kind), source)

    def fuse(self) -> None:
        """Compute what the cells compute by fewer and larger calls; again after deletions."""
        if self.normal_mixture.is_cuda:
            self.to(memory_format=torch.channels_last)
        from xnas.space.fused_partial_cell import fused_cell  # noqa: PLC0415 - brings Triton

        fuse(self)
        try:
            self._fused = [fused_cell(cell) for cell in self._cells()]
        except ConfigError:  # an operation without a fused form
            self.unfuse()
            raise

    def unfuse(self) -> None:
        """Go back to the modules as they are; weights stay."""
        self._fused = []
        fuse(self, on=False)
        own_buffers(self)

    @property
    def fused(self) -> bool:
        """Whether cells are computed by large calls."""
        return bool(self._fused)

    @property
    def packed(self) -> list[Tensor]:
        """Leaves that stand for parameters in backward while cells are fused."""
        return [tensor for cell in self._fused for tensor in cell.packed]

    def wipe(self, kind: str, forecaster: int, experts: Iterable[int]) -> None:
        """Delete experts, given by their columns, of one forecaster in every cell that shares it.

        Undoes `fuse`.
        """
        if self.fused:
            self.unfuse()
        super().wipe(kind, forecaster, experts)

    def stages(self, kind: str) -> tuple[int, ...]:
        """Return for each cell of a kind its stage: how many reductions came before it."""
        return tuple(
            self.kinds[:index].count(CellKind.REDUCTION)
            for index, k in enumerate(self.kinds)
            if k == kind
        )

    def _executed(self, mixtures: Mapping[str, Tensor]) -> Sequence[Callable[..., Tensor]]:
        """The cells, fused where that was asked for and batch statistics are the batch's own."""
        if not self._fused or not self.training:
            return self._cells()
        if any(mixture.dim() > 3 for mixture in mixtures.values()):
            raise ConfigError(
                "fused cells have one mixture per batch, not one per sample; use the reference backend"
            )
        return self._fused

    def _cells(self) -> list[SearchCell]:
        return [cell for cell in self.cells if isinstance(cell, SearchCell)]
