"""A plan that is followed: the stages in their order, with the sizes and epochs of the plan."""

from dataclasses import replace

import pytest
from fitting import SMALL_PLAN, Watching, pictures, row, speed

from xnas import FitConfig, Genotype, count_parameters
from xnas.model import TimmModel
from xnas.records import PlannedTraining
from xnas.runs.fit.following import Following, StageDisplay
from xnas.runs.fit.limiting import FitLimits
from xnas.runs.fit.parts import FitData
from xnas.runs.fit.plan_file import read_plan
from xnas.runs.fit.sizing import LEAST_EPOCHS
from xnas.runs.fit.stage_times import StageTimes
from xnas.runs.run_folder import RunFolder
from xnas.space import build_network

FOUND = Genotype.random("darts", 7)


class Asked:
    """Stages that remember what they were asked for."""

    def __init__(self, **limits):
        self.config = FitConfig(device="cpu", **limits)
        self.data = FitData(pictures(), self.config, 0.2)
        self.trained, self.measured = [], []

    def search(self, planned, cells, out):
        assert (planned, cells, out.name) == (SMALL_PLAN.search, SMALL_PLAN.cells, "search")
        return FOUND

    def speeds(self, networks):
        self.measured.append([(name, sizes) for name, _, sizes in networks])
        return [speed(step=100.0) for _ in networks]  # so that the fewest epochs fit

    def train(self, settings, out):
        self.trained.append((out.name, settings.cells, settings.epochs, settings.cell))

    def row(self, name, what, out, *, seconds):
        made = row(name, 0.5)
        return replace(made, what=what, cost=replace(made.cost, seconds=seconds()), out=out.name)


def followed(plan, tmp_path, **limits):
    tmp_path.mkdir(exist_ok=True)
    asked, display, folder = Asked(**limits), Watching(), RunFolder(tmp_path)
    following = Following(plan, folder, asked, display, StageTimes(folder, 0.0))
    return following.rows(), asked, display


def test_every_network_is_trained_as_planned(tmp_path):
    rows, asked, display = followed(SMALL_PLAN, tmp_path)
    assert [row.name for row in rows] == ["found", "random", "resnet"]
    assert [stage for stage, _, _ in display.stages] == ["search", "found", "random", "resnet"]
    found, random, resnet = asked.trained
    assert found[:3] == ("found", 3, 4)
    assert random[:3] == ("random", 3, 4)
    assert resnet == ("resnet", None, 2, "resnet-8")
    assert Genotype.load(tmp_path / "found.json") == FOUND
    assert Genotype.load(tmp_path / "random.json") != FOUND
    assert rows[0].what == "3 cells, 2 channels"
    assert any(line.startswith("random cell: ") for line in display.lines)
    assert asked.measured == []  # all epochs were settled


def test_epochs_are_settled_once_by_the_networks_that_there_are_and_kept(tmp_path):
    rows, asked, _ = followed(replace(SMALL_PLAN, settled=()), tmp_path)
    assert [[name for name, _ in networks] for networks in asked.measured] == [
        ["found", "random"],
        ["resnet-8"],
    ]
    assert asked.measured[0][0][1] == {"cells": 3, "channels": 2}
    assert {epochs for _, _, epochs, _ in asked.trained} == {LEAST_EPOCHS}
    kept = read_plan(tmp_path)
    assert [(one.stage, one.epochs) for one in kept.settled] == [("cells", 4), ("resnet", 4)]
    again = followed(kept, tmp_path)[1]
    assert (again.measured, again.trained) == ([], asked.trained)
    other = Genotype.random("darts", 8)
    other.save(tmp_path / "random.json")  # what is kept counts, whatever would be drawn now
    followed(kept, tmp_path)
    assert Genotype.load(tmp_path / "random.json") == other
    assert len(rows) == 3


def test_seconds_of_a_row_are_those_of_its_stage_and_of_the_search_for_a_found_cell(tmp_path):
    rows, *_ = followed(SMALL_PLAN, tmp_path)
    folder = RunFolder(tmp_path)
    times = StageTimes(folder, 0.0)
    assert rows[0].cost.seconds == pytest.approx(times.of("search", "found"), abs=0.05)
    assert rows[2].cost.seconds == pytest.approx(times.of("resnet"), abs=0.05)


def test_the_time_left_is_that_of_all_later_stages(tmp_path):
    _, _, display = followed(SMALL_PLAN, tmp_path)
    whole = sum(SMALL_PLAN.stages().values())
    assert display.stages[0] == ("search", 2.0, pytest.approx(whole))
    assert display.stages[-1] == ("resnet", 1.0, pytest.approx(2.0))


def test_without_a_search_the_published_cell_is_trained_and_called_so(tmp_path):
    cells = replace(SMALL_PLAN.cells, published="xnas")
    rows, asked, display = followed(replace(SMALL_PLAN, search=None, cells=cells), tmp_path)
    assert rows[0].name == "published"
    assert rows[0].what == "xnas, 3 cells, 2 channels"
    assert asked.trained[0][0] == "published"
    assert display.stages[0] == ("published", 1.0, pytest.approx(4.0))


def test_a_pretrained_model_is_fine_tuned_and_a_missing_resnet_left_out(tmp_path):
    TimmModel("resnet18", side=64).save(tmp_path / "pretrained.json")
    planned = PlannedTraining(cell="resnet18", cells=1, channels=1, side=64, epochs=4, seconds=1.0)
    plan = replace(SMALL_PLAN, resnet=None, pretrained=planned)
    rows, asked, _ = followed(plan, tmp_path)
    assert [row.name for row in rows] == ["found", "random", "pretrained"]
    assert rows[-1].what == "resnet18, 64 pixels"
    assert asked.measured == [[("resnet18", {"side": 64, "tuned": 64})]]  # 16 of 80 are held out
    assert asked.trained[-1][3].endswith("pretrained.json")


def test_what_a_run_inside_reports_is_passed_on_but_for_its_lines_and_its_advice(tmp_path):
    display = Watching()
    inner = StageDisplay(display, StageTimes(RunFolder(tmp_path), 0.0))
    inner.say("a line of its own")
    inner.warn("classes are unequal")
    inner.warn("80 images are few; xnas fit compares a pretrained model")
    assert (display.lines, display.warnings) == ([], ["classes are unequal"])
    inner.after_epoch(None, 3)
    assert (tmp_path / "times.json").exists()


def test_networks_beyond_the_limits_are_warned_of_and_the_random_cell_is_drawn_within(tmp_path):
    *_, display = followed(SMALL_PLAN, tmp_path, max_params=1.0)
    found, random = (line for line in display.warnings if "is not within the limits" in line)
    assert found.startswith("the found cell is not within the limits: ")
    assert random.endswith("parameters are above --max-params 1")
    size = {"cells": 3, "channels": 2}
    limits = FitLimits(Asked().config, pictures())
    most = count_parameters(build_network(FOUND, limits.spec(FOUND, **size)))
    *_, display = followed(SMALL_PLAN, tmp_path / "other", max_params=float(most))
    assert not any("limits" in line for line in display.warnings)
    random = Genotype.load(tmp_path / "other" / "random.json")
    assert count_parameters(build_network(random, limits.spec(random, **size))) <= most
