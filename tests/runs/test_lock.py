"""The lock of a run folder."""

from contextlib import nullcontext

import pytest

from xnas.errors import LockedError
from xnas.runs.lock import locked


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
