"""From a genotype to a network: a stem, cells, a classifier (Sec. 4.2, 4.3).

Reduction cells are at one and two thirds of the depth; they halve the image and double the channels.
A cell sees the outputs of the two cells before it, each brought to its channels by a 1x1 convolution,
and gives the concatenation of its nodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.nn.drop_path import DropPath, DropRate, silenced
from xnas.nn.excitation import SqueezeExcitation
from xnas.nn.heads import AuxiliaryTower, CifarStem, ImagenetStem
from xnas.nn.operations import (
    FINAL,
    FactorizedReduction,
    Fusable,
    SeparableConvolution,
    build_operation,
    relu_conv_bn,
)
from xnas.space.cell_genotype import INPUTS, CellGenotype, CellKind
from xnas.space.layout import cell_kinds, edge_stride
from xnas.space.network_spec import NetworkSpec

if TYPE_CHECKING:
    from xnas.space.architecture import Architecture
    from xnas.space.genotype import Genotype

NETWORKS = {
    "cifar": NetworkSpec(network="cifar", num_classes=10, channels=36, cells=20, stem_channels=108),
    "imagenet": NetworkSpec(
        network="imagenet",
        num_classes=1000,
        channels=46,
        cells=14,
        squeeze_excitation=True,
        stem_channels=56,
    ),
}
"""The paper's networks by name; their sizes hold where a user gives none."""
STEMS: dict[str, type[CifarStem | ImagenetStem]] = {"cifar": CifarStem, "imagenet": ImagenetStem}
TOWERS = {"cifar": AuxiliaryTower.for_cifar, "imagenet": AuxiliaryTower.for_imagenet}


class Cell(Fusable):
    """A cell of the final network: on every edge one operation, at every node their sum."""

    def __init__(
        self,
        genotype: CellGenotype,
        kind: CellKind,
        channels: int,
        *,
        inputs: tuple[int, int],
        older_is_larger: bool,
        drop_path: DropPath | None = None,
    ) -> None:
        """`inputs` are the channels of the cell before the previous one and of the previous one.

        `older_is_larger` says that the first of them comes from before a reduction.
        """
        super().__init__()
        before_that, previous = inputs
        self.kind, self.concat = kind, genotype.concat
        self.channels, self.outputs = channels, channels * len(genotype.concat)
        self.prepare_before_that: nn.Module
        if older_is_larger:
            self.prepare_before_that = FactorizedReduction(before_that, channels, FINAL)
        else:
            self.prepare_before_that = relu_conv_bn(before_that, channels, FINAL)
        self.prepare_previous = relu_conv_bn(previous, channels, FINAL)
        self.edges = nn.ModuleList(
            build_operation(edge.operation, channels, edge_stride(kind, edge.source), FINAL)
            for edges in genotype.nodes
            for edge in edges
        )
        self.nodes = self._in_order(genotype)
        # An input that the output joins has to be as small as the nodes are.
        self.joined = nn.ModuleDict(
            {
                str(state): build_operation("skip_connect", channels, edge_stride(kind, state), FINAL)
                for state in genotype.concat
                if state < INPUTS
            }
        )
        self.drop_path = drop_path
        self.excitation: nn.Module = nn.Identity()

    def forward(self, before_that: Tensor, previous: Tensor) -> Tensor:
        """Return (batch, joined states x channels, h, w) of two maps (batch, channels, h, w)."""
        inputs = [self.prepare_before_that(before_that), self.prepare_previous(previous)]
        factors = self._factors(previous)
        states = [self._for_users(state, index) for index, state in enumerate(inputs)]
        for edges in self.nodes:
            total: Tensor | None = None
            for edge, source in edges:
                total = self._add(total, self.edges[edge], states[source].pop(), factors.get(edge))
            assert total is not None  # noqa: S101 - every node has edges
            states.append(self._for_users(total, len(states)))
        parts = [self._part(state, states[state].pop()) for state in self.concat]
        out: Tensor = self.excitation(self._join(parts))
        return out

    def _for_users(self, state: Tensor, index: int) -> list[Tensor]:
        """The state for each that reads it: edges and the output."""
        users = [source for edges in self.nodes for _, source in edges].count(index)
        users += self.concat.count(index)
        if not self.on_kernels or users < 2:
            return [state] * users
        from xnas.nn.fused_states import shared  # noqa: PLC0415 - brings Triton

        return list(shared(state, users))

    def _part(self, index: int, state: Tensor) -> Tensor:
        """What the output joins."""
        part: Tensor = self.joined[str(index)](state) if index < INPUTS else state
        return part

    def _join(self, parts: list[Tensor]) -> Tensor:
        if not self.on_kernels:
            return torch.cat(parts, dim=1)
        from xnas.nn.fused_states import joined  # noqa: PLC0415 - brings Triton

        return joined(parts)

    def _in_order(self, genotype: CellGenotype) -> list[list[tuple[int, int]]]:
        """Edges of every node with their sources; separable convolutions, which add as they go, last."""
        number = count()
        nodes = [[(next(number), edge.source) for edge in edges] for edges in genotype.nodes]
        return [
            sorted(node, key=lambda edge: isinstance(self.edges[edge[0]], SeparableConvolution))
            for node in nodes
        ]

    def _factors(self, x: Tensor) -> dict[int, Tensor]:
        """Drop path's, by edge; an identity is never dropped."""
        if self.drop_path is None or not self.drop_path.training:
            return {}
        edges = [i for i, edge in enumerate(self.edges) if not isinstance(edge, nn.Identity)]
        return dict(zip(edges, self.drop_path.draw(x, edges=len(edges)), strict=True))

    @staticmethod
    def _add(
        total: Tensor | None, operation: nn.Module, state: Tensor, factors: Tensor | None
    ) -> Tensor:
        """What a node has, and one more edge."""
        if isinstance(operation, SeparableConvolution):
            added: Tensor = operation(state, factors=factors, plus=total)
            return added
        out: Tensor = operation(state)
        out = out if factors is None else silenced(out, factors)
        return out if total is None else total + out


class Network(nn.Module, ABC):
    """What every final network is: features, a classifier on their mean, perhaps an auxiliary tower."""

    num_features: int
    classifier: nn.Module
    stem: nn.Module
    cells: nn.ModuleList
    halvings = 0
    """Of the image, by the stem."""
    reductions = 2
    """Further halvings, by cells or between them."""

    def __init__(self, architecture: Architecture, spec: NetworkSpec) -> None:
        super().__init__()
        self.architecture, self.spec = architecture, spec
        self.drop_path: DropRate | None = None
        self.auxiliary_tower: AuxiliaryTower | None = None

    @property
    def num_classes(self) -> int:
        """Number of classes; 0 without a classifier."""
        return self.spec.num_classes

    @property
    def in_chans(self) -> int:
        """Channels of the images that it takes."""
        return self.spec.in_chans

    @abstractmethod
    def maps(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map images (batch, in_chans, height, width) to two maps (batch, features, h, w).

        The classifier pools the first, an auxiliary tower reads the second.
        """

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (batch, classes) of images (batch, channels, height, width)."""
        return self.forward_head(self.forward_features(x))

    def training_logits(self, x: Tensor) -> tuple[Tensor, ...]:
        """Return logits (batch, classes), followed by those of the auxiliary tower if there is one.

        `x` are images (batch, in_chans, height, width).
        """
        return (self(x),) if self.auxiliary_tower is None else self.forward_with_auxiliary(x)

    def forward_with_auxiliary(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits (batch, classes) and those of the auxiliary tower, for training.

        `x` are images (batch, in_chans, height, width).
        """
        if self.auxiliary_tower is None:
            raise ConfigError(
                "the network has no auxiliary tower; build it with create_model(..., auxiliary=True)"
            )
        self._require_images(x)
        last, tapped = self.maps(x)
        return self.forward_head(last), self.auxiliary_tower(tapped)

    def forward_features(self, x: Tensor) -> Tensor:
        """Return what the classifier pools, (batch, num_features, h, w), of images."""
        self._require_images(x)
        return self.maps(x)[0]

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:  # noqa: FBT001, FBT002 - timm's
        """Return logits (batch, classes) of features (batch, num_features, h, w).

        With `pre_logits` return what the classifier would take, (batch, num_features).
        """
        pooled = x.mean((-2, -1))
        logits: Tensor = pooled if pre_logits else self.classifier(pooled)
        return logits

    def load_state_dict(
        self,
        state_dict: Mapping[str, Any],
        strict: bool = True,  # noqa: FBT001, FBT002 - torch's signature
        assign: bool = False,  # noqa: FBT001, FBT002
    ) -> Any:  # noqa: ANN401
        """As torch does, after a look at the number of classes, the most common misfit."""
        theirs, own = state_dict.get("classifier.weight"), getattr(self.classifier, "weight", None)
        if theirs is not None and own is not None and len(theirs) != len(own):
            raise ConfigError(
                f"the state dict is of a network with {len(theirs)} classes, this one has {len(own)}; "
                f"build it with num_classes={len(theirs)}, and reset_classifier after loading"
            )
        return super().load_state_dict(state_dict, strict, assign)

    def get_classifier(self) -> nn.Module:
        """The last layer."""
        return self.classifier

    def reset_classifier(self, num_classes: int, global_pool: str | None = None) -> None:
        """Put a new last layer for other classes; 0 leaves the features as they are."""
        if global_pool not in (None, "avg"):
            raise ConfigError(f"global_pool must be avg, the mean over the image, got {global_pool!r}")
        if num_classes < 0:
            raise ConfigError(f"num_classes must be at least 0, got {num_classes}")
        self.spec = replace(self.spec, num_classes=num_classes)
        like = next(self.stem.parameters())

        def layer(features: int) -> nn.Module:
            new = nn.Linear(features, num_classes) if num_classes else nn.Identity()
            return new.to(like.device, like.dtype)

        self.classifier = layer(self.num_features)
        if self.auxiliary_tower is not None:
            self.auxiliary_tower.classifier = layer(self.auxiliary_tower.features)

    def _require_images(self, x: Tensor) -> None:
        least = 2 ** (self.halvings + self.reductions)
        if x.dim() != 4 or x.shape[1] != self.in_chans:
            raise ConfigError(
                f"the network takes images (batch, {self.in_chans}, height, width), got "
                f"{tuple(x.shape)}; build it with in_chans of your images"
            )
        if not x.is_floating_point():
            raise ConfigError(f"the network takes standardised floats, got {x.dtype}; standardize first")
        if min(x.shape[-2:]) < least:
            raise ConfigError(
                f"images of {x.shape[-2]} x {x.shape[-1]} pixels are too small for the network's "
                f"reductions; they need {least} a side: enlarge them"
            )


class CellNetwork(Network):
    """Cells stacked behind a stem. `create_model` makes one with the sizes of the paper."""

    genotype: Genotype
    stem: CifarStem | ImagenetStem

    def __init__(self, genotype: Genotype, spec: NetworkSpec) -> None:
        super().__init__(genotype, spec)
        self.genotype = genotype
        self.kinds = cell_kinds(spec.cells)
        self.stem = STEMS[spec.network](spec.in_chans, spec.stem_channels)
        self.halvings = self.stem.halvings
        drop_path = self.drop_path = DropPath(spec.drop_path_rate) if spec.drop_path_rate else None
        self.cells = nn.ModuleList(self._stack(spec.channels, spec.stem_channels, drop_path))
        last = self._cell(-1)
        self.last_reduction = max(i for i, k in enumerate(self.kinds) if k is CellKind.REDUCTION)
        if spec.squeeze_excitation:
            for cell in list(self._cells())[: 2 * spec.cells // 3 + 1]:
                reduction = 4 if cell.channels == spec.channels else 8
                cell.excitation = SqueezeExcitation(cell.outputs, reduction)
        if spec.auxiliary:
            tapped = self._cell(self.last_reduction)
            self.auxiliary_tower = TOWERS[spec.network](tapped.outputs, spec.num_classes)
        self.num_features = last.outputs
        self.classifier = nn.Linear(last.outputs, spec.num_classes)

    def _stack(self, channels: int, stem_channels: int, drop_path: DropPath | None) -> Iterator[Cell]:
        inputs, older_is_larger = (stem_channels, stem_channels), self.stem.cells_see_two_sizes
        for kind in self.kinds:
            channels *= 2 if kind is CellKind.REDUCTION else 1
            cell = Cell(
                self.genotype.cell(kind),
                kind,
                channels,
                inputs=inputs,
                older_is_larger=older_is_larger,
                drop_path=drop_path,
            )
            yield cell
            inputs, older_is_larger = (inputs[1], cell.outputs), kind is CellKind.REDUCTION

    def maps(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map images (batch, in_chans, height, width) to the outputs of two cells.

        They are those of the last cell and of the last reduction cell, each (batch, features, h, w).
        """
        before_that, previous = self.stem(x)
        tapped = previous
        for index, cell in enumerate(self.cells):
            before_that, previous = previous, cell(before_that, previous)
            if index == self.last_reduction:
                tapped = previous
        return previous, tapped

    def _cells(self) -> Iterator[Cell]:
        return (cell for cell in self.cells if isinstance(cell, Cell))

    def _cell(self, index: int) -> Cell:
        return list(self._cells())[index]
