"""Search spaces: which operations an edge may hold, how many nodes a cell has, what a cell must obey.

A cell is a graph. States 0 and 1 are its inputs, the outputs of the cell before the previous one and
of the previous one; states from 2 on are its nodes, each fed by all states before it (Sec. 2.1). So four
nodes have 2 + 3 + 4 + 5 = 14 edges, each a forecaster during the search. There are two kinds of cells,
and all cells of one kind are alike.

The `rule` of a space decides which cells a genotype may hold (`cell_rules`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from xnas.errors import ConfigError
from xnas.registry import Registry
from xnas.space.benchmark_network import BENCHMARK, BenchmarkNetwork
from xnas.space.benchmark_supernet import BenchmarkSupernet
from xnas.space.cell_genotype import INPUTS, NONE, CellGenotype, CellKind
from xnas.space.cell_rules import (
    EDGES_PER_NODE,
    block_cell,
    complete_cell,
    published_cell,
    searched_cell,
)
from xnas.space.guards import ALL_GUARDS, SKIPS_DROPPED, Guards
from xnas.space.network import NETWORKS, CellNetwork, Network
from xnas.space.network_spec import NetworkSpec
from xnas.space.notations import ArchString, EdgeLists, Notation
from xnas.space.parent import ParentNetwork
from xnas.space.supernet import LEAST_CELLS, Supernet

if TYPE_CHECKING:
    from xnas.space.genotype import Genotype


class SupernetBuilder(Protocol):
    """Builds the supernet that a search of a space trains; a subclass of `ParentNetwork` does."""

    def __call__(
        self, space: SearchSpace, *, num_classes: int, in_chans: int, cells: int, channels: int
    ) -> ParentNetwork:
        """Return the supernet with uniform mixtures and random weights."""


class NetworkBuilder(Protocol):
    """Builds the final network of a genotype; a subclass of `Network` does."""

    def __call__(self, genotype: Genotype, spec: NetworkSpec) -> Network:
        """Return the network with random weights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpaceDefaults:
    """Sizes and choices that hold for a space where a user gives none."""

    cells_on_cpu: int = 5
    """Cells of the supernet in a search on a CPU."""
    cells_on_gpu: int = 8
    channels_on_cpu: int = 8
    """Channels of the supernet's first cell in a search on a CPU."""
    channels_on_gpu: int = 16
    least_cells: int = LEAST_CELLS
    """Fewest cells that supernet and network can have."""
    cells_unit: str = "cells"
    """What a number of cells counts, for messages: `cells`, or `cells per stage`."""
    epochs: int = 50
    """Epochs of a search, unless the method or a faithful search has its own number."""
    guards: Guards = SKIPS_DROPPED
    """Guards against collapse."""
    none_if_faithful: bool = False
    """Whether `none` takes part in a faithful search, as the space was published with it."""
    networks: Mapping[str, NetworkSpec] = field(default_factory=lambda: NETWORKS, hash=False)
    """Final networks by name, with the sizes that they have by default; `cifar` is the usual one."""
    recipe_sizes: bool = True
    """Whether a training takes channels, cells, auxiliary tower and drop path from its recipe. If not,
    it takes sizes and drop path from `networks`, and the network has no tower."""

    def cells(self, *, gpu: bool) -> int:
        """Return the cells of a supernet."""
        return self.cells_on_gpu if gpu else self.cells_on_cpu

    def channels(self, *, gpu: bool) -> int:
        """Return the channels of a supernet's first cell."""
        return self.channels_on_gpu if gpu else self.channels_on_cpu


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """What a search may find, and everything that depends on it. Ties go to the earlier operation.

    A space with other operations or fewer nodes uses the supernet and the networks of DARTS:

    >>> space = SearchSpace("narrow", ("sep_conv_3x3", "skip_connect"), nodes=2)
    >>> space.edges
    ((0, 2), (1, 2), (0, 3), (1, 3), (2, 3))

    A space of another shape brings its own: `supernet`, a subclass of `ParentNetwork` that computes
    `logits` and names its forecasters in `forecasters_of`; `network`, a subclass of `Network` that
    computes `maps`; `defaults` with the sizes of both; and, if JSON with lists of edges does not suit
    its cells, a `notation`. `SPACES.add` registers it, `SearchConfig(space=...)` searches it, and a
    training takes its genotypes. docs/extending.md has an example.
    """

    name: str
    operations: tuple[str, ...]
    nodes: int = 4
    inputs: int = field(default=INPUTS, kw_only=True)
    """States of a cell that are not its own nodes."""
    kept_edges: int | None = field(default=EDGES_PER_NODE, kw_only=True)
    """Incoming edges that a node keeps when a search ends; None keeps all."""
    kinds: tuple[CellKind, ...] = field(default=tuple(CellKind), kw_only=True)
    """Kinds of cells, each with mixtures and a genotype of its own."""
    notation: Notation = field(default=EdgeLists(), kw_only=True)
    """How genotypes are written: as lists of edges, or as one string like NAS-Bench-201's."""
    supernet: SupernetBuilder = field(default=Supernet, repr=False, kw_only=True)
    """Builds the network that a search trains."""
    network: NetworkBuilder = field(default=CellNetwork, repr=False, kw_only=True)
    """Builds the final network of a genotype."""
    defaults: SpaceDefaults = field(default=SpaceDefaults(), repr=False, kw_only=True)
    """Sizes where a user gives none."""
    rule: Callable[[SearchSpace, CellKind, CellGenotype], None] = field(
        default=searched_cell, repr=False, kw_only=True
    )
    """Raises GenotypeError for a cell that is not of this space."""

    def __post_init__(self) -> None:
        if not set(self.operations) - {NONE}:
            raise ConfigError(
                f"the space {self.name!r} has no operation that could be chosen, got {self.operations}; "
                "give at least one besides 'none'"
            )
        if len(set(self.operations)) < len(self.operations):
            raise ConfigError(
                f"the space {self.name!r} names an operation twice, got {self.operations}; "
                "name each once"
            )
        if self.nodes < 1:
            raise ConfigError(f"a cell needs at least 1 node, got {self.nodes}")

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Pairs (source, node), node by node, sources ascending: the rows of a mixture."""
        return tuple((source, node) for node in self.node_numbers for source in range(node))

    def sources(self, node: int) -> tuple[int, ...]:
        """Return the states from which edges lead to a node."""
        return tuple(source for source, target in self.edges if target == node)

    @property
    def node_numbers(self) -> range:
        """States that are the cell's own nodes."""
        return range(self.inputs, self.inputs + self.nodes)

    @property
    def concat(self) -> tuple[int, ...]:
        """What the output of a found cell joins: all nodes, or the last where every edge is kept."""
        return tuple(self.node_numbers) if self.kept_edges is not None else (self.node_numbers[-1],)

    def with_none(self) -> SearchSpace:
        """The same space with `none` among the experts, in front as in DARTS.

        Genotypes do not differ: `none` learns with the others and is left out of every choice.
        """
        return self if NONE in self.operations else replace(self, operations=(NONE, *self.operations))


SPACES: Registry[SearchSpace] = Registry("search space")
"""Search spaces by name; add your own with `SPACES.add`."""

SPACES.add(
    "darts",
    SearchSpace(
        "darts",
        (
            "max_pool_3x3",
            "avg_pool_3x3",
            "skip_connect",
            "sep_conv_3x3",
            "sep_conv_5x5",
            "dil_conv_3x3",
            "dil_conv_5x5",
        ),
        rule=published_cell,
        defaults=SpaceDefaults(epochs=20, guards=ALL_GUARDS),
    ),
)

SPACES.add(
    "nasbench201",
    SearchSpace(
        "nasbench201",
        ("skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"),
        nodes=3,
        inputs=1,
        kept_edges=None,
        kinds=(CellKind.NORMAL,),
        rule=complete_cell,
        notation=ArchString(),
        supernet=BenchmarkSupernet,
        network=BenchmarkNetwork,
        defaults=SpaceDefaults(
            cells_on_cpu=2,
            cells_on_gpu=5,
            least_cells=1,
            cells_unit="cells per stage",
            none_if_faithful=True,
            networks={"cifar": BENCHMARK},
            recipe_sizes=False,
        ),
    ),
)

SPACES.add(
    "nasnet",
    SearchSpace(
        "nasnet",
        (
            "skip_connect",
            "sep_conv_3x3",
            "sep_conv_5x5",
            "sep_conv_7x7",
            "avg_pool_3x3",
            "max_pool_3x3",
            "dil_conv_3x3",
            "conv_7x1_1x7",
        ),
        nodes=5,
        rule=block_cell,
    ),
)
# Departure: NASNet had 13 operations, and added or concatenated in each block; these eight, which
# AmoebaNet has, are added, as in PNAS. A supernet finds those cells whose nodes read two states each.
