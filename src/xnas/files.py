"""Files: written whole or not at all, read if they are files."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

SCRATCH = re.compile(r"\.xnas-[0-9]+-(.+)\.part")
"""Names of files that `whole_file` has not finished, and what each was to be called."""


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path` when the block ends without an error.

    It is written next to `path`, flushed to the disk and renamed. A reader finds the old content or the
    new, never half of it, and an error leaves nothing behind. The folder is also flushed, so that the
    new content survives a power failure.
    """
    scratch = path.with_name(f".xnas-{os.getpid()}-{path.name}.part")
    try:
        with _new(scratch) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
        _flush_folder(path.parent)
    except BaseException:
        with suppress(OSError, ValueError):  # a ValueError is a path that is none
            scratch.unlink()
        raise


def is_scratch(path: Path, ours: Callable[[str], bool]) -> bool:
    """Whether a killed process left this half-written, of a file whose name is one of ours."""
    named = SCRATCH.fullmatch(path.name)
    return named is not None and ours(named[1]) and is_plain(path)


def sweep(folder: Path, ours: Callable[[str], bool]) -> None:
    """Remove files of ours that killed processes left half-written; no other process may write there."""
    for path in folder.iterdir() if folder.is_dir() else ():
        with suppress(OSError):  # it does no harm
            if is_scratch(path, ours):
                path.unlink()


def remedies(error: OSError) -> tuple[str, ...]:
    """What would let a file be written that could not be; nothing where only another place would do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ("make room",)
    if error.errno == errno.EFBIG:
        return ("raise the limit on the size of files (ulimit -f)",)
    if error.errno == errno.ENAMETOOLONG:
        return ("use a shorter name",)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ("make it writable",)
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        path = Path(error.filename or "")
        return tuple(f"move the file {p} away" for p in (path, *path.parents) if p.is_file())[:1]
    return ()


def is_plain(path: Path) -> bool:
    """Whether this is a file of its own: no link, no pipe to wait for, no device without an end."""
    return stat.S_ISREG(path.lstat().st_mode)


def open_plain(path: Path | str) -> BinaryIO:
    """A file to read, also through links; a pipe to wait for or an endless device is an OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))


def read_plain(path: Path | str, most: int) -> bytes:
    """The content of a file of at most `most` bytes; a larger one, a pipe or a device is an OSError."""
    with open_plain(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return content


def _new(scratch: Path) -> BinaryIO:
    """A file that was not there: a link of that name would lead elsewhere, and is removed."""
    try:
        return scratch.open("xb")
    except FileExistsError:
        scratch.unlink()
        return scratch.open("xb")


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # file systems that cannot flush a folder
            raise
    finally:
        os.close(handle)
