"""What a training step costs: measured on this machine, printed as a table."""

import pytest
import torch

from xnas import ConfigError
from xnas.bench.options import BenchTrainConfig
from xnas.bench.train import CASES, ON_CPU, WITHOUT_KERNELS, measure_case, training_of
from xnas.report.tables import train_cost_table

SMALL = BenchTrainConfig(cells=3, channels=2, batch_size=4, image_size=8, steps=5, device="cpu")


def test_plain_steps_are_timed_and_reported():
    costs = [measure_case(case, SMALL) for case in ON_CPU]
    assert [cost.case for cost in costs] == list(ON_CPU)
    assert all(cost.milliseconds > 0 and cost.device == "CPU" for cost in costs)
    header, _, first, _ = [*train_cost_table(costs).splitlines()]
    assert header == "CPU"
    assert first.startswith("plain, fp32")
    assert " 1.00 " in first


def test_every_case_is_a_training_that_can_be_asked_for():
    for case in CASES:
        assert training_of(SMALL, case).recipe == "xnas-1500"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_captured_steps_need_a_gpu():
    with pytest.raises(ConfigError, match="backend fused needs a GPU"):
        measure_case("captured, bf16", SMALL)


def test_a_case_without_kernels_has_the_settings_of_the_one_with_them():
    assert CASES[WITHOUT_KERNELS] == CASES["captured, bf16"]
