"""The speed of the machine: really measured, at rising sizes, no longer than allowed."""

import torch
from fits import pictures, searching_speed, speed

from xnas import FitConfig
from xnas.runs.fit import probing
from xnas.runs.fit.parts import FitData, facts_of
from xnas.runs.fit.planning import edges_share
from xnas.runs.fit.probing import (
    MOST_OF_A_STEP,
    edge_shares,
    measure_speeds,
    search_batch,
    search_speed,
    train_speed,
)
from xnas.space import SPACES, find_genotype

CONFIG = FitConfig(device="cpu")


def data(count=80):
    return FitData(pictures(count), CONFIG, 0.2)


def test_steps_are_really_made_and_timed():
    before = torch.get_rng_state()
    found = train_speed(CONFIG, data().trained, 0.2, "xnas", cells=3, channels=2)
    assert (found.cell, found.cells, found.channels, found.steps) == ("xnas", 3, 2, 4)  # 64 by 16
    assert min(found.start, found.step, found.epoch_end) > 0
    assert torch.equal(torch.get_rng_state(), before)


def test_rounds_are_really_played_and_timed():
    found = search_speed(CONFIG, data(), (3, 2))
    assert (found.cells, found.channels, found.batch_size) == (3, 2, 8)
    assert min(found.start, found.round, found.epoch_end) > 0


def test_every_operation_has_a_share_and_all_edges_less_than_a_step():
    measured = speed(cells=3, channels=2, step=1e-4)  # far too fast, so that shares are scaled
    found = edge_shares(CONFIG, data().trained, 0.2, measured)
    operations = SPACES["darts"].operations
    assert found.keys() == {f"{kind}/{name}" for kind in ("normal", "reduction") for name in operations}
    assert edges_share(found, find_genotype("xnas")) <= MOST_OF_A_STEP + 1e-9
    assert found["normal/skip_connect"] < found["normal/sep_conv_5x5"]


def test_batches_of_a_search_are_small_on_a_cpu_and_for_few_images():
    assert search_batch(5000, gpu=False) == 32
    assert search_batch(5000, gpu=True) == 96
    assert search_batch(320, gpu=True) == 16
    assert search_batch(20, gpu=False) == 8


def made_up(monkeypatch, *, step=1e-3):
    """Sizes that were measured, in their order, with made-up speeds."""
    asked = []

    def train(_config, _images, _share, cell, *, cells=3, channels=16):
        asked.append((cell, cells, channels))
        return speed(cell, cells, channels, step=step)

    def search(_config, _data, size):
        asked.append(("search", *size))
        return searching_speed(*size, round=step)

    monkeypatch.setattr(probing, "train_speed", train)
    monkeypatch.setattr(probing, "search_speed", search)
    monkeypatch.setattr(probing, "edge_shares", lambda *_: {})
    return asked


def test_all_sizes_are_measured_where_all_may_fit(monkeypatch):
    asked = made_up(monkeypatch)
    images = data(600)
    found = measure_speeds(CONFIG, images, facts_of(images.images), seconds=3600)
    assert [s.channels for s in found.cells] == [8, 8, 16, 24, 40]
    assert [s.cell for s in found.resnet] == list(probing.RESNETS)
    assert [(s.cells, s.channels) for s in found.search] == list(probing.SEARCH_SIZES)
    assert len(asked) == 5 + 3 + 4


def test_larger_sizes_are_left_out_where_they_cannot_fit(monkeypatch):
    asked = made_up(monkeypatch, step=1.0)
    images = data(600)
    measure_speeds(CONFIG, images, facts_of(images.images), seconds=60)
    assert asked == [("xnas", 3, 8), ("resnet-8", 3, 16), ("search", 3, 4)]


def test_no_search_is_measured_for_few_images(monkeypatch):
    asked = made_up(monkeypatch)
    few = data(80)
    assert measure_speeds(CONFIG, few, facts_of(few.images), seconds=60).search == ()
    assert not any(name == "search" for name, _, _ in asked)


def test_measuring_ends_when_its_time_is_used_up(monkeypatch):
    asked = made_up(monkeypatch)
    ticks = iter(range(0, 100_000, 1000))
    monkeypatch.setattr(probing.time, "perf_counter", lambda: next(ticks))
    images = data(600)
    measure_speeds(CONFIG, images, facts_of(images.images), seconds=3600)
    assert asked == [("xnas", 3, 8), ("resnet-8", 3, 16), ("search", 3, 4)]
