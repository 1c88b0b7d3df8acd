"""The metrics of a run, metrics.jsonl: one JSON object per line and epoch.

A metric is appended as one whole line, after the checkpoint that holds all lines up to it. So every line
has a checkpoint, and resuming restores the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from xnas.errors import DamagedFileError
from xnas.files import open_plain, whole_file
from xnas.words import short

MOST_BYTES = 1 << 28  # there are some 3,000 per epoch
Record = TypeVar("Record")


class MetricsFile:
    """The metrics of one run; `storage_errors` explains failures of the file system.

    Without `writes` nothing is written: another process does.
    """

    def __init__(
        self,
        path: Path,
        storage_errors: Callable[[], AbstractContextManager[None]],
        *,
        writes: bool = True,
    ) -> None:
        self.path, self.storage_errors, self.writes = path, storage_errors, writes

    def append(self, line: str) -> None:
        """Append one whole line."""
        if not self.writes:
            return
        with self.storage_errors(), self.path.open("a", encoding="utf8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def text(self) -> str:
        """All lines so far."""
        try:
            return self._read().decode()
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            raise DamagedFileError(
                f"cannot read {self.path}: {short(error)}; it may be damaged"
            ) from error

    def records(self, from_json: Callable[[dict[str, Any]], Record]) -> list[Record]:
        """All metrics so far, as records."""
        lines = self._objects()
        try:
            return [from_json(line) for line in lines]
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            reason = f"{type(error).__name__}: {short(error, 100)}"
            raise DamagedFileError(f"{self.path} is damaged ({reason}); restore it") from error

    def restore(self, state: dict[str, Any] | None, warn: Callable[[str], None]) -> None:
        """Restore the lines that a checkpoint holds, or none without a checkpoint."""
        if not self.writes:
            return
        try:
            found = self._read()
        except FileNotFoundError:
            found = b""
        except OSError as error:
            found = b""
            warn(f"cannot read {self.path} ({error.strerror})")
        wanted = b"" if state is None else _metrics_of(state)
        if found == wanted:
            return
        last_line = wanted.startswith(found) and wanted[len(found) :].count(b"\n") == 1
        if not last_line and not found.startswith(wanted):  # it is written after the checkpoint
            warn(f"{self.path} differs from what its checkpoint holds; it is restored from there")
        with self.storage_errors(), whole_file(self.path) as file:
            file.write(wanted)

    def _objects(self) -> list[dict[str, Any]]:
        text = self.text()
        try:
            lines = [json.loads(line) for line in text.splitlines()]
        except (ValueError, RecursionError) as error:
            raise DamagedFileError(f"{self.path} is damaged ({short(error)}); restore it") from error
        if not all(isinstance(line, dict) for line in lines):
            raise DamagedFileError(f"{self.path} is damaged: a line is not an object; restore it")
        return lines

    def _read(self) -> bytes:
        with open_plain(self.path) as file:
            return file.read(MOST_BYTES)


def _metrics_of(state: dict[str, Any]) -> bytes:
    text = state.get("metrics")
    if not isinstance(text, str):
        raise DamagedFileError("the checkpoint holds no metrics; it is damaged, or of another run")
    return text.encode()
