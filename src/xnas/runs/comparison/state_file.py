"""comparison.json: the settings of a comparison, its data, and every run that was planned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from reprlib import repr as brief
from typing import Any

from xnas.errors import ConfigError, DamagedFileError, VersionError
from xnas.files import whole_file
from xnas.process.folder import storage_errors
from xnas.process.versions import made_with
from xnas.records import RunComparison
from xnas.runs.comparison.config import CompareConfig
from xnas.runs.comparison.plan import ComparedData
from xnas.runs.config_file import as_json, read_json
from xnas.runs.run_folder import MOVED

NAME = "comparison.json"
FORMAT, VERSION = "xnas-comparison", 1
MOST_BYTES = 1 << 28  # with all curves
REMEDY = "restore it from a copy, or begin a comparison in another folder"


@dataclass(frozen=True, slots=True)
class SavedData:
    """A dataset as the file has it."""

    label: str
    place: str | None
    fingerprint: str


@dataclass(frozen=True, slots=True)
class SavedComparison:
    """What a comparison is resumed from. Outcomes are read from run folders."""

    config: Mapping[str, Any]
    data: tuple[SavedData, ...]
    reasons: Mapping[str, str]
    """Why runs failed, by name."""


def write_state(
    folder: Path, config: CompareConfig, data: Sequence[ComparedData], found: RunComparison
) -> None:
    """Write the file, whole or not at all."""
    saved = [asdict(SavedData(d.label, d.place, d.images.fingerprint())) for d in data]
    content = {
        "format": FORMAT,
        "version": VERSION,
        "state": state_of(found),
        "config": asdict(config),
        "data": saved,
        **asdict(found),
        "made_with": made_with(),
    }
    with storage_errors(folder, MOVED), whole_file(folder / NAME) as file:
        file.write(as_json(content).encode())


def state_of(found: RunComparison) -> str:
    """`waiting` while runs are to come, else `finished`; failed runs can be tried again."""
    return "waiting" if found.done + found.failed < len(found.runs) else "finished"


def read_state(folder: Path) -> SavedComparison:
    """The file of a folder; raises for another version and for what is damaged."""
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}; give the folder of a comparison")
    path = folder / NAME
    if not path.is_file():
        raise ConfigError(f"{folder} is no comparison: {NAME} is not there; give another folder")
    saved = read_json(path, MOST_BYTES, REMEDY)
    if saved.get("format") != FORMAT:
        raise ConfigError(
            f"{folder} is no comparison: the format of {NAME} is {brief(saved.get('format'))}"
        )
    if saved.get("version") != VERSION:
        raise VersionError(
            f"{path} has version {brief(saved.get('version'))}, this xnas reads {VERSION}; resume it "
            "with the version that wrote it"
        )
    config, data, runs = (saved.get(name) for name in ("config", "data", "runs"))
    if not isinstance(config, dict) or not isinstance(data, list) or not isinstance(runs, list):
        raise DamagedFileError(f"{path} is damaged: settings, data or runs are missing; {REMEDY}")
    try:
        names = [declared.name for declared in fields(SavedData)]
        known = tuple(SavedData(**{name: one[name] for name in names}) for one in data)
        reasons = {run["name"]: run["reason"] for run in runs if run.get("reason") is not None}
    except (AttributeError, LookupError, TypeError) as error:
        raise DamagedFileError(f"{path} is damaged: {brief(error)}; {REMEDY}") from error
    return SavedComparison(json.loads(json.dumps(config)), known, reasons)
