"""The lock of a run folder."""

import fcntl
import os
import threading
from contextlib import nullcontext

import pytest

from xnas.errors import LockedError
from xnas.runs.lock import GLANCE, is_held, locked


def test_a_folder_is_locked_by_one_holder_at_a_time(tmp_path):
    with (
        locked(tmp_path, nullcontext),
        pytest.raises(LockedError, match="another process is running in"),
        locked(tmp_path, nullcontext),
    ):
        pass
    with (
        locked(tmp_path, nullcontext),
        pytest.raises(LockedError, match="another process is running in"),
        locked(tmp_path, nullcontext),
    ):
        pass
    with locked(tmp_path, nullcontext):
        pass


def test_a_file_is_made_to_be_locked_and_keeps_what_it_holds(tmp_path):
    path = tmp_path / "trial.lock"
    with (
        locked(path, nullcontext),
        pytest.raises(LockedError, match="another process is running in"),
        locked(path, nullcontext),
    ):
        pass
    path.write_text("kept", encoding="utf8")
    with locked(path, nullcontext):
        assert path.read_text(encoding="utf8") == "kept"


def test_a_folder_that_fails_is_free_again(tmp_path):
    with pytest.raises(KeyError), locked(tmp_path, nullcontext):
        raise KeyError
    with locked(tmp_path, nullcontext):
        pass


def test_a_lock_can_be_looked_at_without_taking_it(tmp_path):
    assert not is_held(tmp_path)
    with locked(tmp_path, nullcontext):
        assert is_held(tmp_path)
    with locked(tmp_path, nullcontext):
        pass
    assert not is_held(tmp_path / "nowhere")


def test_a_run_begins_while_its_lock_is_looked_at(tmp_path):
    looking = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    glance = threading.Timer(GLANCE / 2, os.close, [looking])
    glance.start()
    with locked(tmp_path, nullcontext):
        pass
    glance.join()
