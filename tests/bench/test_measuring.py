import pytest
import torch

from xnas.bench.measuring import median_and_spread, milliseconds, noise


def test_noise_has_the_asked_shape_and_every_class():
    data = noise(25, 8)
    assert data.images.shape == (25, 3, 8, 8)
    assert (data.images.dtype, len(data.classes)) == (torch.uint8, 10)
    assert data.labels.bincount().tolist() == [3] * 5 + [2] * 5
    assert noise(4, 8).classes == ("0", "1", "2", "3")  # no class without an image


def test_a_call_is_timed_in_milliseconds(monkeypatch):
    clock = iter((1.0, 1.25))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    assert milliseconds(lambda: None, torch.device("cpu")) == 250


def test_the_median_comes_with_the_distance_of_the_quartiles():
    assert median_and_spread([1, 2, 3, 4, 100]) == pytest.approx((3, 2))
