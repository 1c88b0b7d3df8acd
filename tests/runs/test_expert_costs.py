"""Costs of experts add up to those of the networks of their cells."""

from itertools import product

import pytest
import torch

from xnas import Genotype
from xnas.runs.cell_costs import CellCosts, Latencies
from xnas.runs.expert_costs import expert_costs
from xnas.space import NETWORKS, SPACES, SearchSpace
from xnas.space.benchmark_network import BENCHMARK
from xnas.space.network import CellNetwork
from xnas.space.network_size import NetworkSizes

SPECS = {"darts": NETWORKS["cifar"].but(channels=2, cells=5), "nasbench201": BENCHMARK.but(channels=2)}


def costs_on(name, *, resources=("params", "macs"), latencies=None, with_none=False):
    space = SPACES[name].with_none() if with_none else SPACES[name]
    sizes = NetworkSizes(SPECS[name], (3, 16, 16))
    costs = CellCosts(sizes.size, latencies(sizes) if latencies else None)
    return expert_costs(space, costs, sizes, list(resources)), costs


def picks_of(genotype, space):
    return [
        (str(kind), space.edges.index((edge.source, node)), space.operations.index(edge.operation))
        for kind in space.kinds
        for node, edges in enumerate(genotype.cell(kind).nodes, start=space.inputs)
        for edge in edges
    ]


def timed(sizes):
    """Operations take as many milliseconds as their place has channels, skips none."""
    made = Latencies(sizes, torch.device("cpu"), 1, rest=3.0)
    space = SPACES["darts"]
    for operation in space.operations:
        for place in made._all_places(Genotype.random("darts", seed=0)):
            channels, stride, (height, width) = place
            name = f"{operation}/{channels}/{stride}/{height}x{width}"
            made.times[name] = 0.0 if operation == "skip_connect" else float(channels * stride)
    return made


@pytest.mark.parametrize("with_none", [False, True])
@pytest.mark.parametrize("name", SPECS)
def test_they_add_up_to_the_network(name, with_none):
    experts, costs = costs_on(name, with_none=with_none)
    for seed in range(5):
        cell = Genotype.random(name, seed=seed)
        assert experts.total(picks_of(cell, experts.space)) == costs.predicted(cell)


def test_latencies_add_up_as_they_are_predicted():
    experts, costs = costs_on("darts", resources=["latency", "params"], latencies=timed)
    cell = Genotype.random("darts", seed=7)
    found = experts.total(picks_of(cell, experts.space))
    assert [*found] == ["latency", "params"]
    assert found["latency"] == pytest.approx(costs.predicted(cell)["latency"])


def test_least_and_most_are_those_of_all_cells():
    experts, _ = costs_on("nasbench201", with_none=True)
    every = [
        experts.total([("normal", row, column) for row, column in enumerate(columns)])
        for columns in product(range(1, 5), repeat=6)  # without none
    ]
    for index, name in enumerate(experts.resources):
        assert experts.least[index] == min(found[name] for found in every)
        assert experts.most[index] == max(found[name] for found in every)


def test_the_largest_difference_on_an_edge_is_the_unit_of_prices():
    experts, _ = costs_on("darts")
    by_hand = [
        max(
            (max(edge) - min(edge))
            for table in experts.each.values()
            for edge in table[..., index].tolist()
        )
        for index in range(2)
    ]
    assert experts.spreads.tolist() == by_hand


def test_networks_that_are_no_known_sums_are_compared_whole(monkeypatch):
    class Own(CellNetwork):
        """Another class, whose costs may be anything."""

    space = SearchSpace("own", ("max_pool_3x3", "skip_connect", "sep_conv_3x3"), nodes=2, network=Own)
    monkeypatch.setitem(SPACES._entries, "own", space)
    sizes = NetworkSizes(SPECS["darts"].but(cells=3), (3, 8, 8))
    costs = CellCosts(sizes.size)
    experts = expert_costs(space.with_none(), costs, sizes, ["params", "macs"])
    for seed in range(3):  # pooling, the plain operation, costs nothing anywhere: sums are exact
        cell = Genotype.random("own", seed=seed)
        assert experts.total(picks_of(cell, experts.space)) == costs.predicted(cell)
    none, each = experts.space.operations.index("none"), experts.each["reduction"]
    assert torch.equal(each[:, none], each[:, 1:].amin(1))
