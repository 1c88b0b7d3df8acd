import pytest
import torch

from xnas.bench.data import PlainImages, bench_data
from xnas.bench.measuring import noise
from xnas.bench.options import BenchDataConfig
from xnas.report.tables import data_cost_table

TINY = BenchDataConfig(
    batch_size=8, round_size=4, image_size=8, timings=5, workers=2, device="cpu", policy="svhn"
)


def test_batches_of_both_kinds_are_measured_and_shown():
    costs = bench_data(TINY)
    assert [cost.case for cost in costs] == [
        "torchvision, 1 worker",
        "torchvision, 2 workers",
        "xnas",
        "xnas, both halves without AutoAugment",
        "xnas, both halves with AutoAugment",
    ]
    assert [cost.images for cost in costs] == [8, 8, 8, 8, 8]  # a round has twice 4
    assert all(cost.milliseconds > 0 and cost.spread >= 0 for cost in costs)
    assert costs[0].ratio == 1
    assert costs[2].ratio == pytest.approx(costs[0].milliseconds / costs[2].milliseconds)
    assert [cost.ratio for cost in costs[3:]] == [None, None]
    table = data_cost_table(costs).splitlines()
    assert table[0] == "CPU"
    assert len(table) == 7
    assert table[2].endswith("1.00")


def test_the_other_side_makes_standardised_images_with_a_hole():
    image, label = PlainImages(noise(32, TINY.image_size), "cifar10", length=100)[50]  # goes round
    assert (image.shape, image.dtype) == ((3, 8, 8), torch.float32)
    assert label == (50 % 32) % 10  # four batches of eight
    assert (image == 0).all(0).sum() >= 16
