"""A training as its folder tells it."""

import json

import pages
import pytest

from xnas import create_model
from xnas.runs.reports.run_files import ReadRun
from xnas.runs.reports.train_reader import train_story
from xnas.space import count_parameters


def story(folder):
    return train_story(ReadRun.open(folder))


def test_a_finished_training_is_read_whole(tmp_path):
    found = story(pages.train_run(tmp_path / "run"))
    assert found.head.faults == ()
    assert found.epochs == tuple(pages.trained())
    assert found.test == pages.evaluation()
    (mistake,) = found.mistakes
    assert (mistake.index, mistake.label, mistake.answer) == (3, "cat", "dog")
    assert mistake.png.startswith(b"\x89PNG")
    assert found.head.command == "xnas train darts_v2 digits --epochs 3"
    assert len(found.graph.kinds["normal"]) == 8


@pytest.mark.parametrize("cell", ["genotype.json", str(pages.CELL)[:200]])
def test_a_cell_without_a_name_is_the_file_of_the_run_which_the_command_can_use(tmp_path, cell):
    found = story(pages.train_run(tmp_path / "run", cell=cell))
    assert found.cell == "genotype.json"
    assert found.head.command == f"xnas train {tmp_path}/run/genotype.json digits --epochs 3"


def test_the_network_is_counted(tmp_path):
    found = story(pages.train_run(tmp_path / "run"))
    network = create_model(pages.CELL, num_classes=2, in_chans=1, channels=2, cells=3, stem_channels=2)
    assert found.parameters == count_parameters(network)
    assert found.macs > 0


def test_a_stopped_training_has_epochs_alone(tmp_path):
    found = story(pages.train_run(tmp_path / "run", finished=False))
    assert found.head.state == "stopped"
    assert (found.test, found.mistakes, found.parameters) == (None, (), None)
    assert len(found.epochs) == 3


@pytest.mark.parametrize("name", ["test.json", "mistakes.json", "model.json", "genotype.json"])
def test_a_damaged_file_is_noted_and_the_others_are_read(tmp_path, name):
    folder = pages.train_run(tmp_path / "run")
    (folder / name).write_text('{"format": 1, "mistakes": [3]}', encoding="utf8")
    found = story(folder)
    assert any(name in fault for fault in found.head.faults)
    assert len(found.epochs) == 3


def test_mistakes_of_another_version_are_not_guessed_at(tmp_path):
    folder = pages.train_run(tmp_path / "run")
    saved = json.loads((folder / "mistakes.json").read_text(encoding="utf8"))
    pages.write(folder / "mistakes.json", saved | {"version": 2})
    found = story(folder)
    assert found.mistakes == ()
    assert any("has version 2, this xnas reads 1" in fault for fault in found.head.faults)
