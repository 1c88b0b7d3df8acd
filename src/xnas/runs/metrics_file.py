"""The metrics of a run, metrics.jsonl: one JSON object a line, an epoch each.

A metric is appended as one whole line, and a checkpoint remembers all lines up to it, so that resuming
brings the file back to its state. The checkpoint comes first: whoever finds a line knows that there was
one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from xnas.errors import ConfigError
from xnas.files import open_plain, whole_file

MOST_BYTES = 1 << 28  # there are some 2,000 an epoch
Record = TypeVar("Record")


class MetricsFile:
    """The metrics of one run; `told` tells failures of the file system in one line."""

    def __init__(self, path: Path, told: Callable[[], AbstractContextManager[None]]) -> None:
        self.path, self.told = path, told

    def append(self, line: str) -> None:
        """Append one whole line."""
        with self.told(), self.path.open("a", encoding="utf8") as file:
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
            raise ConfigError(f"cannot read {self.path}: {error}; it may be damaged") from error

    def records(self, from_json: Callable[[dict[str, Any]], Record]) -> list[Record]:
        """All metrics so far, as records."""
        lines = self._objects()
        try:
            return [from_json(line) for line in lines]
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ConfigError(
                f"{self.path} is damaged ({type(error).__name__}: {str(error)[:100]}); restore it"
            ) from error

    def restore(self, state: dict[str, Any] | None, warn: Callable[[str], None]) -> None:
        """Bring the metrics back to what they were at a checkpoint, or, without one, at the start."""
        try:
            found = self._read()
        except FileNotFoundError:
            found = b""
        except OSError as error:
            found = b""
            warn(f"cannot read {self.path} ({error.strerror})")
        wanted = b"" if state is None else self._remembered(state, found)
        if found == wanted:
            return
        last_line = wanted.startswith(found) and wanted[len(found) :].count(b"\n") == 1
        if not last_line and not found.startswith(wanted):  # it comes after the checkpoint
            warn(f"{self.path} is not what its checkpoint remembers; it is restored from there")
        with self.told(), whole_file(self.path) as file:
            file.write(wanted)

    def _objects(self) -> list[dict[str, Any]]:
        text = self.text()
        try:
            lines = [json.loads(line) for line in text.splitlines()]
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{self.path} is damaged ({error}); restore it") from error
        if not all(isinstance(line, dict) for line in lines):
            raise ConfigError(f"{self.path} is damaged: a line is not an object; restore it")
        return lines

    def _read(self) -> bytes:
        with open_plain(self.path) as file:
            return file.read(MOST_BYTES)

    def _remembered(self, state: dict[str, Any], found: bytes) -> bytes:
        """The metrics of a checkpoint; those of version 1 remember their length alone."""
        text, length = state.get("metrics"), state.get("metrics_length")
        if isinstance(text, str):
            return text.encode()
        if not isinstance(length, int):
            raise ConfigError("the checkpoint remembers no metrics; it is damaged, or of another run")
        if len(found) < length:
            raise ConfigError(
                f"{self.path} is shorter than when its checkpoint was written; restore it, or begin "
                "a run in another folder with --out"
            )
        return found[:length]
