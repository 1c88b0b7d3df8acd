"""The lock of a run folder: one process at a time runs in it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from xnas.errors import ConfigError

_handles: set[int] = set()


def _close_inherited() -> None:
    """Close the locks of the process that forked this one.

    Otherwise workers that outlive a killed run by some seconds would keep its folder locked.
    """
    for handle in _handles:
        os.close(handle)
    _handles.clear()


os.register_at_fork(after_in_child=_close_inherited)


@contextmanager
def locked(folder: Path, storage_errors: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Hold the lock of a folder; raises if another process holds it.

    The folder itself is locked, because the files in it are replaced when they are written. The lock
    ends with the process, even if it is killed. `storage_errors` explains failures of the file system.
    """
    with storage_errors():
        handle = os.open(folder, os.O_RDONLY)
    _handles.add(handle)
    try:
        with storage_errors():
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ConfigError(f"another process is running in {folder}; wait for it") from None
        try:
            yield
        finally:  # closing alone would leave the lock to a process that a library has forked
            fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        _handles.discard(handle)
        os.close(handle)
