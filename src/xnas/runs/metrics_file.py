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

MOST_BYTES = 1 << 28  # there are some 5,000 per epoch
REMEDY = "restore it"
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

    def records(
        self, from_json: Callable[[dict[str, Any]], Record], *, remedy: str = REMEDY
    ) -> list[Record]:
        """All metrics so far, as records; `remedy` ends the message about a damaged line."""
        return [
            self._record(line, number, from_json, remedy)
            for number, line in enumerate(self.text().splitlines(), start=1)
        ]

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

    def _record(
        self, line: str, number: int, from_json: Callable[[dict[str, Any]], Record], remedy: str
    ) -> Record:
        try:
            saved = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._damage(number, f"it is not JSON ({short(error)})", remedy) from error
        if not isinstance(saved, dict):
            raise self._damage(number, "it is not an object", remedy)
        try:
            return from_json(saved)
        except KeyError as error:
            raise self._damage(number, f"the key {short(error, 100)} is missing", remedy) from error
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise self._damage(number, short(error, 100), remedy) from error

    def _damage(self, number: int, reason: str, remedy: str) -> DamagedFileError:
        return DamagedFileError(f"{self.path} is damaged in line {number}: {reason}; {remedy}")

    def _read(self) -> bytes:
        with open_plain(self.path) as file:
            return file.read(MOST_BYTES)


def _metrics_of(state: dict[str, Any]) -> bytes:
    text = state.get("metrics")
    if not isinstance(text, str):
        raise DamagedFileError("the checkpoint holds no metrics; it is damaged, or of another run")
    return text.encode()
