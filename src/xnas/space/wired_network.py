"""Randomly wired networks (Xie et al. 2019, arXiv:1904.01569): stages of nodes that a graph joins.

A node sums its inputs, each times the sigmoid of a learned number, and applies ReLU, a separable 3x3
convolution and a batch norm. Nodes without inputs read the input of the stage, halve the image and
change the channels; the nodes without outputs are averaged to the output of the stage. A node with a
single input has no weight: the batch norm would undo it.

On ImageNet a wiring of three stages gives the paper's small regime, with two plain convolutions before
the stages, and one of four stages the regular regime, with one. The network for CIFAR is ours: the first
convolution and the first stage keep the size of the image.

Departure: the regular regime also has dropout before its classifier, which is left out here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.nn.edge_dropout import EdgeDropout
from xnas.space.network import Network
from xnas.space.network_spec import NetworkSpec

if TYPE_CHECKING:
    from xnas.space.wiring import Wiring

HEAD_CHANNELS = 1280
SMALL_STAGES, REGULAR_STAGES = 3, 4


def wired_specs(stages: int) -> Mapping[str, NetworkSpec]:
    """Return the networks that a wiring of so many stages can build, by name.

    `channels` are C of the paper, those of the first stage of the small regime; `cells` are the stages.
    """
    regular = stages == REGULAR_STAGES
    large = 109 if regular else 78
    return {
        "cifar": NetworkSpec(num_classes=10, channels=32, cells=stages, stem_channels=32),
        "imagenet": NetworkSpec(
            network="imagenet",
            num_classes=1000,
            channels=large,
            cells=stages,
            stem_channels=large,
            drop_path_rate=0.1 if regular else 0.0,
        ),
    }


class WiredNode(nn.Sequential):
    """ReLU, depthwise 3x3 convolution, 1x1 convolution, batch norm."""

    def __init__(self, inputs: int, outputs: int, *, stride: int) -> None:
        super().__init__(
            nn.ReLU(),
            nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False),
            nn.Conv2d(inputs, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )


class WiredStage(nn.Module):
    """The nodes of one graph, in the order of their numbers."""

    counts: Tensor
    starts: Tensor

    def __init__(
        self,
        sources: Sequence[Sequence[int]],
        inputs: int,
        outputs: int,
        *,
        stride: int,
        dropout: EdgeDropout | None = None,
    ) -> None:
        """`sources` are those of every node, `inputs` and `outputs` are channels."""
        super().__init__()
        self.sources = tuple(tuple(before) for before in sources)
        read = {source for before in self.sources for source in before}
        self.last = tuple(node for node in range(len(self.sources)) if node not in read)
        self.nodes = nn.ModuleList(
            WiredNode(outputs, outputs, stride=1)
            if before
            else WiredNode(inputs, outputs, stride=stride)
            for before in self.sources
        )
        self.weighted = [len(before) for before in self.sources if len(before) > 1]
        self.weights = nn.Parameter(torch.zeros(sum(self.weighted))) if self.weighted else None
        """Of edges into nodes with several inputs, node by node; an edge counts sigmoid of it."""
        self.dropout = dropout
        counts = torch.tensor(self.weighted, dtype=torch.long)
        self.register_buffer("counts", counts, persistent=False)
        self.register_buffer("starts", counts.cumsum(0) - counts, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, inputs, h, w) to (batch, outputs, ceil(h/stride), ceil(w/stride))."""
        weights = iter(self._edge_weights())
        states: list[Tensor] = []
        for node, before in zip(self.nodes, self.sources, strict=True):
            if len(before) > 1:
                pairs = zip(next(weights).unbind(), before, strict=True)
                given = _sum([weight * states[source] for weight, source in pairs])
            else:
                given = states[before[0]] if before else x
            states.append(node(given))
        return _sum([states[node] for node in self.last]) / len(self.last)

    def _edge_weights(self) -> tuple[Tensor, ...]:
        """Positive weights (edges of a node,), node by node; 0 for an edge that the step drops."""
        if self.weights is None:
            return ()
        weights = self.weights.sigmoid()
        if self.dropout is not None and self.dropout.training:
            weights = weights * self.dropout.kept(self.counts, self.starts, edges=len(weights))
        return torch.split(weights, self.weighted)


class WiredNetwork(Network):
    """Stages of randomly wired nodes between plain convolutions."""

    def __init__(self, wiring: Wiring, spec: NetworkSpec) -> None:
        stages = len(wiring.stages)
        _require_wired(spec, stages)
        super().__init__(wiring, spec)
        imagenet, width = spec.network == "imagenet", spec.channels // 2
        self.drop_path = EdgeDropout(spec.drop_path_rate) if spec.drop_path_rate else None
        layers = _convolution_and_norm(spec.in_chans, width, 3, stride=2 if imagenet else 1)
        if imagenet and stages == SMALL_STAGES:
            layers += [nn.ReLU(), *_convolution_and_norm(width, spec.channels, 3, stride=2)]
            width = spec.channels
        self.stem = nn.Sequential(*layers)
        self.halvings = sum(layer.stride == (2, 2) for layer in layers if isinstance(layer, nn.Conv2d))
        self.reductions = stages if imagenet else stages - 1
        self.cells = nn.ModuleList()
        for stage in range(stages):
            outputs = spec.channels << stage
            stride = 2 if stage or imagenet else 1
            sources = wiring.sources(stage)
            self.cells.append(WiredStage(sources, width, outputs, stride=stride, dropout=self.drop_path))
            width = outputs
        # The counts of the paper fit a batch norm. The ReLU after it is ours: without one, the two last
        # layers would be a single linear map of the mean.
        self.head = nn.Sequential(
            nn.ReLU(), *_convolution_and_norm(width, HEAD_CHANNELS, 1, stride=1), nn.ReLU()
        )
        self.num_features = HEAD_CHANNELS
        self.classifier = nn.Linear(HEAD_CHANNELS, spec.num_classes)

    def maps(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map images (batch, in_chans, height, width) to features (batch, 1280, h, w), twice.

        This network has no auxiliary tower.
        """
        x = self.stem(x)
        for stage in self.cells:
            x = stage(x)
        x = self.head(x)
        return x, x


def _convolution_and_norm(inputs: int, outputs: int, kernel: int, *, stride: int) -> list[nn.Module]:
    """A plain convolution without bias, and its batch norm."""
    return [
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(outputs),
    ]


def _sum(terms: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of one shape, at least one."""
    return sum(terms[1:], start=terms[0])


def _require_wired(spec: NetworkSpec, stages: int) -> None:
    """Raise for parts that a wired network does not have."""
    for name, wanted in (
        ("auxiliary", False),
        ("squeeze_excitation", False),
        ("stem_channels", spec.channels),
        ("cells", stages),
    ):
        given = getattr(spec, name)
        if given != wanted:
            its = f"; its cells are the {stages} stages of the wiring" if name == "cells" else ""
            raise ConfigError(
                f"a randomly wired network has no {name} to set, got {given}{its}; leave it out"
            )
    if spec.channels < 2:
        raise ConfigError(
            f"the first convolution of a randomly wired network has half of its channels, got channels "
            f"{spec.channels}; use at least 2"
        )
