"""NAS-Bench-201's search cells in few kernels: all experts that read a state are computed together.

On a GPU the plain cells wait for launches, not for arithmetic, so kernels are what is saved here:

- The convolutions that read a state are one: 1x1 kernels are laid into the middle of 3x3 ones. That is
  nine times their arithmetic and still cheaper than a second convolution, a copy that joins the two and
  the same in the backward pass; and one pass over its output then serves the batch norms of all.
- Batch norm, pool and skip of all edges that read a state are added to the nodes with their mixture
  weights in one kernel, and their inner products, the negative rewards, come out of another.
  `none` is nothing, and neither is its reward.
- Mixture weights and kernels of all cells are laid out together, before the first cell.

`benchmark_passes` has the cell itself, forward and backward. Where only 1/K of the channels of a state
pass the experts, these are computed state by state, and plain PyTorch lets the others go by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.kernels.fan_out import Routes
from xnas.nn import Forecaster
from xnas.nn.operations import PlainConvolution
from xnas.nn.partial import PartialForecaster, split_weights
from xnas.space.benchmark_passes import POINTWISE, SQUARE, CellPass, KernelPass, Setting, StatePass
from xnas.space.cell_genotype import NONE
from xnas.space.packing import pack, pack_buffers
from xnas.space.spaces import SearchSpace

SKIP, POOL = "skip_connect", "avg_pool_3x3"
CONVOLUTIONS = (POINTWISE, SQUARE)
KNOWN = (NONE, SKIP, POOL, *CONVOLUTIONS)
LINES = (POOL, SKIP)  # in the order of their weights


@dataclass(frozen=True, slots=True)
class FanOut:
    """The experts that read one state, for the nodes after it."""

    edges: tuple[int, ...]
    """To each later node."""
    convolutions: tuple[tuple[int, str], ...]
    """Edge and name, by edge."""
    lines: tuple[tuple[int, str], ...]
    """Edge and name of pools and skip connections."""

    def routes(self, device: torch.device) -> Routes:
        """The same as a table."""
        places = torch.full((len(self.edges), len(CONVOLUTIONS)), -1, dtype=torch.int32)
        for slot, (edge, name) in enumerate(self.convolutions):
            places[self.edges.index(edge), CONVOLUTIONS.index(name)] = slot
        pooled = any(name == POOL for _, name in self.lines)
        return Routes(places.to(device), len(self.convolutions), pooled)


Plan = tuple[FanOut, ...]


def plan_of(space: SearchSpace, forecasters: Sequence[Forecaster]) -> Plan:
    """The experts that are alive, by the state that they read."""
    for forecaster in forecasters:
        for name in forecaster.experts:
            if name not in KNOWN:
                raise ConfigError(
                    f"the fused backend does not know the operation {name!r}, only {', '.join(KNOWN)}; "
                    "use the reference backend"
                )
    plan = []
    for state in range(space.nodes):
        edges = tuple(edge for edge, (source, _) in enumerate(space.edges) if source == state)
        convolutions, lines = (
            tuple((edge, name) for edge in edges for name in names if name in forecasters[edge].experts)
            for names in (CONVOLUTIONS, LINES)
        )
        plan.append(FanOut(edges, convolutions, lines))
    return tuple(plan)


class FusedStage:
    """The packed weights and statistics of cells of one width."""

    def __init__(self, plan: Plan, cells: Sequence[Sequence[Forecaster]], channels: int) -> None:
        self.plan, self.channels = plan, channels
        slots = [(f, edge, name) for f in cells for d in plan for edge, name in d.convolutions]
        experts = [_convolution(f[edge].experts[name]) for f, edge, name in slots]
        self.norms = [expert.norm for expert in experts]
        kernels: dict[str, list[nn.Parameter]] = {name: [] for name in CONVOLUTIONS}
        for (_, _, name), expert in zip(slots, experts, strict=True):
            kernels[name].append(expert.convolution.get_parameter("weight"))
        self.square = self.pointwise = None
        if kernels[SQUARE]:
            self.square = pack(
                kernels[SQUARE],
                packed=lambda p: p.permute(0, 2, 3, 1).contiguous(),  # channels last
                unpacked=lambda slot: slot.permute(0, 3, 1, 2),
            )
        if kernels[POINTWISE]:
            self.pointwise = pack(
                kernels[POINTWISE],
                packed=lambda p: p[:, :, 0, 0].contiguous(),
                unpacked=lambda slot: slot[:, :, None, None],
            )
        device = next((p.device for p in self.packed), None)
        self.places = {
            wanted: torch.tensor(
                [i for i, (_, _, name) in enumerate(slots) if name == wanted], device=device
            )
            for wanted in CONVOLUTIONS
        }
        self.slots = [len(d.convolutions) for _ in cells for d in plan]
        self.mean, self.variance = [
            pack_buffers(self.norms, name).split_with_sizes(self.slots)
            if self.norms
            else [torch.empty(0)] * len(self.slots)
            for name in ("running_mean", "running_var")
        ]

    @property
    def packed(self) -> list[Tensor]:
        """Leaves that stand for the weights of convolutions."""
        return [leaf for leaf in (self.square, self.pointwise) if leaf is not None]

    def kernels(self, dtype: torch.dtype) -> list[Tensor | None]:
        """For each cell and state the weight of its one convolution."""
        if not self.packed:
            return [None] * len(self.slots)
        together = KernelPass.apply(self.square, self.pointwise, self.places, len(self.norms), dtype)
        sizes = [slots * self.channels for slots in self.slots]
        return [kernel if len(kernel) else None for kernel in together.split_with_sizes(sizes)]


class FusedCells:
    """All cells of a supernet. Holds no module: parameters stay where they are."""

    def __init__(self, space: SearchSpace, stages: Sequence[Sequence[Sequence[Forecaster]]]) -> None:
        """`stages` are the forecasters of each cell, cell by cell, stage by stage."""
        self.plan = plan_of(space, stages[0][0])
        self.stages = [FusedStage(self.plan, cells, _width(cells)) for cells in stages]
        norms = [norm for stage in self.stages for norm in stage.norms]
        self.cells_a_stage = len(stages[0])
        first = stages[0][0][0]
        self.groups = first.parts if isinstance(first, PartialForecaster) else 1
        self.experts = len(space.operations)
        self.tracked = pack_buffers(norms, "num_batches_tracked") if norms else None
        self._lay_out(space)

    @property
    def packed(self) -> list[Tensor]:
        """Leaves that stand for parameters in backward."""
        return [leaf for stage in self.stages for leaf in stage.packed]

    @property
    def empty(self) -> bool:
        """Whether no edge has anything but `none`."""
        return not any(d.convolutions or d.lines for d in self.plan)

    def begin(self, mixtures: Tensor, *, training: bool, dtype: torch.dtype) -> Forward:
        """A pass through the cells, with `mixtures` (cells, edges, experts)."""
        if training and self.tracked is not None:
            self.tracked.add_(1)
        form = Forward if self.groups == 1 else PartialForward
        return form(self, mixtures, training=training, dtype=dtype)

    def _lay_out(self, space: SearchSpace) -> None:
        """Which entries of a cell's mixture are its weights, in the order `Routes` gives them."""
        columns = {name: i for i, name in enumerate(space.operations)}
        used, alive = list[int](), list[float]()
        for d in self.plan:
            lines = [(edge, name) for edge in d.edges for name in LINES]
            used += [
                edge * len(columns) + columns.get(name, 0) for edge, name in (*d.convolutions, *lines)
            ]
            alive += [1.0] * len(d.convolutions) + [float(one in d.lines) for one in lines]
        self.used, self.alive = torch.tensor(used), torch.tensor(alive)
        self.all_alive = all(alive)
        self.routes = tuple(d.routes(self.used.device) for d in self.plan)

    def to(self, device: torch.device) -> FusedCells:
        """Put the tables where the mixtures are."""
        self.used, self.alive = self.used.to(device), self.alive.to(device)
        self.routes = tuple(d.routes(device) for d in self.plan)
        return self


class Forward:
    """One pass: the mixture weights and kernels of all cells, handed out cell by cell."""

    def __init__(
        self, cells: FusedCells, mixtures: Tensor, *, training: bool, dtype: torch.dtype
    ) -> None:
        """All cells at once, as each small kernel costs as much here as there."""
        self.cells, self.training, self.dtype, self.number = cells, training, dtype, 0
        exact = torch.promote_types(dtype, torch.float32)
        weights = mixtures.to(exact).flatten(1).index_select(1, cells.used)
        self.weights = (weights if cells.all_alive else weights * cells.alive.to(exact)).unbind(0)
        self.kernels = [kernel for stage in cells.stages for kernel in stage.kernels(dtype)]
        self.running = [
            one for stage in cells.stages for one in zip(stage.mean, stage.variance, strict=True)
        ]
        self.rectified: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """The output of the next cell for images (batch, channels, height, width)."""
        cells, (weights, running, kernels) = self.cells, self._next()
        followed = self.number % cells.cells_a_stage > 0 and bool(cells.plan[0].convolutions)
        setting = Setting(cells.routes, running, self.training, rectify=followed)
        x = x.to(self.dtype).contiguous(memory_format=torch.channels_last)
        out: Tensor
        out, self.rectified = CellPass.apply(setting, x, self.rectified, weights, *kernels)
        return out

    def _next(self) -> tuple[Tensor, list[tuple[Tensor, Tensor]], list[Tensor | None]]:
        """Weights, statistics and kernels of the next cell."""
        number, states = self.number, len(self.cells.plan)
        self.number += 1
        mine = slice(number * states, (number + 1) * states)
        return self.weights[number], self.running[mine], self.kernels[mine]


class PartialForward(Forward):
    """The same where the first channels of a state pass the experts and the others go by."""

    def __init__(
        self, cells: FusedCells, mixtures: Tensor, *, training: bool, dtype: torch.dtype
    ) -> None:
        """The bypass weighs as much as all experts of its edge together, or as one more column says."""
        mixtures, passing = split_weights(mixtures, cells.experts)
        super().__init__(cells, mixtures, training=training, dtype=dtype)
        self.passing = passing.to(dtype).unbind(0)

    def __call__(self, x: Tensor) -> Tensor:
        """The output of the next cell for images (batch, channels, height, width)."""
        cells, passing = self.cells, self.passing[self.number].unbind()
        weights, running, kernels = self._next()
        setting = Setting(cells.routes, running, self.training, rectify=False)
        rows = weights.split_with_sizes([route.width for route in cells.routes])
        searched = x.shape[1] // cells.groups
        state = x.to(self.dtype).permute(0, 2, 3, 1)
        nodes: list[list[Tensor]] = [[] for _ in cells.plan]  # what is said to each
        beside: list[list[Tensor]] = [[] for _ in cells.plan]  # and what goes by
        for number, fan in enumerate(cells.plan):
            first, rest = state[..., :searched].contiguous(), state[..., searched:]
            said = StatePass.apply(setting, number, first, rows[number], kernels[number])
            for node, (edge, advice) in enumerate(zip(fan.edges, said.unbind(), strict=True), number):
                nodes[node].append(advice)
                beside[node].append(passing[edge] * rest)
            state = self._joined(reduce(torch.add, nodes[number]), reduce(torch.add, beside[number]))
        return state.permute(0, 3, 1, 2)

    def _joined(self, mixed: Tensor, rest: Tensor) -> Tensor:
        """`nn.partial.shuffled` of both for channels that come last: one of each group in turn."""
        others = rest.reshape(*rest.shape[:-1], self.cells.groups - 1, mixed.shape[-1])
        return torch.cat([mixed.unsqueeze(-1), others.transpose(-1, -2)], dim=-1).flatten(-2)


def _convolution(expert: nn.Module) -> PlainConvolution:
    assert isinstance(expert, PlainConvolution)  # noqa: S101 - for the type checker
    return expert


def _width(cells: Sequence[Sequence[Forecaster]]) -> int:
    norms = (m for forecasters in cells for f in forecasters for m in f.modules())
    return next((m.num_features for m in norms if isinstance(m, nn.BatchNorm2d)), 0)
