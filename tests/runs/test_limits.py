"""Limits on what a network may cost: which are set, and what is beyond them."""

import pytest
import torch

from xnas import ConfigError, SampleConfig, TrainConfig
from xnas.engine.distributed import Ranks
from xnas.runs.limits import UNLIMITED, Limits, in_words, latency_device, require_one_process
from xnas.runs.options import LimitOptions


def test_only_limits_that_are_set_count():
    assert Limits.of(LimitOptions()).most == {}
    assert not LimitOptions(latency_batch=4).limited
    options = LimitOptions(max_params=10, max_latency=2.5)
    limits = Limits.of(options)
    assert options.limited
    assert limits.most == {"params": 10, "latency": 2.5}
    assert limits.words == "--max-params 10 and --max-latency 2.5"
    assert LimitOptions(**UNLIMITED) == LimitOptions()


def test_a_network_is_beyond_the_first_limit_that_it_breaks():
    limits = Limits({"params": 1000, "latency": 2.5})
    within = {"params": 1000, "macs": 7e9, "latency": 2.5}
    assert limits.beyond(within) is None
    assert limits.beyond(within | {"params": 1001}) == "1,001 parameters are above --max-params 1000"
    assert limits.beyond(within | {"latency": 2.51}) == "2.51 ms are above --max-latency 2.5"
    assert limits.used({"params": 500, "latency": 5.0}) == 2.0
    assert in_words("macs", 12345.0) == "12,345 multiply-accumulates"


@pytest.mark.parametrize("config", [SampleConfig, TrainConfig, LimitOptions])
@pytest.mark.parametrize("name", ["max_params", "max_macs", "max_latency"])
@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf")])
def test_a_limit_is_positive_and_finite(config, name, value):
    flag = f"--{name.replace('_', '-')}"
    with pytest.raises(ConfigError, match=rf"{flag} must be positive and finite, got"):
        config(**{name: value})


def test_a_batch_has_an_image():
    with pytest.raises(ConfigError, match=r"--latency-batch must be at least 1, got 0"):
        LimitOptions(latency_batch=0)


def test_a_device_for_latency_must_be_there():
    here = torch.device("cpu")
    assert latency_device(LimitOptions(), here) == here
    assert latency_device(LimitOptions(latency_device="cpu"), torch.device("cuda:1")) == here
    with pytest.raises(ConfigError, match=r"no such device: 'tpu'; use"):
        latency_device(LimitOptions(latency_device="tpu"), here)
    with pytest.raises(ConfigError, match=r"device cuda:9 is not there: .* use --latency-device cpu"):
        latency_device(LimitOptions(latency_device="cuda:9"), here)


def test_several_processes_do_not_measure_latency():
    several = Ranks(rank=0, size=2, local_rank=0, local_size=2)
    require_one_process(LimitOptions(max_params=3), several)
    with pytest.raises(
        ConfigError, match=r"measured by one process, and this run has 2; use --max-macs"
    ):
        require_one_process(LimitOptions(max_latency=3), several)
