"""A run folder: config.json, metrics.jsonl, checkpoints, and what the run found.

Everything but the metrics is written whole or not at all; a metric is appended as one whole line, and
resuming cuts the file back to the length that the checkpoint remembers.
"""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import torch

from xnas.errors import ConfigError

FORMAT, VERSION = "xnas-run", 1


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path) -> RunFolder:
        """A new folder, or one that is there and empty."""
        try:
            if path.exists() and (not path.is_dir() or any(path.iterdir())):
                raise ConfigError(
                    f"{path} is not empty; choose another --out, or go on with --resume {path}"
                )
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"cannot write to {path}: {error.strerror}; choose another folder with --out"
            ) from error
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """The folder of a run that was started."""
        if not (path / "config.json").is_file():
            raise ConfigError(f"no run to resume in {path}: config.json is not there")
        return cls(path)

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

    def write_config(self, kind: str, data: str, config: Any) -> None:  # noqa: ANN401 - any dataclass
        """The resolved settings, with what they were resolved on."""
        self.write_json(
            "config.json",
            {
                "format": FORMAT,
                "version": VERSION,
                "kind": kind,
                "data": data,
                "config": asdict(config),
                "made_with": {
                    "torch": torch.__version__,
                    "python": platform.python_version(),
                },
            },
        )

    def read_config(self, kind: str) -> tuple[str, dict[str, Any]]:
        """Data and settings of a run of that kind."""
        try:
            saved = json.loads((self.path / "config.json").read_text(encoding="utf8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot read {self.path / 'config.json'}: {error}") from error
        if not isinstance(saved, dict) or (saved.get("format"), saved.get("version")) != (
            FORMAT,
            VERSION,
        ):
            raise ConfigError(f"{self.path} is not a run folder that this version of xnas reads")
        if saved.get("kind") != kind:
            raise ConfigError(f"{self.path} holds a {saved.get('kind')}, not a {kind}")
        return saved["data"], saved["config"]

    def write_json(self, name: str, value: object) -> None:
        """Write a file whole or not at all."""
        text = json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"
        self.write_text(name, text)

    def write_text(self, name: str, text: str) -> None:
        """Write beside the file, flush, rename."""
        scratch = self.path / f".{name}.tmp"
        with scratch.open("w", encoding="utf8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(self.path / name)

    def append_metric(self, value: object) -> None:
        """Append one whole line."""
        line = json.dumps(value, ensure_ascii=False) + "\n"
        with self.metrics.open("a", encoding="utf8") as file:
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
        if self.metrics.exists():
            with self.metrics.open("rb+") as file:
                file.truncate(length)
