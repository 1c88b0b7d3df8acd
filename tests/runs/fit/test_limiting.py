"""Limits of a fit: faults of networks, and sizes at which networks obey."""

import pytest
from fitting import pictures

from xnas import ConfigError, FitConfig, Genotype, count_macs, count_parameters, create_model
from xnas.records import Latency
from xnas.runs.fit import limiting
from xnas.runs.fit.fit import fit
from xnas.runs.fit.limiting import MOST_TIMED, FitLimits
from xnas.runs.fit.probing import REFERENCES
from xnas.space import build_network, find_architecture

XNAS = find_architecture("xnas")
SMALL = ((1, 2), (1, 4))
SIZE = {"cells": 3, "channels": 4}


def limits(**most):
    return FitLimits(FitConfig(device="cpu", **most), pictures())


def costs(channels=4):
    model = create_model("xnas", num_classes=2, in_chans=1, cells=3, channels=channels)
    return count_parameters(model), count_macs(model, (1, 8, 8))


def test_a_network_beyond_a_limit_is_named_with_what_it_has():
    parameters, macs = costs()
    assert limits().fault(XNAS, **SIZE) is None
    assert limits(max_params=parameters, max_macs=macs).fault(XNAS, **SIZE) is None
    fault = limits(max_params=parameters - 1).fault(XNAS, **SIZE)
    assert fault == f"{parameters:,} parameters are above --max-params {parameters - 1}"
    assert "multiply-accumulates are above --max-macs" in limits(max_macs=macs - 1).fault(XNAS, **SIZE)


def test_a_residual_network_has_its_usual_size_unless_channels_are_given():
    resnet = find_architecture("resnet-8")
    within = limits(max_params=20_000)
    assert "77," in within.fault(resnet)
    assert within.fault(resnet, channels=8) is None


def test_latency_is_measured_where_it_is_limited(monkeypatch):
    asked = []

    def steady(_model, shape, *, batch, device, below):
        asked.append((shape, batch, str(device), below))
        return Latency(runtime="PyTorch", batch=batch, milliseconds=3.0, lower=3.0, upper=3.0, runs=5)

    monkeypatch.setattr(limiting, "steady_latency", steady)
    assert limits(max_latency=3.0, latency_batch=4).fault(XNAS, **SIZE) is None
    assert asked == [((1, 8, 8), 4, "cpu", 3.0)]
    assert limits(max_latency=2.0).fault(XNAS, **SIZE) == "3 ms are above --max-latency 2"
    assert limits(max_latency=2.0, max_params=1).fault(XNAS, **SIZE).endswith("--max-params 1")
    assert len(asked) == 2  # what is beyond a count is not timed
    reference = find_architecture(REFERENCES["nasbench201"])
    assert limits(max_latency=4.0).cell_sizes("nasbench201", SMALL, reference) == SMALL
    assert limits(max_latency=2.0).cell_sizes("nasbench201", SMALL, reference) == SMALL[:1]  # perhaps


def test_sizes_are_those_at_which_an_ordinary_cell_obeys():
    reference = find_architecture(REFERENCES["nasbench201"])
    assert limits(max_params=1e9).cell_sizes("nasbench201", SMALL, reference) == SMALL
    assert limits(max_params=6_000).cell_sizes("nasbench201", SMALL, reference) == SMALL[:1]
    within = [
        limits(max_params=6_000).fault(Genotype.random("nasbench201", seed), cells=1, channels=channels)
        is None
        for channels in (2, 4)
        for seed in range(20)
    ]
    assert sum(within[:20]) > 10 > sum(within[20:])


def test_without_a_size_for_ordinary_cells_one_is_taken_that_some_cell_obeys_at():
    reference = find_architecture(REFERENCES["nasbench201"])
    least = min(
        count_parameters(build_network(cell, limits().spec(cell, cells=1, channels=2)))
        for cell in (Genotype.random("nasbench201", seed) for seed in range(100))
    )
    assert limits(max_params=least).cell_sizes("nasbench201", SMALL, reference) == SMALL[:1]
    with pytest.raises(
        ConfigError,
        match=rf"no network of nasbench201 is within --max-params {least - 1}: the smallest that is "
        rf"planned has {least:,} parameters; raise the limit",
    ):
        limits(max_params=least - 1).cell_sizes("nasbench201", SMALL, reference)


def test_a_network_that_obeys_at_no_size_is_refused():
    with pytest.raises(ConfigError, match=r"no network that is planned is within the limits: .*raise"):
        limits(max_params=100).sizes(XNAS, [(3, 4), (5, 4)])


def test_sizes_of_one_network_are_those_at_which_it_obeys():
    parameters, _ = costs()
    assert limits(max_params=parameters).sizes(XNAS, [(3, 4), (5, 16)]) == ((3, 4),)


def test_a_fit_within_impossible_limits_is_refused_in_a_line(tmp_path):
    with pytest.raises(ConfigError, match="raise the limit") as info:
        fit(pictures(), minutes=1, max_params=10, out=tmp_path / "run", device="cpu", quiet=True)
    assert "\n" not in str(info.value)
    assert not (tmp_path / "run").exists()


def test_many_cells_are_sized_and_few_are_timed(monkeypatch):
    parameters, _ = costs()
    obeys = limits(max_params=parameters).obeying(XNAS, **SIZE)
    drawn = [Genotype.random("darts", seed) for seed in range(20)]
    sizes = [count_parameters(create_model(one, num_classes=2, in_chans=1, **SIZE)) for one in drawn]
    assert [obeys(one) for one in drawn] == [size <= parameters for size in sizes]
    assert all(map(limits().obeying(XNAS, **SIZE), drawn))
    timed = []
    monkeypatch.setattr(FitLimits, "fault", lambda _, cell, **__: timed.append(cell))
    slow = limits(max_latency=1.0).obeying(XNAS, **SIZE)
    assert [slow(one) for one in drawn] == [True] * MOST_TIMED + [False] * (20 - MOST_TIMED)
    assert timed == drawn[:MOST_TIMED]
