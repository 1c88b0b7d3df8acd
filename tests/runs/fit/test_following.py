"""A plan that is followed: the stages in their order, with the sizes and epochs of the plan."""

from dataclasses import replace

import pytest
from fits import SMALL_PLAN, Watching, pictures, row

from xnas import FitConfig, Genotype
from xnas.runs.fit.following import Following
from xnas.runs.fit.parts import FitData
from xnas.runs.fit.planning import LEAST_EPOCHS
from xnas.runs.run_folder import RunFolder

FOUND = Genotype.random("darts", 7)


class Asked:
    """Stages that remember what they were asked for."""

    def __init__(self):
        self.config = FitConfig(device="cpu")
        self.data = FitData(pictures(), self.config, 0.2)
        self.trained = []

    def search(self, planned, out):
        assert (planned, out.name) == (SMALL_PLAN.search, "search")
        return FOUND, 50.0

    def train(self, settings, out):
        self.trained.append((out.name, settings.cells, settings.epochs, settings.cell))

    def row(self, name, what, out, *, searched=0.0):
        made = row(name, 0.5)
        return replace(made, what=what, cost=replace(made.cost, seconds=searched), out=out.name)


def followed(plan, tmp_path):
    asked, display = Asked(), Watching()
    return Following(plan, RunFolder(tmp_path), asked, display).rows(), asked, display


def test_every_network_is_trained_as_planned(tmp_path):
    rows, asked, display = followed(SMALL_PLAN, tmp_path)
    assert [(r.name, r.cost.seconds) for r in rows] == [
        ("found", 50.0),
        ("random", 0.0),
        ("resnet", 0.0),
    ]
    assert [stage for stage, _, _ in display.stages] == ["search", "found", "random", "resnet"]
    found, random, resnet = asked.trained
    assert found[:3] == ("found", 3, LEAST_EPOCHS)
    assert random[:3] == ("random", 3, LEAST_EPOCHS)
    assert resnet == ("resnet", None, 2, "resnet-8")
    assert Genotype.load(tmp_path / "found.json") == FOUND
    assert Genotype.load(tmp_path / "random.json") != FOUND
    assert rows[0].what == "3 cells, 2 channels"
    assert any(line.startswith("random cell: ") for line in display.lines)


def test_the_time_left_is_that_of_all_later_stages(tmp_path):
    _, _, display = followed(SMALL_PLAN, tmp_path)
    whole = sum(SMALL_PLAN.stages().values())
    assert display.stages[0] == ("search", 2.0, pytest.approx(whole))
    assert display.stages[-1] == ("resnet", 1.0, pytest.approx(2.0))


def test_without_a_search_the_published_cell_is_trained(tmp_path):
    cells = replace(SMALL_PLAN.cells, published="xnas")
    rows, asked, display = followed(replace(SMALL_PLAN, search=None, cells=cells), tmp_path)
    assert rows[0].name == "published"
    assert rows[0].what == "xnas, 3 cells, 2 channels"
    assert asked.trained[0][0] == "published"
    assert display.stages[0][0] == "found"
