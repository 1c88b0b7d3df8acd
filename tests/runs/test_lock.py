"""The lock of a run folder."""

from contextlib import nullcontext

import pytest

from xnas import ConfigError
from xnas.runs.lock import locked


def test_a_folder_is_locked_by_one_holder_at_a_time(tmp_path):
    with (
        locked(tmp_path, nullcontext),
        pytest.raises(ConfigError, match="another process is running in"),
        locked(tmp_path, nullcontext),
    ):
        pass
    with (
        locked(tmp_path, nullcontext),
        pytest.raises(ConfigError, match="another process is running in"),
        locked(tmp_path, nullcontext),
    ):
        pass
    with locked(tmp_path, nullcontext):
        pass


def test_a_folder_that_fails_is_free_again(tmp_path):
    with pytest.raises(KeyError), locked(tmp_path, nullcontext):
        raise KeyError
    with locked(tmp_path, nullcontext):
        pass
