"""times.json: seconds of every stage, added up over calls."""

import time

import pytest
from training import read

from xnas.errors import DamagedFileError
from xnas.runs.fit.stage_times import BEGINNING, StageTimes
from xnas.runs.run_folder import RunFolder


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_seconds_count_from_stage_to_stage_with_the_beginning(tmp_path, clock):
    times = StageTimes(RunFolder(tmp_path), began=90.0)
    times.begin("search")
    clock.now += 7
    assert times.used == 17
    times.begin("found")
    assert read(tmp_path / "times.json")["cost"] == {BEGINNING: 10.0, "search": 7.0}
    assert times.of("search", BEGINNING, "random") == 17


def test_another_call_adds_to_what_was_there(tmp_path, clock):
    times = StageTimes(RunFolder(tmp_path), began=100.0)
    times.begin("search")
    clock.now += 5
    times.save()
    clock.now += 1000  # nothing ran
    again = StageTimes(RunFolder(tmp_path), began=clock.now)
    clock.now += 2
    again.begin("search")
    clock.now += 3
    again.save()
    assert again.of("search") == 8
    assert again.of(BEGINNING) == 2
    assert again.used == 10


@pytest.mark.parametrize("text", ['{"cost": 3}', '{"cost": {"search": "x"}}', "{}"])
def test_a_damaged_file_is_refused_with_what_to_do(text, tmp_path):
    (tmp_path / "times.json").write_text(text, encoding="utf8")
    with pytest.raises(DamagedFileError, match=r"times.json is damaged .*delete it"):
        StageTimes(RunFolder(tmp_path), began=0.0)
