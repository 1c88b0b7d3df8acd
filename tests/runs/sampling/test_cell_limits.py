"""Limits of parameters and multiply-accumulates on the cells of a search."""

from random import Random

import pytest
from sampling_games import planted, play

from xnas.errors import ConfigError
from xnas.runs.sampling.cell_limits import CellLimits
from xnas.runs.sampling.sample import SampleConfig
from xnas.samplers import SAMPLERS
from xnas.space import NETWORKS, encoding_of
from xnas.space.network_size import NetworkSizes

SPEC = NETWORKS["cifar"].but(channels=4, cells=3)


class Sized:
    """An evaluator as far as limits see it."""

    def __init__(self):
        self.size = NetworkSizes(SPEC, (3, 32, 32)).size


@pytest.mark.parametrize("name", ["random", "evolution", "local"])
def test_no_sampler_asks_a_cell_beyond_them(name):
    limits, free = CellLimits(Sized(), max_params=8000, max_macs=2e6), encoding_of("darts")
    drawn = [free.decode(free.draw(Random(seed))) for seed in range(20)]
    assert any(limits.beyond(cell) for cell in drawn)
    settings = {"population": 8, "sample": 3} if name == "evolution" else {}
    sampler = SAMPLERS[name](limits.applied(free), 0, settings)
    asked = [trial.genotype for trial, _ in play(sampler, planted, 30)]
    assert len(set(asked)) > 20
    assert not any(map(limits.beyond, asked))


def test_limits_that_nothing_obeys_are_refused_with_the_smallest_sizes():
    least = Sized().size(encoding_of("darts").decode([0] * 24))
    with pytest.raises(
        ConfigError, match=rf"smallest network has {least.parameters:,} param.* raise --max"
    ):
        CellLimits(Sized(), max_params=least.parameters - 1).applied(encoding_of("darts"))
    assert CellLimits(Sized(), max_params=least.parameters).applied(encoding_of("darts"))


@pytest.mark.parametrize(
    ("evaluator", "end"),
    [
        ("train", "raise --max-params or --max-macs, or use fewer --channels or --cells"),
        ("surrogate", "raise --max-params or --max-macs"),
    ],
)
def test_smaller_networks_are_advised_where_there_are_some(evaluator, end):
    limits = CellLimits.of(SampleConfig(evaluator=evaluator, max_params=1.0), Sized())
    with pytest.raises(ConfigError, match=f"; {end}$"):
        limits.applied(encoding_of("darts"))


def test_the_fault_is_named():
    cell = encoding_of("darts").decode([0] * 24)
    limits = CellLimits(Sized(), max_params=10)
    assert limits.beyond(cell).endswith("parameters are above --max-params 10")
    limits = CellLimits(Sized(), max_macs=1e5)
    assert limits.beyond(cell).endswith("multiply-accumulates are above --max-macs 100000")
    none = CellLimits(Sized())
    assert none.beyond(cell) is None
    assert none.applied(encoding_of("darts")).space == "darts"
