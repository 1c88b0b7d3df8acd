"""How wide a network may be within limits; `test_train_plan` has the counts."""

import pytest
import torch

from xnas import ConfigError
from xnas.records import Latency
from xnas.runs import channels as job
from xnas.runs.channels import channels_within
from xnas.runs.train_config import TrainConfig
from xnas.space import NETWORKS, find_genotype

SPEC = NETWORKS["cifar"].but(channels=8, cells=3)


def within(**options):
    config = TrainConfig(cell="xnas", **options)
    cpu = torch.device("cpu")
    return channels_within(config, SPEC, find_genotype("xnas"), (3, 8, 8), cpu)


@pytest.fixture
def slow(monkeypatch):
    """Networks that take half a millisecond per channel and image."""
    seen = []

    def steady_latency(model, shape, *, batch, device, below):
        seen.append((model.spec.channels, shape, str(device), below))
        milliseconds = model.spec.channels * batch / 2
        return Latency(runtime="x", batch=batch, milliseconds=milliseconds, lower=0.0, upper=9.0, runs=5)

    monkeypatch.setattr(job, "steady_latency", steady_latency)
    return seen


def test_latency_picks_the_most_channels_that_keep_it(slow):
    assert within(max_latency=4.4) == (8, "8 channels, the most within the limits")
    assert within(max_latency=4.4, latency_batch=2)[0] == 4
    assert {(shape, device, below) for _, shape, device, below in slow} == {((3, 8, 8), "cpu", 4.4)}


def test_counts_are_compared_before_anything_is_timed(slow):
    few = within(max_params=10_000)[0]
    assert within(max_params=10_000, max_latency=100.0)[0] == few
    assert max(channels for channels, *_ in slow) == few


@pytest.mark.usefixtures("slow")
def test_channels_that_were_given_are_kept_or_refused():
    assert within(channels=7, max_latency=3.5) == (7, "")
    with pytest.raises(
        ConfigError,
        match=r"with 9 channels 4\.5 ms are above --max-latency 4\.4; 8 channels would fit: leave --ch",
    ):
        within(channels=9, max_latency=4.4)
    with pytest.raises(
        ConfigError, match=r"with 9 channels .* above --max-params 100; raise the limit$"
    ):
        within(channels=9, max_params=100)


@pytest.mark.usefixtures("slow")
def test_a_latency_that_no_width_keeps_is_refused_with_the_least():
    with pytest.raises(ConfigError, match=r"is within --max-latency 0.5: with 2 channels it is 1 ms; "):
        within(max_latency=0.5)


def test_measuring_leaves_the_random_numbers_alone():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    within(channels=2, max_latency=1e6)
    assert torch.equal(torch.rand(1), expected)
