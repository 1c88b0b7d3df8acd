"""Curves: written at once by the caller's thread, where TensorBoard is installed."""

import sys
import threading
from pathlib import Path

import pytest
from training import curve

from xnas.runs.tensorboard import Curves


def test_points_are_written_at_their_steps(tmp_path):
    with Curves(tmp_path) as curves:
        curves.add(5, {"loss": 2.0, "accuracy": 0.25})
        curves.add(10, {"loss": 1.0})
    assert curve(tmp_path, "loss") == [(5, 2.0), (10, 1.0)]
    assert curve(tmp_path, "accuracy") == [(5, 0.25)]


def test_without_tensorboard_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto.event_pb2", None)
    with Curves(tmp_path) as curves:
        curves.add(1, {"loss": 1.0})
    assert list(tmp_path.iterdir()) == []


def test_curves_that_find_no_room_are_an_error_here_and_not_in_a_thread(tmp_path, monkeypatch):
    before = threading.enumerate()
    with Curves(tmp_path) as curves:
        curves.add(1, {"loss": 1.0})
        assert threading.enumerate() == before
    full = Path("/dev/full").open("wb")  # noqa: SIM115 - the curves close it
    monkeypatch.setattr("xnas.runs.tensorboard._new_file", lambda _: full)
    with pytest.raises(OSError, match="No space left"), Curves(tmp_path) as curves:
        curves.add(1, {"loss": 1.0})
    assert full.closed
