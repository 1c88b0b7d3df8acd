"""A run folder: config.json, metrics.jsonl, checkpoints, and what the run found.

Everything but the metrics is written whole or not at all. One process at a time holds the folder.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from itertools import count
from pathlib import Path
from reprlib import repr as brief
from shlex import quote
from typing import Any

import torch

from xnas.engine.checkpoint import Checkpoints
from xnas.errors import ConfigError, VersionError
from xnas.files import is_plain, is_scratch, open_plain, sweep, whole_file
from xnas.options import Options, fixed_settings
from xnas.process.folder import require_no_link, storage_errors
from xnas.process.versions import made_with
from xnas.runs.command_line import flags
from xnas.runs.metrics_file import MetricsFile
from xnas.runs.search_config import SearchConfig
from xnas.runs.train_config import TrainConfig
from xnas.words import counted

FORMAT, VERSION = "xnas-run", 1
MOST_CONFIG_BYTES = 1 << 20  # of config.json, which has some 2,000
MOST_PROCESSES = 1 << 20
WRITTEN = ("metrics.jsonl", "checkpoints", "best", "figures", "tensorboard")
"""What a run writes into without replacing it."""
READ = ("config.json", "metrics.jsonl", "genotype.json", "model.json", "model.safetensors")
"""What it reads again: a pipe would keep it waiting, a device without an end fill its memory."""
REMEDY = "restore it from a copy, or begin a run in another folder"
KINDS = {"search": "search", "train": "training"}  # by the command that makes them
MOVED = "copy the run folder elsewhere and resume it there"
CONFIGS: dict[str, type[Options]] = {"search": SearchConfig, "train": TrainConfig}
ENDS = ("discretization.json", "ledger.json", "test.json", "best", "model.safetensors")
"""What a run writes when it has played all, but for the last file, which says so."""
NAMES = {"config.json", "recipe.json", "genotype.json", "metrics.jsonl", "model.json", *ENDS}

_held: set[int] = set()


def _let_go() -> None:
    """Close the locks of the process that forked this one.

    Otherwise workers that outlive a killed run by some seconds would keep its folder locked.
    """
    for handle in _held:
        os.close(handle)
    _held.clear()


os.register_at_fork(after_in_child=_let_go)


class RunFolder:
    """The files of one run; `data` is None where images were handed over in memory."""

    def __init__(self, path: Path, data: str | None, first: Mapping[str, str] | None = None) -> None:
        self.path, self.data = path, data
        self.first = first or {}
        """What is written before config.json, by name."""
        self.settings: dict[str, Any] = {}
        """Those that say which rounds are played: checkpoints of others are not this run's."""
        self.changes: dict[str, Any] = {}
        """Others that were given anew when the run was resumed."""

    @classmethod
    def create(cls, path: Path, data: str | None, first: Mapping[str, str] | None = None) -> RunFolder:
        """A new folder, or one that is there and empty but for what this run would write first."""
        with storage_errors(path):
            require_no_link(path)
            if path.is_file():
                raise ConfigError(f"{path} is a file; choose a folder with --out")
            _require_new(path, first or {})
            path.mkdir(parents=True, exist_ok=True)
        return cls(path, data, first)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """The folder of a run that was started."""
        with storage_errors(path, MOVED):
            require_no_link(path)
            if not path.is_dir():
                raise ConfigError(f"there is no folder {path}; give the folder of a run")
            if not (path / "config.json").is_file():
                raise ConfigError(
                    f"{path} is no run folder: config.json is not there; a run that was killed before "
                    "it wrote that is begun again by its first command"
                )
            for name in WRITTEN:
                require_no_link(path / name)
            for name in READ:
                if (path / name).exists() and not (path / name).is_file():
                    raise ConfigError(f"{path / name} is no file; a run reads it again: remove it")
        return cls(path, _read_json(path / "config.json").get("data"))

    @contextmanager
    def locked(self, *, new: bool = False) -> Iterator[None]:
        """Hold the folder: another process that wants it is refused.

        The folder itself is locked, because the files in it are replaced when they are written. What
        killed processes left half-written is removed. `new`: nobody may have begun a run in it since
        `create` looked.
        """
        with self.told():
            handle = os.open(self.path, os.O_RDONLY)
        _held.add(handle)
        try:
            try:
                with self.told():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ConfigError as error:
                if isinstance(error.__cause__, BlockingIOError):
                    raise ConfigError(
                        f"another process is running in {self.path}; wait for it"
                    ) from None
                raise
            with self.told():
                if new:
                    _require_new(self.path, self.first)
                for folder in (self.path, self.checkpoints.folder, self.path / "best"):
                    sweep(folder, _is_ours)
            try:
                yield
            finally:  # closing alone would leave it to a process that was forked without our knowing
                fcntl.flock(handle, fcntl.LOCK_UN)
        finally:
            _held.discard(handle)
            os.close(handle)

    @staticmethod
    def next_free(kind: str, data: str) -> Path:
        """runs/KIND-DATA-1, or the first number that is free."""
        name = "".join(c if c.isalnum() else "-" for c in Path(data).name) or "data"
        return next(p for n in count(1) if not (p := Path("runs") / f"{kind}-{name}-{n}").exists())

    def told(self) -> AbstractContextManager[None]:
        """Tell failures of the file system in one line; a run that was begun can go on elsewhere."""
        begun = os.path.exists(self.path / "config.json")  # noqa: PTH110 - False where it cannot tell
        return storage_errors(self.path, MOVED) if begun else storage_errors(self.path)

    @property
    def checkpoints(self) -> Checkpoints:
        """The last few of them."""
        return Checkpoints(self.path / "checkpoints")

    @property
    def metrics(self) -> MetricsFile:
        """What every epoch came to."""
        return MetricsFile(self.path / "metrics.jsonl", self.told)

    def write_config(
        self,
        kind: str,
        fingerprint: str,
        config: Any,  # noqa: ANN401 - a dataclass
        *,
        processes: int = 1,
    ) -> None:
        """The resolved settings, with what they were resolved on."""
        text = as_json(
            {
                "format": FORMAT,
                "version": VERSION,
                "kind": kind,
                "data": self.data,
                "data_fingerprint": fingerprint,
                "config": asdict(config),
                "processes": processes,
                "made_with": made_with(),
            }
        )
        self.write_text("config.json", text)
        self.settings = _settings(json.loads(text))

    def require_processes(self, size: int) -> None:
        """Raise unless as many processes began the run: batch statistics are those of their parts."""
        begun = _read_json(self.path / "config.json").get("processes", 1)
        if type(begun) is not int or not 1 <= begun <= MOST_PROCESSES:
            raise ConfigError(
                f"{self.path / 'config.json'} is damaged: the number of processes is {brief(begun)}; "
                "restore it"
            )
        if begun != size:
            way = (
                f"torchrun --nproc-per-node {begun} -m xnas" if begun != 1 else "xnas, without torchrun"
            )
            raise ConfigError(
                f"the run in {self.path} was begun by {begun} processes (its world size), and now there "
                f"are {size}; go on with {begun}: {way}"
            )

    def read_config(self, kind: str) -> tuple[str, dict[str, Any]]:
        """Fingerprint of the data and settings of a run of that kind."""
        saved = _read_json(self.path / "config.json")
        if saved.get("format") != FORMAT:
            given = brief(saved.get("format"))
            raise ConfigError(f"{self.path} is not a run folder: the format of config.json is {given}")
        if saved.get("version") != VERSION:
            raise VersionError(
                f"the run in {self.path} has format version {brief(saved.get('version'))}, this xnas "
                f"reads {VERSION}; go on with the version that wrote it"
            )
        if saved.get("kind") != kind:
            given, wanted = str(saved.get("kind"))[:50], KINDS[kind]
            held, way = KINDS.get(given, given), f"give the run folder of a {wanted}"
            if given in KINDS:
                way = f"go on with: xnas {given} --resume {quote(str(self.path))}"
            raise ConfigError(f"{self.path} holds a {held}, not a {wanted}; {way}")
        fingerprint, config = saved.get("data_fingerprint"), saved.get("config")
        placed = isinstance(saved.get("data"), str | None)
        if not placed or not isinstance(fingerprint, str) or not isinstance(config, dict):
            raise ConfigError(
                f"{self.path / 'config.json'} is damaged: settings or data are missing; {REMEDY}"
            )
        self.settings = _settings(saved)
        return fingerprint, config

    @property
    def resumed_by(self) -> str:
        """The options of the command that goes on."""
        return flags({"resume": self.path, **self.changes})

    @property
    def resumed_with(self) -> str:
        """The arguments of the function that goes on, where images were handed over in memory."""
        changes = [f"{name}={value!r}" for name, value in self.changes.items()]
        return ", ".join([repr(str(self.path)), "data=...", *changes])

    def write_json(self, name: str, value: object) -> None:
        """Write records as JSON, whole or not at all."""
        self.write_text(name, as_json(value))

    def write_text(self, name: str, text: str) -> None:
        """Write a file whole or not at all."""
        with self.told(), whole_file(self.path / name) as file:
            file.write(text.encode())

    def require_checkpoint(self, fault: str) -> None:
        """Raise with `fault` if there is nothing that the end of a run could be written again from."""
        if not self.checkpoints.files():
            raise ConfigError(
                f"{fault}, and {self.checkpoints.folder} holds nothing to write it again from; restore "
                "it, or begin a run in another folder with --out"
            )

    def newest_checkpoint(
        self,
        device: torch.device,
        warn: Callable[[str], None],
        restore: Callable[[dict[str, Any]], None],
    ) -> dict[str, Any] | None:
        """What to go on from, handed to `restore`; None if nothing was played that could be lost."""
        state = self.checkpoints.newest(device, warn, restore)
        if state is None:
            self._require_unplayed()
            warn(f"{self.path} holds no checkpoint; the run begins again from its start")
        return state

    def _require_unplayed(self) -> None:
        """Raise if there is anything that a checkpoint came before: it would be lost silently."""
        epochs = self.metrics.text().count("\n")
        ends = [name for name in ENDS if (self.path / name).exists()]
        if not epochs and not ends:
            return
        names = [self.metrics.path.name] * bool(epochs) + ends
        told = f"{names[0]} tells of {counted(epochs, 'epoch')}" if epochs else f"{names[0]} is there"
        raise ConfigError(
            f"no checkpoint is left in {self.path}, though {told}; restore one, begin a run in another "
            f"folder with --out, or delete {', '.join(names)} to play this run again from its start"
        )

    def kept(self) -> str:
        """What of a run that failed is there to go on from, as the end of a sentence."""
        found = self.checkpoints.files()
        if not found:
            return "nothing was kept, as it happened before the first checkpoint"
        return f"what was good before it is kept in {found[0]}"


def as_json(value: object) -> str:
    """Records as the files of a run hold them."""
    return json.dumps(value, indent=1, default=str) + "\n"


def _settings(saved: dict[str, Any]) -> dict[str, Any]:
    """Of the content of config.json, what says which rounds are played."""
    kept = fixed_settings(CONFIGS[saved["kind"]], saved["config"])
    return kept | {"images": saved["data_fingerprint"], "processes": saved.get("processes", 1)}


def _is_ours(name: str) -> bool:
    """Whether runs write files of this name."""
    return name in NAMES or Checkpoints.NAME.fullmatch(name) is not None


def _require_new(path: Path, first: Mapping[str, str]) -> None:
    """Raise if a folder holds anything but what this same run, killed at its start, has left."""
    names = sorted(p.name for p in path.iterdir() if not _is_left(p, first)) if path.exists() else []
    if not names:
        return
    name, resume = names[0], ""
    if "config.json" in names:
        name, resume = "config.json", f", or go on with --resume {path}"
    raise ConfigError(f"{path} is not empty: it holds {name}; choose another --out{resume}")


def _is_left(path: Path, first: Mapping[str, str]) -> bool:
    if is_scratch(path, lambda name: name in {"config.json", *first}):
        return True
    if path.name not in first or not is_plain(path):
        return False
    wanted = first[path.name].encode()
    with path.open("rb") as file:
        return file.read(len(wanted) + 1) == wanted


def _read_json(path: Path) -> dict[str, Any]:
    try:
        with open_plain(path) as file:
            saved = json.loads(file.read(MOST_CONFIG_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"cannot read {path}: {error}; it may be damaged: {REMEDY}") from error
    if not isinstance(saved, dict):
        raise ConfigError(f"{path} is damaged: it holds no settings; {REMEDY}")
    return saved
