"""Kinds of runs, as a list of runs sees them.

A kind says by which file its folders are known, which file it writes last, and what can be said of one
without loading images, checkpoints or weights. Ours are registered in `own_kinds`; add yours with
`RUN_KINDS.add(name, RunKind(...))`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from xnas.errors import DamagedFileError
from xnas.files import read_plain
from xnas.registry import Registry
from xnas.runs.config_file import NAME as CONFIG
from xnas.runs.config_file import read_json
from xnas.words import short

MOST_BYTES = 1 << 28
"""Of a file whose lines are counted."""
MOST_JSON = 1 << 26
"""Of any other file."""
LARGEST = 1e15
"""Of numbers that mean anything here."""
METRICS = "metrics.jsonl"
OWN = {
    "genotype.json": "Genotype",
    "wiring.json": "Wiring",
    "resnet.json": "ResNet",
    "timm.json": "TimmModel",
}
"""Files of a training that hold its cell or network, and what that is called in Python."""
REMEDY = "restore it from a copy"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKind:
    """An entry of `RUN_KINDS`; its name there is what `kind` in config.json is, if it has one."""

    noun: str
    """What such a run is called."""
    last: str
    """The file that it writes last: where it is, the run is finished."""
    describe: Callable[[RunFiles], Description]
    """Reads what a list shows; may raise a DamagedFileError."""
    sign: str = CONFIG
    """The file that every such folder has. Those with config.json are told apart by its `kind`."""
    ended: Callable[[RunFiles], bool] | None = None
    """Whether a run is finished, where its last file is there from the start."""
    resumed_by: str | None = None
    """The command that resumes such a run, if it is not the kind's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a kind knows of one of its folders; the fields are those of `records.ListedRun`."""

    data: str | None = None
    method: str | None = None
    seed: int | None = None
    cell: str | None = None
    done: int | None = None
    planned: int | None = None
    validation: float | None = None
    test: float | None = None
    truth: float | None = None
    next_command: str | None = None
    """The command after a finished run."""


RUN_KINDS: Registry[RunKind] = Registry("kind of run")
"""Kinds of runs by name, the name of their command where they have one; add your own."""


@dataclass(frozen=True)
class RunFiles:
    """The files of one folder, each read when it is asked for."""

    path: Path
    config: Mapping[str, Any] = field(default_factory=dict)
    """The content of config.json; empty for kinds without one."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings in config.json."""
        return mapping(self.config.get("config"))

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        return (self.path / name).is_file()

    def json(self, name: str) -> dict[str, Any]:
        """The object in a JSON file; empty if there is none. Raises a DamagedFileError for another."""
        return read_json(self.path / name, MOST_JSON, REMEDY) if self.has(name) else {}

    @cached_property
    def metrics(self) -> list[bytes]:
        """The lines of metrics.jsonl, one per epoch."""
        return self.lines(METRICS)

    @cached_property
    def newest(self) -> dict[str, Any]:
        """The last epoch of metrics.jsonl; empty without any."""
        return self.line(METRICS, len(self.metrics), self.metrics[-1]) if self.metrics else {}

    def lines(self, name: str) -> list[bytes]:
        """The whole lines of a file, without a torn last one; none if it is not there."""
        try:
            content = read_plain(self.path / name, MOST_BYTES)
        except FileNotFoundError:
            return []
        except OSError as error:
            fault = f"cannot read {self.path / name}: {short(error)}; {REMEDY}"
            raise DamagedFileError(fault) from error
        return content.split(b"\n")[:-1]

    def line(self, name: str, number: int, line: bytes) -> dict[str, Any]:
        """The object in a line; raises a DamagedFileError for anything else."""
        fault = f"{self.path / name} is damaged in line {number}"
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DamagedFileError(f"{fault}: it is not JSON ({short(error, 80)}); {REMEDY}") from error
        if not isinstance(found, dict):
            raise DamagedFileError(f"{fault}: it is not an object; {REMEDY}")
        return found


def own_file(cell: object) -> str | None:
    """The file in the folder of a training that has its cell, if it was given one without a name.

    Older folders have the beginning of the cell as Python prints it in place of the file's name.
    """
    known = text(cell) or ""
    return next(
        (file for file, kind in OWN.items() if known == file or known.startswith(f"{kind}(")), None
    )


def mapping(value: object) -> Mapping[str, Any]:
    """A value of a file if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def number(value: object) -> float | None:
    """A value of a file if it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < LARGEST else None


def whole(value: object) -> int | None:
    """A value of a file if it is a whole number, else None."""
    known = isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST
    return int(value) if known else None  # type: ignore[call-overload]


def text(value: object) -> str | None:
    """A value of a file if it is text, else None."""
    return value if isinstance(value, str) else None
