"""The runs in a folder, with their states.

Nothing is loaded but small files of text, and nothing is written. Whatever a folder holds, it is at
worst a line that says what is wrong with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from reprlib import repr as brief
from typing import Any

from xnas.errors import ConfigError, VersionError
from xnas.records import ListedRun, State
from xnas.runs.config_file import FORMAT, KINDS, MOST_BYTES, VERSION, read_json
from xnas.runs.config_file import NAME as CONFIG
from xnas.runs.listing import folds_kind, own_kinds  # noqa: F401 - register ours
from xnas.runs.listing.kinds import REMEDY, RUN_KINDS, Description, RunFiles, RunKind, text
from xnas.runs.lock import is_held
from xnas.runs.resume_command import ResumeCommand

DEPTH = 3
"""Levels of folders that are looked through."""
OTHERS = "look at it with the version that wrote it"
INNER = {"best", "checkpoints", "figures", "tensorboard"}
"""Folders of a run that are no runs, though one of them holds a model."""
DRAWN = {"figures", "report.html"}
"""What can be drawn of a run at any time: it says nothing of the run's age."""


class _ForeignError(Exception):
    """A config.json of another program."""


def runs_in(folder: Path) -> list[ListedRun]:
    """The runs in a folder, the one that changed last first.

    If the folder is a run itself, it comes first, and then the runs that it has begun, such as the
    trainings of a sampling. Runs inside other runs are left out.
    """
    if not folder.is_dir():
        known = "is a file" if folder.exists() else "is not there"
        raise ConfigError(f"the folder {folder} {known}; give a folder of runs, such as runs")
    try:
        own = _listed(folder)
        below = [run for path in _subfolders(folder) for run in _below(path, DEPTH)]
    except OSError as error:
        raise ConfigError(
            f"cannot read {folder}: {error.strerror}; give a folder that you may read"
        ) from error
    below.sort(key=lambda run: (-run.changed, run.path))
    return ([own] if own is not None else []) + below


def _below(folder: Path, depth: int) -> Iterator[ListedRun]:
    """The run in a folder or, if it is none, those in its subfolders."""
    run = _listed(folder)
    if run is not None:
        yield run
    elif depth > 1:
        try:
            inner = _subfolders(folder)
        except OSError:  # one that may not be read hides no runs of this user's
            return
        for path in inner:
            yield from _below(path, depth - 1)


def _subfolders(folder: Path) -> list[Path]:
    """Folders in a folder, without links, hidden ones and parts of runs."""
    with os.scandir(folder) as entries:
        found = [
            Path(entry)
            for entry in entries
            if entry.is_dir(follow_symlinks=False)
            and not entry.name.startswith(".")
            and entry.name not in INNER
        ]
    return sorted(found)


def _listed(folder: Path) -> ListedRun | None:
    """The run in a folder, or None if there is none."""
    name = _kind_of(folder)
    if name is None:
        return None
    config: Mapping[str, Any] = {}
    noun, fault, found = "run", None, Description()
    state: State = "damaged"
    try:
        if name == CONFIG:
            config = read_json(folder / CONFIG, MOST_BYTES, REMEDY)
            name = _require_ours(folder, config)
        kind = RUN_KINDS[name]
        noun = kind.noun
        files = RunFiles(folder, config)
        state = _state(files, kind)
        found = kind.describe(files)
    except _ForeignError:
        return None
    except VersionError as error:
        state, fault = "unreadable", str(error)
    except ConfigError as error:
        state, fault = "damaged", str(error)
    known = {field.name: getattr(found, field.name) for field in fields(Description)}
    known["next_command"] = _following(folder, name, state, found, config)
    return ListedRun(
        path=str(folder), kind=noun, state=state, fault=fault, changed=_changed(folder), **known
    )


def _kind_of(folder: Path) -> str | None:
    """`config.json` if that tells the kind; else the kind whose file is there; None for no run."""
    if os.path.lexists(folder / CONFIG):
        return CONFIG
    for name, kind in RUN_KINDS.items():
        if kind.sign != CONFIG and (folder / kind.sign).is_file():
            return name
    return None


def _require_ours(folder: Path, config: Mapping[str, Any]) -> str:
    """The kind of a run; raises if its format, version or kind is not known."""
    version, kind = config.get("version"), config.get("kind")
    if config.get("format") != FORMAT:
        raise _ForeignError
    if version != VERSION:
        raise VersionError(
            f"{folder / CONFIG} has version {brief(version)}, this xnas reads {VERSION}; {OTHERS}"
        )
    if text(kind) not in RUN_KINDS:
        raise VersionError(
            f"{folder / CONFIG} is of the kind {brief(kind)}, which this xnas does not know; {OTHERS}"
        )
    return str(kind)


def _state(files: RunFiles, kind: RunKind) -> State:
    if is_held(files.path):
        return "running"
    ended = files.has(kind.last) if kind.ended is None else kind.ended(files)
    return "finished" if ended else "stopped"


def _following(
    folder: Path, name: str, state: State, found: Description, config: Mapping[str, Any]
) -> str | None:
    """The next command."""
    if state == "finished":
        return found.next_command
    if state != "stopped":
        return None
    in_memory = config.get("data") is None and name in KINDS
    command = RUN_KINDS[name].resumed_by or name
    return str(ResumeCommand(program="xnas", kind=command, path=folder, in_memory=in_memory))


def _changed(folder: Path) -> float:
    """When a file of a run in its folder last changed."""
    try:
        with os.scandir(folder) as entries:
            kept = [entry for entry in entries if entry.name not in DRAWN]
            times = [entry.stat(follow_symlinks=False).st_mtime for entry in kept]
        return max(times, default=folder.lstat().st_mtime)
    except OSError:  # it was removed meanwhile
        return 0.0
