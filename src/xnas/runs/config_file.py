"""config.json: the resolved settings of a run, and the images and the processes that it began with."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from reprlib import repr as brief
from shlex import quote
from typing import TYPE_CHECKING, Any

from xnas.errors import ConfigError, DamagedFileError, VersionError
from xnas.files import read_plain
from xnas.options import Options, fixed_settings
from xnas.process.versions import made_with
from xnas.words import short

if TYPE_CHECKING:  # torch, which a list of runs does without
    from xnas.engine.distributed import Ranks

NAME = "config.json"
FORMAT, VERSION = "xnas-run", 1
MOST_BYTES = 1 << 20  # of config.json, which has some 2,000
MOST_PROCESSES = 1 << 20
REMEDY = "restore it from a copy, or begin a run in another folder"
KINDS = {"search": "search", "train": "training", "sample": "sampling", "fit": "fit"}
"""What a run is called, by the command that makes it."""


@dataclass(frozen=True, kw_only=True)
class ConfigFile:
    """The content of config.json."""

    kind: str
    """The command that began the run: `search`, `train`, ..."""
    data: str | None
    """A dataset's name or a folder; None if images were given in memory."""
    fingerprint: str
    """Of the images."""
    config: dict[str, Any]
    """The resolved settings."""
    test_fingerprint: str | None = None
    """Of the test images of a training; None if there are none, or if the run does not test."""
    processes: int = 1

    def text(self) -> str:
        """As it is written."""
        tests = {"test_fingerprint": self.test_fingerprint} if self.test_fingerprint else {}
        return as_json(
            {
                "format": FORMAT,
                "version": VERSION,
                "kind": self.kind,
                "data": self.data,
                "data_fingerprint": self.fingerprint,
                **tests,
                "config": self.config,
                "processes": self.processes,
                "made_with": made_with(),
            }
        )

    @classmethod
    def read(cls, folder: Path, kind: str) -> ConfigFile:
        """The file of a run of that kind; raises for another kind or version and for damaged files."""
        path = folder / NAME
        saved = read_json(path)
        if saved.get("format") != FORMAT:
            given = brief(saved.get("format"))
            raise ConfigError(f"{folder} is not a run folder: the format of config.json is {given}")
        if saved.get("version") != VERSION:
            raise VersionError(
                f"the run in {folder} has format version {brief(saved.get('version'))}, this xnas "
                f"reads {VERSION}; resume it with the version that wrote it"
            )
        if saved.get("kind") != kind:
            raise _other_kind(folder, str(saved.get("kind"))[:50], kind)
        fingerprint, config = saved.get("data_fingerprint"), saved.get("config")
        data = saved.get("data")
        if not isinstance(data, str | None) or not isinstance(fingerprint, str):
            raise DamagedFileError(f"{path} is damaged: the images are missing; {REMEDY}")
        tests = saved.get("test_fingerprint")
        if not isinstance(tests, str | None):
            raise DamagedFileError(f"{path} is damaged: the test images are missing; {REMEDY}")
        if not isinstance(config, dict):
            raise DamagedFileError(f"{path} is damaged: the settings are missing; {REMEDY}")
        processes = saved.get("processes", 1)
        if type(processes) is not int or not 1 <= processes <= MOST_PROCESSES:
            raise DamagedFileError(
                f"{path} is damaged: the number of processes is {brief(processes)}; restore it"
            )
        return cls(
            kind=kind,
            data=data,
            fingerprint=fingerprint,
            config=config,
            test_fingerprint=tests,
            processes=processes,
        )

    def deciding(self, settings: type[Options]) -> dict[str, Any]:
        """Settings that decide which rounds are played, with the images and processes, as JSON has them.

        A checkpoint that was saved under others belongs to another run.
        """
        plain = json.loads(as_json(self.config))
        decide = fixed_settings(settings, plain)
        return decide | {"images": self.fingerprint, "processes": self.processes}

    def require_processes(self, folder: Path, ranks: Ranks) -> None:
        """Raise unless as many processes began the run: each normalises by its part of a batch."""
        begun = self.processes
        if begun == ranks.size:
            return
        way = f"torchrun --nproc-per-node {begun} -m xnas" if begun != 1 else "xnas, without torchrun"
        raise ConfigError(
            f"the run in {folder} was begun by {begun} processes (its world size), and now there are "
            f"{ranks.size}; resume it with {begun}: {way}"
        )


def read_json(path: Path, most: int = MOST_BYTES, remedy: str = REMEDY) -> dict[str, Any]:
    """The object in a JSON file of at most `most` bytes; raises for anything else, with `remedy`."""
    try:
        saved = json.loads(read_plain(path, most))
    except (OSError, ValueError, RecursionError) as error:
        raise DamagedFileError(
            f"cannot read {path}: {short(error)}; it may be damaged: {remedy}"
        ) from error
    if not isinstance(saved, dict):
        raise DamagedFileError(f"{path} is damaged: it does not hold an object; {remedy}")
    return saved


def as_json(value: object) -> str:
    """Records as the files of a run hold them."""
    return json.dumps(value, indent=1, default=str) + "\n"


def config_of(
    kind: str,
    data: str | None,
    fingerprint: str,
    config: Any,  # noqa: ANN401 - a dataclass
    *,
    processes: int = 1,
    test_fingerprint: str | None = None,
) -> ConfigFile:
    """What a new run writes."""
    return ConfigFile(
        kind=kind,
        data=data,
        fingerprint=fingerprint,
        config=asdict(config),
        test_fingerprint=test_fingerprint,
        processes=processes,
    )


def _other_kind(folder: Path, found: str, wanted: str) -> ConfigError:
    way = f"give the run folder of a {KINDS[wanted]}"
    if found in KINDS:
        way = f"resume it with: xnas {found} --resume {quote(str(folder))}"
    return ConfigError(f"{folder} holds a {KINDS.get(found, found)}, not a {KINDS[wanted]}; {way}")


def images_of(folder: Path) -> str | None:
    """Where the images of a run are: a dataset's name or a folder; None if the run does not say."""
    found = read_json(folder / NAME).get("data")
    return found if isinstance(found, str) else None
