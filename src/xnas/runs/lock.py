"""The lock of a run folder: one process at a time runs in it.

File systems that several machines share lock files between machines, but not all lock folders. Work that
may be repeated on another machine therefore holds a file of its own as well.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from xnas.errors import LockedError

GLANCE = 0.05
"""Seconds after which a lock that was only looked at is free again."""
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
    """Hold the lock of a folder, or of a file; raises a LockedError if another process holds it.

    The folder itself is locked, because the files in it are replaced when they are written. A file is
    made if it is not there. The lock ends with the process, even if it is killed. `storage_errors`
    explains failures of the file system.
    """
    with storage_errors():  # NFS locks files that are open for writing
        flags = os.O_RDONLY if folder.is_dir() else os.O_RDWR | os.O_CREAT
        handle = os.open(folder, flags | os.O_CLOEXEC, 0o666)
    _handles.add(handle)
    try:
        with storage_errors():
            if not _taken(handle):
                time.sleep(GLANCE)  # `is_held` may have looked at this moment
                if not _taken(handle):
                    raise LockedError(f"another process is running in {folder}; wait for it")
        try:
            yield
        finally:  # closing alone would leave the lock to a process that a library has forked
            fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        _handles.discard(handle)
        os.close(handle)


def is_held(folder: Path) -> bool:
    """Whether a process holds the lock of a folder; it is looked at for a moment, and not taken.

    Where it cannot be looked at, as in a folder that may not be read, the answer is no.
    """
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system that locks no folders
        return False
    finally:
        os.close(handle)
    return False


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
