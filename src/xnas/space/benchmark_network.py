"""NAS-Bench-201's own network of a cell, as the benchmark trained it: 16 channels, 5 cells per stage."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.nn.operations import FINAL, build_operation
from xnas.nn.residual import ResidualReduction
from xnas.space.benchmark_supernet import STAGES
from xnas.space.cell_genotype import CellGenotype
from xnas.space.network import Network
from xnas.space.network_spec import NetworkSpec

if TYPE_CHECKING:
    from xnas.space.genotype import Genotype

BENCHMARK = NetworkSpec(num_classes=10, channels=16, cells=5, stem_channels=16)
"""The network that the benchmark trained on CIFAR-10; `cells` are those of a stage."""


class BenchmarkCell(nn.Module):
    """At every node the sum of operations on all states before it; the last node is the output."""

    def __init__(self, genotype: CellGenotype, channels: int) -> None:
        super().__init__()
        self.channels = self.outputs = channels
        self.sources = tuple(tuple(edge.source for edge in edges) for edges in genotype.nodes)
        self.edges = nn.ModuleList(
            build_operation(edge.operation, channels, 1, FINAL)
            for edges in genotype.nodes
            for edge in edges
        )

    def forward(self, x: Tensor) -> Tensor:
        """Images (batch, channels, height, width) in and out."""
        states, edges = [x], iter(self.edges)
        for sources in self.sources:
            advice = [next(edges)(states[source]) for source in sources]
            states.append(sum(advice[1:], start=advice[0]))
        return states[-1]


class BenchmarkNetwork(Network):
    """Three stages of cells, with residual reductions between them."""

    reductions = STAGES - 1

    def __init__(self, genotype: Genotype, spec: NetworkSpec) -> None:
        _require_plain(spec)
        super().__init__(genotype, spec)
        self.genotype = genotype
        channels = spec.channels
        self.stem = nn.Sequential(
            nn.Conv2d(spec.in_chans, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        )
        built: list[nn.Module] = []
        for stage in range(STAGES):
            if stage:
                built.append(ResidualReduction(channels, 2 * channels, FINAL))
                channels *= 2
            built += [BenchmarkCell(genotype.normal, channels) for _ in range(spec.cells)]
        self.cells = nn.ModuleList(built)
        self.last = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU())
        self.num_features = channels
        self.classifier = nn.Linear(channels, spec.num_classes)

    def maps(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map images (batch, in_chans, height, width) to features (batch, num_features, h, w), twice.

        This network has no auxiliary tower.
        """
        x = self.stem(x)
        for block in self.cells:
            x = block(x)
        x = self.last(x)
        return x, x


def _require_plain(spec: NetworkSpec) -> None:
    """Raise for parts that the benchmark's networks do not have."""
    for name, wanted in (
        ("auxiliary", False),
        ("drop_path_rate", 0.0),
        ("squeeze_excitation", False),
        ("stem_channels", spec.channels),
    ):
        given = getattr(spec, name)
        if given != wanted:
            raise ConfigError(
                f"a network of NAS-Bench-201 has no {name} to set, got {given}; leave it out"
            )


def benchmark_parameters(genotype: Genotype, *, num_classes: int = 10) -> int:
    """Parameters of the benchmark's network by formula, without building it."""
    widths = [BENCHMARK.channels << stage for stage in range(STAGES)]
    weights = {"nor_conv_1x1": 1, "nor_conv_3x3": 9}
    operations = [edge.operation for edges in genotype.normal.nodes for edge in edges]
    cells = sum(
        BENCHMARK.cells * (weights[name] * width**2 + 2 * width)
        for name in operations
        if name in weights
        for width in widths
    )
    reductions = sum(
        9 * narrow * wide + 9 * wide**2 + 4 * wide + narrow * wide for narrow, wide in pairwise(widths)
    )
    stem = 27 * widths[0] + 2 * widths[0]
    head = 2 * widths[-1] + widths[-1] * num_classes + num_classes
    return stem + cells + reductions + head
