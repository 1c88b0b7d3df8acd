"""What networks of cells cost: sums over operations, kept with the run."""

import json

import pytest
import torch
from searching import stripes

from xnas import ConfigError, TrainConfig
from xnas.errors import DamagedFileError
from xnas.records import Latency
from xnas.runs import cell_costs as job
from xnas.runs.cell_costs import CellCosts, Latencies, first_files, network_sizes, saved_times
from xnas.runs.limits import Limits
from xnas.space import NETWORKS, SPACES, Genotype
from xnas.space.benchmark_network import BENCHMARK
from xnas.space.network_size import NetworkSizes

CPU = torch.device("cpu")
SMALL = {
    "darts": (NETWORKS["cifar"].but(channels=2, cells=3), (3, 8, 8)),
    "nasbench201": (BENCHMARK.but(channels=2, cells=1), (3, 8, 8)),
}


def taken(milliseconds):
    return Latency(runtime="x", batch=1, milliseconds=milliseconds, lower=0.0, upper=0.0, runs=5)


@pytest.fixture
def counted(monkeypatch):
    """A machine on which time is the number of weights, and a network adds 7 of its own."""

    def weights(module):
        return sum(p.numel() for p in module.parameters())

    def steady(model, _, **__):
        edges = sum(weights(m) for name, m in model.named_modules() if is_edge(name))
        return taken(7.0 + edges)

    def is_edge(name):
        parts = name.split(".")
        return parts[0] == "cells" and parts[-2:-1] in (["edges"], ["operations"])

    monkeypatch.setattr(job, "measure_latency", lambda module, *_, **__: taken(float(weights(module))))
    monkeypatch.setattr(job, "steady_latency", steady)


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("space", SMALL)
def test_a_latency_is_the_sum_of_its_operations_and_the_rest(space):
    latencies = Latencies.measured(NetworkSizes(*SMALL[space]), space, CPU, 1)
    assert latencies.rest == pytest.approx(7.0)
    for seed in range(5):
        cell = Genotype.random(space, seed=seed)
        assert latencies.predicted(cell) == pytest.approx(latencies.whole(cell, below=0.0))


@pytest.mark.usefixtures("counted")
def test_a_run_keeps_what_it_measured(tmp_path):
    sizes = NetworkSizes(*SMALL["nasbench201"])
    made = Latencies.measured(sizes, "nasbench201", CPU, 1)
    files = first_files(CellCosts(sizes.size, made))
    (tmp_path / "latency.json").write_text(files["latency.json"])
    again = saved_times(tmp_path)(Latencies(sizes, CPU))
    cell = Genotype.random("nasbench201", seed=3)
    assert (again.times, again.rest) == (made.times, made.rest)
    assert again.predicted(cell) == made.predicted(cell)
    assert first_files(None) == first_files(CellCosts(sizes.size)) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot read .*latency.json"),
        (json.dumps({"format": "other"}), "is not what this version of xnas writes; restore it"),
        (json.dumps({"format": "xnas-latency", "version": 1, "times": []}), "latency.json is damaged"),
    ],
)
def test_damaged_times_are_refused(tmp_path, text, words):
    (tmp_path / "latency.json").write_text(text)
    with pytest.raises(DamagedFileError, match=words):
        saved_times(tmp_path)(Latencies(NetworkSizes(*SMALL["darts"]), CPU))


@pytest.mark.usefixtures("counted")
def test_costs_are_predicted_or_measured():
    sizes = NetworkSizes(*SMALL["nasbench201"])
    cell = Genotype.random("nasbench201", seed=1)
    plain = CellCosts(sizes.size)
    size = sizes.size(cell)
    assert plain.predicted(cell) == {"params": size.parameters, "macs": size.macs}
    assert plain.measured(cell, Limits({"params": 1.0})) == plain.predicted(cell)
    latencies = Latencies(sizes, CPU, 1, {}, rest=0.0)
    found = CellCosts(sizes.size, latencies).measured(cell, Limits({"latency": 1.0}))
    assert found["latency"] == latencies.whole(cell, below=1.0)


def test_spaces_whose_networks_do_not_add_up_have_no_latency(monkeypatch):
    monkeypatch.setattr(job, "adds_up", lambda _: False)
    with pytest.raises(ConfigError, match=r"the space darts cannot be predicted: .* use --max-macs"):
        Latencies.measured(NetworkSizes(*SMALL["darts"]), "darts", CPU, 1)


def test_sizes_are_those_of_the_network_that_is_trained():
    cell = Genotype.random("darts", seed=0)
    config = TrainConfig(cell=cell, cells=3, channels=2, device="cpu")
    sizes = network_sizes(config, cell, stripes())
    assert (sizes.spec.cells, sizes.spec.channels, sizes.image) == (3, 2, (1, 8, 8))
    assert len(SPACES["darts"].operations) == 7
