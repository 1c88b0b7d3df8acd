"""Parameters and multiply-accumulates of the network of a cell, without building it.

A search that draws cells within limits has to size thousands of them. Costs of edges add up, and what is
left of a network depends on how many states the cells join alone. So each operation is measured once for
the channels and image sizes of the network, and a whole network once for each kind of output.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from xnas.nn.operations import FINAL, build_operation
from xnas.space.benchmark_network import BenchmarkCell, BenchmarkNetwork
from xnas.space.cell_genotype import INPUTS, CellGenotype, CellKind
from xnas.space.create import build_network, count_macs, count_parameters
from xnas.space.genotype import Genotype
from xnas.space.layout import edge_stride
from xnas.space.network import Cell, CellNetwork
from xnas.space.network_spec import NetworkSpec
from xnas.space.spaces import SPACES


@dataclass(frozen=True, slots=True)
class NetworkSize:
    """What a network costs; an auxiliary tower does not count."""

    parameters: int
    macs: int

    def __add__(self, other: NetworkSize) -> NetworkSize:
        return NetworkSize(self.parameters + other.parameters, self.macs + other.macs)

    def __sub__(self, other: NetworkSize) -> NetworkSize:
        return NetworkSize(self.parameters - other.parameters, self.macs - other.macs)


NOTHING = NetworkSize(0, 0)

Place = tuple[int, int, tuple[int, int]]
"""Where an operation stands in a network: channels, stride, height and width of the maps it takes."""


@dataclass
class NetworkSizes:
    """Sizes of the networks of one specification, for images (channels, height, width)."""

    spec: NetworkSpec
    image: tuple[int, int, int]
    _rests: dict[object, NetworkSize] = field(default_factory=dict, repr=False)
    _edges: dict[tuple[CellKind, str, int], NetworkSize] = field(default_factory=dict, repr=False)
    _measured: dict[tuple[str, Place], NetworkSize] = field(default_factory=dict, repr=False)
    _whole: dict[Genotype, NetworkSize] = field(default_factory=dict, repr=False)
    _stack: tuple[tuple[CellKind, int, tuple[int, int]], ...] = ()

    def size(self, genotype: Genotype) -> NetworkSize:
        """Return what `count_parameters` and `count_macs` say of the network of a genotype."""
        if not adds_up(genotype.space):
            if genotype not in self._whole:
                self._whole[genotype] = self._count(genotype)[0]
            return self._whole[genotype]
        kinds = SPACES[genotype.space].kinds
        key = (genotype.space, *(_output(genotype.cell(kind)) for kind in kinds))
        if key not in self._rests:
            whole, self._stack = self._count(genotype)
            self._rests[key] = whole - self._of_edges(genotype)
        return self._rests[key] + self._of_edges(genotype)

    def places(self, genotype: Genotype, kind: CellKind, source: int) -> list[Place]:
        """Return where the operation of an edge from `source` stands, once for each cell of its kind.

        For spaces whose networks add up; all their genotypes give the same.
        """
        if not self._stack:
            self._stack = self._count(genotype)[1]
        return list(self._places(kind, edge_stride(kind, source)))

    def _of_edges(self, genotype: Genotype) -> NetworkSize:
        """All edges of all cells."""
        total = NOTHING
        for kind in SPACES[genotype.space].kinds:
            for edges in genotype.cell(kind).nodes:
                for edge in edges:
                    total += self.of_edge(kind, edge.operation, edge_stride(kind, edge.source))
        return total

    def of_edge(self, kind: CellKind, operation: str, stride: int) -> NetworkSize:
        """Return what an operation costs in all cells of a kind, once a genotype has been sized."""
        edge = (kind, operation, stride)
        if edge not in self._edges:
            places = self._places(kind, stride)
            self._edges[edge] = sum((self._of_place(operation, p) for p in places), NOTHING)
        return self._edges[edge]

    def _of_place(self, operation: str, place: Place) -> NetworkSize:
        key = (operation, place)
        if key not in self._measured:
            channels, stride, size = place
            with torch.device("meta"):
                module = build_operation(operation, channels, stride, FINAL)
            self._measured[key] = _measured(module, (channels, *size))
        return self._measured[key]

    def _places(self, kind: CellKind, stride: int) -> Iterator[Place]:
        """Where an operation of a kind of cell stands, in each of these cells."""
        for cell_kind, channels, (height, width) in self._stack:
            if cell_kind is not kind:
                continue
            # Edges from nodes of a reduction cell see images that the others have halved.
            halved = kind is CellKind.REDUCTION and stride == 1
            size = ((height + 1) // 2, (width + 1) // 2) if halved else (height, width)
            yield channels, stride, size

    def _count(
        self, genotype: Genotype
    ) -> tuple[NetworkSize, tuple[tuple[CellKind, int, tuple[int, int]], ...]]:
        """The whole network; of each cell its kind, channels and the size of the maps that it takes."""
        with torch.device("meta"):
            model = build_network(genotype, self.spec.for_inference)
        seen: list[tuple[CellKind, int, tuple[int, int]]] = []

        def note(cell: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            kind = getattr(cell, "kind", CellKind.NORMAL)
            height, width = inputs[-1].shape[-2:]
            seen.append((kind, int(cell.channels), (height, width)))  # type: ignore[arg-type]

        for cell in model.modules():
            if isinstance(cell, Cell | BenchmarkCell):
                cell.register_forward_pre_hook(note)
        return _measured(model, self.image), tuple(seen)


def adds_up(space: str) -> bool:
    """Whether the networks of a space are known to be sums of their operations and a constant rest."""
    return SPACES[space].network in (CellNetwork, BenchmarkNetwork)


def _output(cell: CellGenotype) -> tuple[int, tuple[int, ...]]:
    """How many states a cell joins, and which of its inputs are among them."""
    return len(cell.concat), tuple(state for state in cell.concat if state < INPUTS)


def _measured(module: nn.Module, shape: tuple[int, int, int]) -> NetworkSize:
    return NetworkSize(count_parameters(module), count_macs(module, shape))
