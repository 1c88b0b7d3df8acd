"""The strongest cell within limits, of the costs that its network really has."""

from dataclasses import dataclass, field, replace

import pytest
import torch

from xnas import ConfigError, Genotype
from xnas.engine.search import Standing
from xnas.runs.cell_costs import CellCosts
from xnas.runs.expert_costs import expert_costs
from xnas.runs.limited_cells import TRIES, LimitedCells
from xnas.runs.limits import Limits
from xnas.space import NETWORKS, SPACES
from xnas.space.benchmark_network import BENCHMARK
from xnas.space.network_size import NetworkSizes

BENCHMARK_SIZES = NetworkSizes(BENCHMARK.but(channels=2, cells=1), (3, 8, 8))
DARTS_SIZES = NetworkSizes(NETWORKS["cifar"].but(channels=4, cells=3), (3, 8, 8))
SKIPS = "|skip_connect~0|+|skip_connect~0|skip_connect~1|+|skip_connect~0|skip_connect~1|skip_connect~2|"


def cells_on(space="nasbench201", costs=None, **most):
    sizes = BENCHMARK_SIZES if space == "nasbench201" else DARTS_SIZES
    costs = costs or CellCosts(sizes.size)
    experts = expert_costs(SPACES[space], costs, sizes, list(most))
    return LimitedCells(Limits(most), costs, experts, "1 cell, 2 channels")


def standing_on(name, seed=0):
    space, draw = SPACES[name], torch.Generator().manual_seed(seed)
    shape = (len(space.edges), len(space.operations))
    sums = {str(kind): 3 * torch.randn(shape, generator=draw).double() for kind in space.kinds}
    alive = {kind: torch.ones(shape, dtype=torch.bool) for kind in sums}
    strengths = {kind: table.softmax(-1) for kind, table in sums.items()}
    return Standing(strengths=strengths, alive=alive, sums=sums, edge_costs=None)


@pytest.mark.parametrize("space", ["nasbench201", "darts"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 1.0])
def test_every_cell_obeys_and_a_looser_limit_never_weakens_it(space, share):
    sizes = BENCHMARK_SIZES if space == "nasbench201" else DARTS_SIZES
    free = cells_on(space, params=1e12, macs=1e12).experts
    params, macs = (free.least + share * (free.most - free.least)).tolist()
    cells = cells_on(space, params=params, macs=macs)
    for seed in range(3):
        found = cells.strongest(standing_on(space, seed))
        size = sizes.size(found.genotype)
        assert size.parameters <= params
        assert size.macs <= macs
        assert found.costs == {"params": size.parameters, "macs": size.macs}
        if share == 1.0:
            assert found.changed == 0
            assert "the cell is within --max-params" in cells.line(found)


def test_a_cell_beyond_a_limit_is_named_with_what_took_its_place():
    cells = cells_on(params=2300.0)
    found = cells.strongest(standing_on("nasbench201"))
    assert found.changed > 0
    line = cells.line(found)
    assert line.startswith("the strongest cell is not within the limits, as ")
    assert "parameters are above --max-params 2300; the strongest that is differs in" in line
    assert line.endswith(
        f"edge{'s' * (found.changed > 1)} and has {found.costs['params']:,.0f} parameters"
    )


def test_limits_that_no_cell_obeys_are_refused_with_the_least_costs():
    least = BENCHMARK_SIZES.size(Genotype.from_arch(SKIPS)).parameters
    assert cells_on(params=float(least)).strongest(standing_on("nasbench201")).costs["params"] == least
    with pytest.raises(ConfigError) as caught:
        cells_on(params=least - 1.0)
    assert str(caught.value) == (
        f"no cell of the space nasbench201 is within --max-params {least - 1}: in the network that xnas "
        f"train builds by default (1 cell, 2 channels) the least that one can have is {least:,} "
        "parameters; raise --max-params, or give it to xnas train alone, which takes fewer channels"
    )


@dataclass(frozen=True)
class Slow(CellCosts):
    """Networks that take as many milliseconds as they have weights, and `factor` times that in truth."""

    factor: float = 1.0
    measured_ones: list[Genotype] = field(default_factory=list)

    def predicted(self, genotype):
        found = super().predicted(genotype)
        return found | {"latency": found["params"]}

    def measured(self, genotype, _):
        self.measured_ones.append(genotype)
        found = self.predicted(genotype)
        return found | {"latency": self.factor * found["latency"]}


def timed_cells(factor, most):
    sizes = BENCHMARK_SIZES
    costs = Slow(sizes.size, factor=factor)
    experts = expert_costs(SPACES["nasbench201"], CellCosts(sizes.size), sizes, ["params"])
    by_latency = replace(experts, resources=("latency",))
    return LimitedCells(Limits({"latency": most}), costs, by_latency, "1 cell"), costs


def test_a_network_that_is_measured_to_be_too_slow_makes_room_for_a_faster_one():
    cells, costs = timed_cells(1.2, 3000.0)
    standing = standing_on("nasbench201")
    predicted, measured = cells.strongest(standing), cells.strongest(standing, measured=True)
    assert predicted.costs["latency"] <= 3000.0
    assert measured.costs["latency"] <= 3000.0
    assert measured.costs["latency"] == pytest.approx(1.2 * measured.costs["params"])
    assert len(costs.measured_ones) <= TRIES + 1


def test_the_smallest_cell_ends_the_measurements_and_its_fault_is_said():
    cells, _ = timed_cells(100.0, 3000.0)
    found = cells.strongest(standing_on("nasbench201"), measured=True)
    assert found.genotype.arch == SKIPS
    assert cells.line(found).startswith("no network was measured to be within --max-latency 3000; the ")
