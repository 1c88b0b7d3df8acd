"""Checkpoints with their metrics, when one is due, and the seconds of an epoch without its pauses."""

import json

import torch

from xnas.runs.metrics_file import MetricsFile
from xnas.runs.run_folder import RunFolder
from xnas.runs.saver import Clock, Saver

CPU = torch.device("cpu")


def begun(path, minutes=0.0):
    folder = RunFolder.create(lambda: path)
    folder.settings = {"seed": 7}
    return folder, Saver(folder, lambda: {"epoch": 1, "numbers": torch.ones(2)}, minutes=minutes)


def kept(folder):
    state = folder.checkpoints.newest(CPU, warn=lambda _: None)
    assert state is not None
    return state


def test_a_checkpoint_holds_settings_and_all_lines_up_to_its_own(tmp_path):
    folder, saver = begun(tmp_path / "run")
    saver.save({"epoch": 1})
    saver.save({"epoch": 2})
    state = kept(folder)
    assert json.loads(state["settings"]) == {"seed": 7}
    assert [json.loads(line)["epoch"] for line in state["metrics"].splitlines()] == [1, 2]
    assert folder.metrics.text() == state["metrics"]


def test_inside_an_epoch_there_is_no_line(tmp_path):
    folder, saver = begun(tmp_path / "run")
    saver.save()
    assert kept(folder)["metrics"] == folder.metrics.text() == ""


def test_a_line_is_appended_only_once_its_checkpoint_is_there(tmp_path, monkeypatch):
    folder, saver = begun(tmp_path / "run")
    there = []
    monkeypatch.setattr(MetricsFile, "append", lambda *_: there.extend(folder.checkpoints.files()))
    saver.save({"epoch": 1})
    assert len(there) == 1


def test_one_is_due_after_so_many_minutes(tmp_path):
    _, at_once = begun(tmp_path / "one", minutes=0.0)
    _, later = begun(tmp_path / "two", minutes=10.0)
    assert at_once.due()
    assert not later.due()


def test_pauses_are_no_part_of_an_epoch(monkeypatch):
    ticks = iter([10.0, 12.0, 17.0, 20.0])  # started, a pause from 12 to 17, read
    monkeypatch.setattr("xnas.runs.saver.time.perf_counter", lambda: next(ticks))
    clock = Clock(CPU)
    with clock.paused():
        pass
    assert clock.seconds() == 5.0
