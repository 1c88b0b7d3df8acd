"""The speed of the machine: which sizes are measured, in which order, no longer than allowed."""

from dataclasses import replace

from fitting import pictures, searching_speed, speed

from xnas import FitConfig
from xnas.runs.fit import probing
from xnas.runs.fit.limiting import FitLimits
from xnas.runs.fit.parts import FitData, facts_of
from xnas.runs.fit.probing import CELL_SIZES, MANY_STEPS, RESNETS, SEARCH_SIZES, Measuring, speeds_now

CONFIG = FitConfig(device="cpu")


class Fake:
    """A probe with a made-up speed."""

    def __init__(self, found):
        self.found, self.times = found, []

    def time_step(self):
        self.times.append(1.0)
        return 1.0

    def time_first(self):
        self.times += [1.0] * 4

    def speed(self, typical):
        assert typical(self.times) == 1.0
        return self.found

    def answering(self, images):
        return images * self.found.step


class Machine:
    """Probes that are asked for, and a clock that goes by what they cost."""

    def __init__(self, monkeypatch, *, step=1e-3, darts_round=1e-3, quick_round=1e-3, cost=0.0):
        self.asked, self.cost, self.now = [], cost, 0.0
        self.rounds = {"darts": darts_round, "nasbench201": quick_round}
        self.step = step
        monkeypatch.setattr(probing, "TrainProbe", self.train)
        monkeypatch.setattr(probing, "SearchProbe", self.search)
        monkeypatch.setattr(probing, "fastest_threads", lambda _probes, _most: 1)
        monkeypatch.setattr(probing.time, "perf_counter", lambda: self.now)

    def train(self, _config, _images, _share, cell, _architecture, **sizes):
        self.now += self.cost
        self.asked.append((cell, *sizes.values()))
        known = {"cells": 3, "channels": 16} | sizes
        known.pop("tuned", None)
        return Fake(speed(cell, step=self.step, **known))

    def search(self, _config, _data, space, size):
        self.now += self.cost
        self.asked.append((space, *size))
        return Fake(searching_speed(*size, space=space, round=self.rounds[space]))

    def measured(self, *, count=600, seconds=3600, pretrained=None, search=True, **limits):
        config = replace(CONFIG, **limits)
        data = FitData(pictures(count), config, 0.2)
        facts = facts_of(data.images)
        sides = () if pretrained is None else (64, 224)
        measuring = Measuring(config, data, facts, seconds=seconds, pretrained=pretrained, sides=sides)
        return measuring.speeds() if search else measuring.without_search(measuring.speeds())


def test_all_sizes_are_measured_where_all_may_fit(monkeypatch):
    machine = Machine(monkeypatch)
    found = machine.measured()
    assert [(s.cells, s.channels) for s in found.cells] == list(CELL_SIZES["darts"])
    assert [(s.cell, s.channels) for s in found.resnet] == list(RESNETS)
    assert [(s.space, s.cells, s.channels) for s in found.search] == [
        ("darts", *size) for size in SEARCH_SIZES["darts"]
    ]
    assert len(machine.asked) == 5 + 3 + 4
    assert found.threads == 1


def test_the_quick_space_is_searched_where_the_wide_one_has_too_few_rounds(monkeypatch):
    machine = Machine(monkeypatch, darts_round=0.3, quick_round=0.03)
    found = machine.measured(count=3000, seconds=270)
    assert {s.space for s in found.search} == {"nasbench201"}
    assert found.cells[0].cell.startswith("|nor_conv_3x3~0|")
    assert machine.asked[:3] == [("resnet-8", 16), ("darts", 3, 4), ("nasbench201", 1, 8)]


def test_no_search_is_planned_where_neither_has_rounds(monkeypatch):
    machine = Machine(monkeypatch, darts_round=5.0, quick_round=5.0)
    found = machine.measured(seconds=60)
    assert found.search == ()
    assert found.cells[0].cell == "xnas"


def test_larger_sizes_are_left_out_where_they_cannot_fit(monkeypatch):
    machine = Machine(monkeypatch, step=1.0)
    machine.measured(seconds=60)
    assert [name for name, *_ in machine.asked].count("xnas") == 1
    assert ("resnet-14", 16) not in machine.asked


def test_no_search_is_measured_for_few_images(monkeypatch):
    machine = Machine(monkeypatch)
    assert machine.measured(count=80, seconds=60).search == ()
    assert not any(name in SEARCH_SIZES for name, *_ in machine.asked)


def test_measuring_ends_when_its_time_is_used_up(monkeypatch):
    machine = Machine(monkeypatch, cost=1000.0)
    machine.measured()
    assert machine.asked == [("resnet-8", 16), ("darts", 3, 4), ("xnas", 3, 8)]


def test_all_probes_are_timed_again_in_turn_while_there_is_time(monkeypatch):
    Machine(monkeypatch)
    measuring = Measuring(
        CONFIG, FitData(pictures(600), CONFIG, 0.2), facts_of(pictures(600)), seconds=60
    )
    measuring.speeds()
    assert {len(probe.times) for probe in measuring.probes} == {MANY_STEPS}


class Model:
    """A pretrained model of two sizes."""

    name = "resnet18"

    def architecture(self, side):
        return side


def test_a_pretrained_model_is_measured_with_images_of_rising_size(monkeypatch):
    machine = Machine(monkeypatch)
    found = machine.measured(pretrained=Model())
    assert [s.side for s in found.pretrained] == [64, 224]
    assert ("resnet18", 64, 480) in machine.asked
    assert Machine(monkeypatch).measured().pretrained == ()


def test_speeds_before_a_training_are_measured_in_turn(monkeypatch):
    ticks = iter(range(100))
    monkeypatch.setattr(probing.time, "perf_counter", lambda: next(ticks))
    probes = [Fake(speed()), Fake(speed("resnet-8"))]
    found = speeds_now(probes, seconds=1000.0)  # 10 of the clock's ticks, of which it begins with one
    assert [one.cell for one in found] == ["xnas", "resnet-8"]
    assert [len(probe.times) for probe in probes] == [4 + 9, 4 + 9]


def test_a_plan_without_time_for_a_search_has_the_published_cell(monkeypatch):
    found = Machine(monkeypatch, darts_round=0.3, quick_round=0.03).measured(
        count=3000, seconds=270, search=False
    )
    assert (found.search, found.cells[0].cell) == ((), "xnas")


def test_only_sizes_within_the_limits_are_measured(monkeypatch):
    monkeypatch.setattr(FitLimits, "cell_sizes", lambda *_: ((3, 2), (3, 4), (3, 8), (5, 8)))
    found = Machine(monkeypatch).measured(max_params=60_000)
    assert [(s.cells, s.channels) for s in found.cells] == [(3, 8), (5, 8)]  # larger than the small ones
    # Of 78,000 parameters with 16 channels, and of a quarter with 8.
    assert [(s.cell, s.channels) for s in found.resnet] == [("resnet-8", 8)]
    monkeypatch.setattr(FitLimits, "cell_sizes", lambda *_: ((3, 2), (3, 4)))
    found = Machine(monkeypatch).measured(max_params=6_000)
    assert [(s.cells, s.channels) for s in found.cells] == [(3, 4)]
    assert [(s.cell, s.channels) for s in found.resnet] == [("resnet-8", 4)]
    assert Machine(monkeypatch).measured(max_params=3_000).resnet == ()


def test_the_published_cell_is_measured_at_sizes_that_it_obeys_at(monkeypatch):
    found = Machine(monkeypatch).measured(count=80, max_params=50_000)
    assert [(s.cells, s.channels) for s in found.cells] == [(3, 8), (5, 8)]


def test_the_end_is_planned_for_the_slowest_network_that_may_answer_the_test_images(monkeypatch):
    machine = Machine(monkeypatch, step=0.5)
    assert machine.measured().end == probing.END_SECONDS + 20 * 0.5
    data = FitData(replace(pictures(), test_images=None, test_labels=None), CONFIG, 0.2)
    measuring = Measuring(CONFIG, data, facts_of(data.images), seconds=60)
    assert measuring.speeds().end == probing.END_SECONDS
