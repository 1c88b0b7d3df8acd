"""A run folder: config.json, metrics.jsonl, checkpoints, and what the run found.

Everything but the metrics is written whole or not at all; a metric is appended as one whole line, and
resuming cuts the file back to the length that the checkpoint remembers.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import torch

from xnas.errors import ConfigError
from xnas.files import whole_file
from xnas.runs.folder import told_as

FORMAT, VERSION = "xnas-run", 1
KINDS = {"train": "training"}  # in words, where they are others


class RunFolder:
    """The files of one run; `data` is None where images were handed over in memory."""

    def __init__(self, path: Path, data: str | None) -> None:
        self.path, self.data = path, data

    @classmethod
    def create(cls, path: Path, data: str | None) -> RunFolder:
        """A new folder, or one that is there and empty."""
        if path.is_file():
            raise ConfigError(f"{path} is a file; choose a folder with --out")
        with told_as(path):
            if path.exists() and any(path.iterdir()):
                raise ConfigError(
                    f"{path} is not empty; choose another --out, or go on with --resume {path}"
                )
            path.mkdir(parents=True, exist_ok=True)
        return cls(path, data)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """The folder of a run that was started."""
        if not (path / "config.json").is_file():
            raise ConfigError(f"no run to resume in {path}: config.json is not there")
        return cls(path, _read_json(path / "config.json").get("data"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder: another process that wants it is refused.

        The folder itself is locked, because the files in it are replaced when they are written.
        """
        handle = os.open(self.path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ConfigError(f"another process is running in {self.path}; wait for it") from None
            try:
                yield
            finally:  # closing alone would leave it to worker processes, which inherited the handle
                fcntl.flock(handle, fcntl.LOCK_UN)
        finally:
            os.close(handle)

    @staticmethod
    def next_free(kind: str, data: str) -> Path:
        """runs/KIND-DATA-1, or the first number that is free."""
        name = "".join(c if c.isalnum() else "-" for c in Path(data).name) or "data"
        return next(p for n in count(1) if not (p := Path("runs") / f"{kind}-{name}-{n}").exists())

    @property
    def checkpoint(self) -> Path:
        """The last checkpoint."""
        return self.path / "checkpoints" / "last.pt"

    @property
    def metrics(self) -> Path:
        """One JSON object a line."""
        return self.path / "metrics.jsonl"

    def write_config(self, kind: str, fingerprint: str, config: Any) -> None:  # noqa: ANN401 - a dataclass
        """The resolved settings, with what they were resolved on."""
        self.write_json(
            "config.json",
            {
                "format": FORMAT,
                "version": VERSION,
                "kind": kind,
                "data": self.data,
                "data_fingerprint": fingerprint,
                "config": asdict(config),
                "made_with": {
                    "torch": torch.__version__,
                    "python": platform.python_version(),
                },
            },
        )

    def read_config(self, kind: str) -> tuple[str, dict[str, Any]]:
        """Fingerprint of the data and settings of a run of that kind."""
        saved = _read_json(self.path / "config.json")
        if (saved.get("format"), saved.get("version")) != (FORMAT, VERSION):
            raise ConfigError(f"{self.path} is not a run folder that this version of xnas reads")
        if saved.get("kind") != kind:
            held, wanted = (KINDS.get(str(k), k) for k in (saved.get("kind"), kind))
            raise ConfigError(f"{self.path} holds a {held}, not a {wanted}")
        fingerprint, config = saved.get("data_fingerprint"), saved.get("config")
        if not isinstance(fingerprint, str) or not isinstance(config, dict):
            raise ConfigError(f"{self.path / 'config.json'} is damaged: settings or data are missing")
        return fingerprint, config

    def write_json(self, name: str, value: object) -> None:
        """Write records as JSON, whole or not at all."""
        self.write_text(name, json.dumps(value, indent=1, default=str) + "\n")

    def write_text(self, name: str, text: str) -> None:
        """Write a file whole or not at all."""
        with told_as(self.path), whole_file(self.path / name) as file:
            file.write(text.encode())

    def append_metric(self, value: object) -> None:
        """Append one whole line."""
        line = json.dumps(value) + "\n"
        with told_as(self.path), self.metrics.open("a", encoding="utf8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def read_metrics(self) -> list[dict[str, Any]]:
        """All metrics so far."""
        if not self.metrics.exists():
            return []
        return [json.loads(line) for line in self.metrics.read_text(encoding="utf8").splitlines()]

    def metrics_length(self) -> int:
        """Bytes of metrics so far."""
        return self.metrics.stat().st_size if self.metrics.exists() else 0

    def cut_metrics(self, length: int) -> None:
        """Drop lines that were written after a checkpoint."""
        if self.metrics_length() < length:
            raise ConfigError(
                f"{self.metrics} is shorter than when its checkpoint was written; restore it, or delete "
                f"{self.checkpoint} to begin again"
            )
        if self.metrics.exists():
            with self.metrics.open("rb+") as file:
                file.truncate(length)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        saved = json.loads(path.read_text(encoding="utf8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {path}: {error}; it may be damaged") from error
    if not isinstance(saved, dict):
        raise ConfigError(f"{path} is damaged: it holds no settings")
    return saved
