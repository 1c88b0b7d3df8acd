"""Limits of parameters and multiply-accumulates on the cells of a search."""

from random import Random

import pytest
import torch
from sampling_games import planted, play

from xnas.errors import ConfigError
from xnas.runs.cell_costs import CellCosts, Latencies
from xnas.runs.limits import Limits
from xnas.runs.options import LimitOptions
from xnas.runs.sampling.cell_limits import CellLimits
from xnas.runs.sampling.config import SampleConfig
from xnas.samplers import SAMPLERS
from xnas.space import NETWORKS, SPACES, CellKind, Genotype, encoding_of
from xnas.space.benchmark_network import BENCHMARK
from xnas.space.network_size import NetworkSizes

QUICK = {"start": 10, "round": 10, "candidates": 20, "members": 2, "fit_epochs": 4}
SPEC = NETWORKS["cifar"].but(channels=4, cells=3)


SIZES = NetworkSizes(SPEC, (3, 32, 32))


class Sized:
    """An evaluator as far as limits see it."""

    size = SIZES.size


def limited(**most):
    return CellLimits(CellCosts(SIZES.size), Limits.of(LimitOptions(**most)))


SETTINGS = {
    "evolution": {"population": 8, "sample": 3},
    "bananas": QUICK,
    "npenas": QUICK,
    "proxy": {"proxy": "params", "pool": 40, "batch": 2},
    "latent": {"evaluations": 30, "epochs": 5, "hidden": 8, "embedding": 8},
    "controller": {"minibatch": 5, "hidden": 16},
    "bohb": {"startup": 5, "max_epochs": 3},
    "halving": {"max_epochs": 3},
}
"""With which a sampler passes its phases within 30 evaluations, in a second."""
SECONDS = {"halving", "latent", "npenas", "progressive"}
"""Samplers that take long, or whose lines others cover."""


@pytest.mark.parametrize(
    ("name", "more"),
    [
        *(
            pytest.param(name, {}, id=name, marks=[pytest.mark.slow] * (name in SECONDS))
            for name in SAMPLERS
        ),
        pytest.param("controller", {"controller": "logits"}, id="logits"),
    ],
)
@pytest.mark.parametrize("most", [8000, pytest.param(4000, id="tight", marks=pytest.mark.slow)])
def test_no_sampler_asks_a_cell_beyond_them(name, more, most):
    if name in {"tpe", "halving", "bohb"}:
        pytest.importorskip("optuna")
    limits, free = limited(max_params=most, max_macs=2e6), encoding_of("darts")
    drawn = [free.decode(free.draw(Random(seed))) for seed in range(20)]
    assert any(limits.beyond(cell) for cell in drawn)
    sampler = SAMPLERS[name](limits.applied(free), 0, SETTINGS.get(name, {}) | more)
    asked = [trial.genotype for trial, _ in play(sampler, planted, 30)]
    assert len(set(asked)) > 8
    assert not any(map(limits.beyond, asked))


def test_limits_that_nothing_obeys_are_refused_with_the_least_costs():
    least = SIZES.size(encoding_of("darts").decode([0] * 24))
    with pytest.raises(
        ConfigError, match=rf"the least that one can have is {least.parameters:,} param.*; raise --max"
    ):
        limited(max_params=least.parameters - 1).applied(encoding_of("darts"))
    assert limited(max_params=least.parameters).applied(encoding_of("darts"))


@pytest.mark.parametrize(
    ("evaluator", "end"),
    [
        ("train", "raise --max-params, or use fewer --channels or --cells"),
        ("surrogate", "raise --max-params"),
    ],
)
def test_smaller_networks_are_advised_where_there_are_some(evaluator, end):
    limits = CellLimits.of(SampleConfig(evaluator=evaluator, max_params=1.0), Sized())
    with pytest.raises(ConfigError, match=rf"; {end}$"):
        limits.applied(encoding_of("darts"))


def test_the_fault_is_named():
    cell = encoding_of("darts").decode([0] * 24)
    assert limited(max_params=10).beyond(cell).endswith("parameters are above --max-params 10")
    fault = limited(max_macs=1e5).beyond(cell)
    assert fault.endswith("multiply-accumulates are above --max-macs 100000")
    assert limited().beyond(cell) is None
    assert limited().applied(encoding_of("darts")).space == "darts"


@pytest.mark.parametrize("evaluator", ["table", "surrogate"])
def test_latency_is_refused_for_evaluators_without_networks(evaluator):
    with pytest.raises(ConfigError, match=rf"the evaluator {evaluator} has no network whose --max-la"):
        CellLimits.of(SampleConfig(evaluator=evaluator, max_latency=1.0), Sized())


def test_cells_of_too_long_a_latency_are_not_drawn():
    encoding = encoding_of("nasbench201")
    sizes = NetworkSizes(BENCHMARK.but(channels=2, cells=1), (3, 8, 8))
    places = sizes.places(encoding.decode([0] * 6), CellKind.NORMAL, 0)
    each = {"nor_conv_3x3": 3.0, "nor_conv_1x1": 1.0}
    times = {
        f"{name}/{channels}/{stride}/{size[0]}x{size[1]}": each.get(name, 0.0)
        for name in (*SPACES["nasbench201"].operations, "none")
        for channels, stride, size in places
    }
    latencies = Latencies(sizes, torch.device("cpu"), 1, times, rest=2.0)
    limits = CellLimits(CellCosts(sizes.size, latencies), Limits({"latency": 20.0}))
    within = limits.applied(encoding)
    for seed in range(20):
        cell = within.decode(within.draw(Random(seed)))
        operations = [edge.operation for edges in cell.normal.nodes for edge in edges]
        assert sum(3 * each.get(name, 0.0) for name in operations) + 2.0 <= 20.0
    every = Genotype.from_arch(
        "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|nor_conv_3x3~2|"
    )
    assert limits.beyond(every) == "56 ms are above --max-latency 20"
