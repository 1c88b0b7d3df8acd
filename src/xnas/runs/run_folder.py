"""A run folder: config.json, metrics.jsonl, checkpoints, and what the run found.

Everything but the metrics is written whole or not at all. Of several processes the first writes and
holds the lock; the others read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import torch

from xnas.engine.checkpoint import Checkpoints
from xnas.engine.distributed import ALONE, Ranks
from xnas.errors import ConfigError, DamagedFileError
from xnas.files import is_plain, is_scratch, sweep, whole_file
from xnas.model import timm_model  # noqa: F401 - an architecture whose file runs write
from xnas.process.folder import require_no_link, storage_errors
from xnas.runs.config_file import NAME, ConfigFile, as_json
from xnas.runs.fold_folders import require_one_run
from xnas.runs.lock import locked
from xnas.runs.metrics_file import MetricsFile
from xnas.space.architecture import ARCHITECTURES
from xnas.words import counted

RUNS = Path("runs")
"""Where run folders are made that the user does not name."""
ARCHITECTURE_FILES = tuple(f"{key}.json" for key in ARCHITECTURES)
WRITTEN = (
    *("metrics.jsonl", "checkpoints", "best", "figures", "tensorboard"),
    *("ledger.jsonl", "costs.jsonl", "trials"),
)
"""What a run writes into without replacing it."""
READ = (
    *(NAME, "metrics.jsonl", *ARCHITECTURE_FILES, "model.json", "model.safetensors"),
    *("ledger.jsonl", "costs.jsonl", "latency.json"),
)
"""What a resumed run reads: a pipe would block it, an endless device would fill its memory."""
MOVED = "copy the run folder elsewhere and resume it there"
ENDS = (
    *("discretization.json", "ledger.json", "test.json", "mistakes.json", "best"),
    "model.safetensors",
)
"""What a run writes at its end, except for the last file, whose presence says that it is finished."""
NAMES = {NAME, "recipe.json", *ARCHITECTURE_FILES, "metrics.jsonl", "model.json", *ENDS}
NAMES |= {
    "ledger.jsonl",
    "curve.json",
    "plan.json",
    "fit.json",
    "found.json",
    "published.json",
    "random.json",
    "pretrained.json",
    "pretrained.safetensors",
    "times.json",
    "report.html",
}


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path, ranks: Ranks = ALONE, first: Mapping[str, str] | None = None) -> None:
        self.path, self.writes = path, ranks.first
        self.first = first or {}
        """What is written before config.json, by name."""
        self.settings: dict[str, Any] = {}
        """Those that decide which rounds are played; checkpoints of other settings are skipped."""

    @classmethod
    def create(
        cls,
        choose: Callable[[], Path],
        ranks: Ranks = ALONE,
        first: Mapping[str, str] | None = None,
    ) -> RunFolder:
        """A new folder, or an empty one; files that a killed start of this same run left do not count.

        The first process chooses the path and makes the folder.
        """

        def made() -> Path:
            path = choose()
            with storage_errors(path):
                require_no_link(path)
                if path.is_file():
                    raise ConfigError(f"{path} is a file; choose a folder with --out")
                _require_new(path, first or {})
                _require_outside_runs(path)
                path.mkdir(parents=True, exist_ok=True)
            return path

        return cls(ranks.first_does(made), ranks, first)

    @classmethod
    def open(cls, path: Path, ranks: Ranks = ALONE) -> RunFolder:
        """The folder of a run that was started."""
        with storage_errors(path, MOVED):
            require_no_link(path)
            if not path.is_dir():
                raise ConfigError(f"there is no folder {path}; give the folder of a run")
            require_one_run(path)
            if not (path / NAME).is_file():
                raise ConfigError(
                    f"{path} is no run folder: config.json is not there; a run that was killed before "
                    "it wrote that is begun again by its first command"
                )
            for name in WRITTEN:
                require_no_link(path / name)
            for name in READ:
                if (path / name).exists() and not (path / name).is_file():
                    raise ConfigError(f"{path / name} is no file, but a run reads it; remove it")
        return cls(path, ranks)

    @staticmethod
    def next_free(kind: str, data: str) -> Path:
        """runs/KIND-DATA-1, or the first number that is free."""
        name = "".join(c if c.isalnum() else "-" for c in Path(data).name) or "data"
        return next(p for n in count(1) if not (p := RUNS / f"{kind}-{name}-{n}").exists())

    @contextmanager
    def locked(self, *, new: bool = False) -> Iterator[None]:
        """Hold the folder, and remove what killed processes left half-written.

        `new`: raises if another process has begun a run in it since `create` looked.
        """
        if not self.writes:
            yield
            return
        with locked(self.path, self.storage_errors):
            with self.storage_errors():
                if new:
                    _require_new(self.path, self.first)
                for folder in (self.path, self.checkpoints.folder, self.path / "best"):
                    sweep(folder, _is_ours)
            yield

    def storage_errors(self) -> AbstractContextManager[None]:
        """Explain failures of the file system in one line; a run that was begun can move elsewhere."""
        begun = os.path.exists(self.path / NAME)  # noqa: PTH110 - False where the disk does not answer
        return storage_errors(self.path, MOVED) if begun else storage_errors(self.path)

    @property
    def checkpoints(self) -> Checkpoints:
        """The last few of them."""
        return Checkpoints(self.path / "checkpoints")

    @property
    def metrics(self) -> MetricsFile:
        """One line for every epoch."""
        return MetricsFile(self.path / "metrics.jsonl", self.storage_errors, writes=self.writes)

    def write_start(self, config: ConfigFile) -> None:
        """Write what a run begins with, config.json last."""
        for name, text in self.first.items():
            self.write_text(name, text)
        self.write_text(NAME, config.text())

    def write_json(self, name: str, value: object) -> None:
        """Write records as JSON, whole or not at all."""
        self.write_text(name, as_json(value))

    def write_text(self, name: str, text: str) -> None:
        """Write a file whole or not at all."""
        if self.writes:
            with self.storage_errors(), whole_file(self.path / name) as file:
                file.write(text.encode())

    def require_checkpoint(self, fault: str) -> None:
        """Raise with `fault` if there is nothing that the end of a run could be written again from."""
        if not self.checkpoints.files():
            raise DamagedFileError(
                f"{fault}, and {self.checkpoints.folder} holds nothing to write it again from; restore "
                "it, or begin a run in another folder with --out"
            )

    def newest_checkpoint(
        self,
        device: torch.device,
        warn: Callable[[str], None],
        restore: Callable[[dict[str, Any]], None],
    ) -> dict[str, Any] | None:
        """The checkpoint to resume from, handed to `restore`; None if no round would be lost."""
        state = self.checkpoints.newest(device, warn, restore)
        if state is None:
            self._require_unplayed()
            warn(f"{self.path} holds no checkpoint; the run begins again from its start")
        return state

    def _require_unplayed(self) -> None:
        """Raise if a file is there that only a run with a checkpoint writes."""
        epochs = self.metrics.text().count("\n")
        ends = [name for name in ENDS if (self.path / name).exists()]
        if not epochs and not ends:
            return
        names = [self.metrics.path.name] * bool(epochs) + ends
        sign = f"{names[0]} has {counted(epochs, 'epoch')}" if epochs else f"{names[0]} is there"
        raise DamagedFileError(
            f"no checkpoint is left in {self.path}, though {sign}; restore one, begin a run in another "
            f"folder with --out, or delete {', '.join(names)} to run this again from its start"
        )

    def saved(self) -> str:
        """What a run that failed can be resumed from, as the end of a sentence."""
        found = self.checkpoints.files()
        if not found:
            return "nothing was saved, as it happened before the first checkpoint"
        return f"the last good state is saved in {found[0]}"


def _is_ours(name: str) -> bool:
    """Whether runs write files of this name."""
    return name in NAMES or Checkpoints.NAME.fullmatch(name) is not None


def _require_outside_runs(path: Path) -> None:
    """Raise if a new run would lie inside the folder of another."""
    for parent in path.absolute().parents:
        if (parent / "config.json").is_file() and (parent / "checkpoints").is_dir():
            raise ConfigError(f"{path} lies inside {parent}, the folder of a run; choose another --out")


def _require_new(path: Path, first: Mapping[str, str]) -> None:
    """Raise if a folder holds anything but what this same run, killed at its start, has left."""
    names = sorted(p.name for p in path.iterdir() if not _is_left(p, first)) if path.exists() else []
    if not names:
        return
    name, resume = names[0], ""
    if NAME in names:
        name, resume = NAME, f", or resume it with --resume {path}"
    raise ConfigError(f"{path} is not empty: it holds {name}; choose another --out{resume}")


def _is_left(path: Path, first: Mapping[str, str]) -> bool:
    if is_scratch(path, lambda name: name in {NAME, *first}):
        return True
    if path.name not in first or not is_plain(path):
        return False
    wanted = first[path.name].encode()
    with path.open("rb") as file:
        return file.read(len(wanted) + 1) == wanted
