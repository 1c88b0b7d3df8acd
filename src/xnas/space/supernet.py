"""The parent network: cells whose edges are forecasters, with one mixture a kind of cell (Sec. 4.1).

All normal cells share one mixture, all reduction cells another, so a reward is the sum over the cells
of a kind, and a wiped expert leaves all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.nn import uniform_mixture
from xnas.nn.operations import fuse
from xnas.space.cell import SearchCell
from xnas.space.layout import cell_kinds, edge_stride
from xnas.space.packing import own_buffers
from xnas.space.spaces import CellKind, SearchSpace

if TYPE_CHECKING:
    from xnas.space.fused_cell import FusedCell

IDENTITY = "skip_connect"


class Supernet(nn.Module):
    """A network of `cells` cells, the first of them with `channels` channels a node.

    Reduction cells stand at one and two thirds of the depth; channels double there. The stem has
    channels x min(input channels, 3).

    Departure: the paper doubles channels "after each reduction cell" (Sec. 4.2, 9.3), which its own
    parameter counts do not fit (E22 in docs/errata.md).
    """

    mixture_parameters = ("normal_mixture", "reduction_mixture")

    def __init__(
        self,
        space: SearchSpace,
        *,
        num_classes: int,
        in_chans: int = 3,
        cells: int = 8,
        channels: int = 16,
    ) -> None:
        super().__init__()
        _require(num_classes, in_chans, cells, channels)
        self.space, self.kinds = space, cell_kinds(cells)
        self.replications = {k.value: self.kinds.count(k) for k in space.kinds}  # r_c of Sec. 3.1
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
                SearchCell(space, kind, channels, inputs=inputs, after_reduction=after_reduction)
            )
            inputs = (inputs[1], space.nodes * channels)
        self.cells = nn.ModuleList(built)
        self._fused: list[FusedCell] = []
        self.classifier = nn.Linear(inputs[1], num_classes)
        forecasters, experts = len(space.edges), len(space.operations)
        self.normal_mixture = uniform_mixture(forecasters, experts)
        self.reduction_mixture = uniform_mixture(forecasters, experts)
        for kind in space.kinds:  # on the device, where a round needs them
            self.register_buffer(f"{kind}_identities", _identities(space, kind), persistent=False)

    @property
    def mixtures(self) -> dict[str, nn.Parameter]:
        """The two mixtures (forecasters, experts), by kind of cell."""
        return {
            CellKind.NORMAL.value: self.normal_mixture,
            CellKind.REDUCTION.value: self.reduction_mixture,
        }

    def spread(self) -> dict[str, Tensor]:
        """Each mixture copied for every cell of its kind: (replications, forecasters, experts)."""
        return {
            kind: mixture.detach().expand(self.replications[kind], -1, -1)
            for kind, mixture in self.mixtures.items()
        }

    def forward(self, x: Tensor, mixtures: Mapping[str, Tensor] | None = None) -> Tensor:
        """Logits of images (batch, channels, height, width).

        `mixtures`, one for each cell of a kind, stand in for the shared ones: (replications,
        forecasters, experts), or (replications, batch, forecasters, experts) for one a sample.
        """
        if mixtures is None:
            mixtures = {
                kind: mixture.expand(self.replications[kind], -1, -1)
                for kind, mixture in self.mixtures.items()
            }
        rows = {kind: iter(mixture.unbind(0)) for kind, mixture in mixtures.items()}
        executed = self._executed(mixtures)
        before_that = previous = self.stem(x)
        for kind, cell in zip(self.kinds, executed, strict=True):
            before_that, previous = previous, cell(before_that, previous, next(rows[kind]))
        logits: Tensor = self.classifier(previous.mean((-2, -1)))
        return logits

    def fuse(self) -> None:
        """Compute what the cells compute by fewer and larger calls; again after deletions."""
        if self.normal_mixture.is_cuda:
            self.to(memory_format=torch.channels_last)
        from xnas.space.fused_cell import FusedCell  # noqa: PLC0415 - brings Triton

        fuse(self)
        self._fused = [FusedCell(cell) for cell in self._cells()]

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
        doomed = [self.space.operations[expert] for expert in experts]
        if self.fused:
            self.unfuse()
        for cell in self._cells():
            if cell.kind == kind:
                cell.forecaster(forecaster).wipe(doomed)

    def identities(self, kind: str) -> Tensor:
        """Mask (forecasters, experts) of the skip connections that pass their input on unchanged."""
        return self.get_buffer(f"{kind}_identities")

    def stages(self, kind: str) -> tuple[int, ...]:
        """For each cell of a kind, its stage: how many reductions came before it."""
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
                "fused cells have one mixture for a batch, not one for a sample; use --backend reference"
            )
        return self._fused

    def _cells(self) -> list[SearchCell]:
        return [cell for cell in self.cells if isinstance(cell, SearchCell)]


def _identities(space: SearchSpace, kind: CellKind) -> Tensor:
    mask = torch.zeros(len(space.edges), len(space.operations), dtype=torch.bool)
    if IDENTITY in space.operations:
        column = space.operations.index(IDENTITY)
        for row, (source, _) in enumerate(space.edges):
            mask[row, column] = edge_stride(kind, source) == 1
    return mask


def _require(num_classes: int, in_chans: int, cells: int, channels: int) -> None:
    for name, value, least in (
        ("num_classes", num_classes, 2),
        ("in_chans", in_chans, 1),
        ("cells", cells, 3),
        ("channels", channels, 1),
    ):
        if value < least:
            raise ConfigError(f"{name} must be at least {least}, got {value}")
