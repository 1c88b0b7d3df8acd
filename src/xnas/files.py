"""Files written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path` when the block ends without an error.

    It is made beside `path`, flushed to the disk and renamed: a reader finds the old content or the new,
    never half of it, and an error leaves nothing behind.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with scratch.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except BaseException:
        with suppress(OSError, ValueError):  # a ValueError is a path that is none
            scratch.unlink()
        raise
