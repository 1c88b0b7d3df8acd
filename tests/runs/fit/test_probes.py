"""Probes: rounds and steps that are really played, and timed."""

import pytest
import torch
from fitting import pictures

from xnas import FitConfig
from xnas.runs.fit.parts import FitData
from xnas.runs.fit.probes import (
    FIRST_STEPS,
    SearchProbe,
    TrainProbe,
    quick_quarter,
    search_batch,
    trimmed_mean,
)
from xnas.space import find_architecture

CONFIG = FitConfig(device="cpu")


def data(count=80):
    return FitData(pictures(count), CONFIG, 0.2)


def test_steps_are_really_made_and_timed():
    before = torch.get_rng_state()
    cell = find_architecture("xnas")
    probe = TrainProbe(CONFIG, data().trained, 0.2, "xnas", cell, cells=3, channels=2)
    assert probe.times == []
    probe.time_first()
    assert len(probe.times) == FIRST_STEPS
    steps = probe.prepared.training.steps
    assert steps == FIRST_STEPS + 1
    found = probe.speed(max)
    assert (found.cell, found.cells, found.channels, found.steps) == ("xnas", 3, 2, 4)  # 64 by 16
    assert found.step == max(probe.times)
    assert min(found.start, found.step, found.epoch_end) > 0
    for _ in range(3):  # over the end of an epoch
        probe.time_step()
    assert probe.speed(min).epoch_end == found.epoch_end  # measured once
    batch = probe.answering(1)
    assert probe.answering(3 * probe.prepared.plan.recipe.batch_size) == 3 * batch > 0
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(("space", "size"), [("darts", (3, 2)), ("nasbench201", (1, 2))])
def test_rounds_are_really_played_and_timed_also_after_the_end_of_an_epoch(space, size):
    probe = SearchProbe(CONFIG, data(), space, size)
    probe.time_first()
    found = probe.speed(min)
    assert (found.space, found.cells, found.channels, found.batch_size) == (space, *size, 8)
    assert min(found.start, found.round, found.epoch_end) > 0
    for _ in range(5):
        probe.time_step()
    assert probe.speed(max).round == max(probe.times)


def test_slow_steps_are_played_twice(monkeypatch):
    probe = SearchProbe(CONFIG, data(), "nasbench201", (1, 2))
    monkeypatch.setattr("xnas.runs.fit.probes.FIRST_SECONDS", -1.0)
    probe.time_first()
    assert len(probe.times) == 2


def test_a_spike_changes_neither_the_quick_quarter_nor_the_trimmed_mean():
    assert quick_quarter([4.0, 1.0, 90.0, 2.0, 3.0]) == 2.0
    assert quick_quarter([5.0]) == 5.0
    assert trimmed_mean([*[1.0, 3.0] * 5, 90.0]) == 2.0
    assert trimmed_mean([2.0, 4.0]) == 3.0


def test_batches_of_a_search_are_small_on_a_cpu_and_for_few_images():
    assert search_batch(5000, gpu=False) == 32
    assert search_batch(5000, gpu=True) == 96
    assert search_batch(320, gpu=True) == 16
    assert search_batch(20, gpu=False) == 8
