"""Latency: a median with its quartiles, of a network that is left as it was."""

import pytest
import torch
from torch import nn

from xnas.model.latency import LEAST_RUNS, MOST_RUNS, WARM_UPS, measure_latency, time_passes


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless it is moved on."""
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    return now


class Slow(nn.Module):
    """A layer whose passes take the given seconds, one after another."""

    def __init__(self, clock, seconds):
        super().__init__()
        self.clock, self.seconds, self.seen = clock, iter(seconds), []
        self.norm = nn.BatchNorm2d(3)

    def forward(self, images):
        self.seen.append((tuple(images.shape), self.training, torch.is_grad_enabled()))
        self.clock[0] += next(self.seconds)
        return self.norm(images)


def test_a_latency_is_the_median_after_the_warm_up(clock):
    warm, timed = [9.0] * WARM_UPS, [0.5, 0.1, 0.2, 0.3, 0.4]
    model = Slow(clock, warm + timed)
    found = measure_latency(model, (3, 4, 6), batch=2)
    assert (found.milliseconds, found.lower, found.upper) == pytest.approx((300, 200, 400))
    assert (found.runs, found.batch, found.device, found.runtime) == (5, 2, "cpu", "PyTorch")
    assert set(model.seen) == {((2, 3, 4, 6), False, False)}


def test_one_slow_pass_of_a_busy_machine_does_not_count(clock):
    model = Slow(clock, [0.1] * WARM_UPS + [0.1, 0.1, 7.0, 0.1, 0.1])
    found = measure_latency(model, (3, 4, 4))
    assert (found.milliseconds, found.lower, found.upper) == pytest.approx((100, 100, 100))


def test_the_network_is_left_as_it_was(clock):
    model = Slow(clock, [0.01] * 200)
    model.norm.eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    measure_latency(model, (3, 4, 4))
    assert (model.training, model.norm.training) == (True, False)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    ("each", "seconds", "runs"), [(0.001, 60.0, MOST_RUNS), (5.0, 1.0, LEAST_RUNS), (0.25, 2.0, 8)]
)
def test_passes_are_bounded_in_number_and_in_time(clock, each, seconds, runs):
    model = Slow(clock, [each] * 200).eval()
    assert time_passes("x", model, torch.zeros(1, 3, 2, 2), seconds=seconds).runs == runs


def test_a_copy_is_measured_on_another_device():
    model = nn.Conv2d(3, 1, 1)
    found = measure_latency(model, (3, 2, 2), device=torch.device("meta"))
    assert found.device == "meta"
    assert model.weight.device == torch.device("cpu")
