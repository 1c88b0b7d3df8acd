"""What every report reads of a run folder, as far as it can be read.

A killed run has no end, a damaged one has files that are torn. Faults are collected, a line each, and
everything else is still shown.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

from xnas import __version__
from xnas.errors import ConfigError, XnasError
from xnas.options import Options
from xnas.records import ListedRun
from xnas.report.page.stories import RunHead
from xnas.runs.command_line import flags
from xnas.runs.config_file import NAME as CONFIG
from xnas.runs.config_file import read_json
from xnas.runs.fit.plan_file import PLAN, SUMMARY, is_of_fit
from xnas.runs.fold_folders import require_one_run
from xnas.runs.listing.kinds import METRICS, REMEDY, RUN_KINDS, RunFiles, mapping, text, whole
from xnas.runs.listing.runs_in import runs_in
from xnas.words import counted, short

NOT_OF_THE_COMMAND = {"out", "quiet", "report", "cell"}
"""Settings that a command to repeat a run leaves out, or has in another place."""
READABLE = {"running", "stopped", "finished"}
FINISHED = {"finished", "damaged"}
"""States of runs that may have ended; of a damaged one the files say whether it has."""
REPORTED = "the folder of a search, a training, a sampling, a fit or a comparison"
"""What there is a report of, in words."""
MEMORY, UNKNOWN = "images in memory", "unknown images"
NO_CONFIG = f"{{path}} is missing, so the settings of the run are unknown; {REMEDY}"
PAGE = "report.html"
"""Of a run, in its folder."""
LEDGER = "ledger.jsonl"
"""Of a sampling."""
Record = TypeVar("Record")
Found = TypeVar("Found")


class ReadRun:
    """A run folder: what a list of runs says of it, its files, and the faults found so far."""

    def __init__(self, path: Path, listed: ListedRun, config: Mapping[str, Any]) -> None:
        self.path, self.listed, self.config = path, listed, config
        self.files = RunFiles(path, config)
        self.faults: list[str] = [] if listed.fault is None else [listed.fault]

    @classmethod
    def open(cls, path: Path, *, finished: bool = False) -> ReadRun:
        """A run folder; raises a ConfigError for anything else.

        `finished`: this process holds it, and has finished the run.
        """
        if not path.is_dir():
            known = "is a file" if path.exists() else "is not there"
            raise ConfigError(f"the folder {path} {known}; give the folder of a run")
        require_one_run(path)
        first = next((run for run in runs_in(path) if Path(run.path) == path), None)
        first = first or _without_config(path)
        if first is None:
            there = "of another program" if (path / CONFIG).exists() else "not there"
            raise ConfigError(f"{path} is no run folder: config.json is {there}; give {REPORTED}")
        try:
            config: Mapping[str, Any] = read_json(path / CONFIG)
        except ConfigError:  # the list says so
            config = {}
        if finished:
            kind = next(kind for kind in RUN_KINDS.values() if kind.noun == first.kind)
            following = kind.describe(RunFiles(path, config)).next_command
            first = replace(first, state="finished", next_command=following)
        return cls(path, first, config)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The resolved settings."""
        return mapping(self.config.get("config"))

    def attempt(
        self,
        what: str,
        read: Callable[[], Found],
        otherwise: Any,  # noqa: ANN401 - nothing, in the form of `Found`
    ) -> Found:
        """What `read` gives of the file `what`; if it cannot be read, note that in a line, once."""
        try:
            return read()
        except XnasError as error:
            if not self.is_noted(what):
                named = str(self.path) in str(error)
                self.note(str(error) if named else f"{self.path / what} is damaged: {error}")
        except (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
            if not self.is_noted(what):
                self.note(f"{self.path / what} is damaged: {short(error, 100)}; {REMEDY}")
        nothing: Found = otherwise
        return nothing

    def is_noted(self, what: str) -> bool:
        """Whether there is a fault of the file `what`."""
        return any(str(self.path / what) in fault for fault in self.faults)

    def note(self, fault: str) -> None:
        """Remember a fault, once."""
        if fault not in self.faults:
            self.faults.append(fault)

    def records(self, from_json: Callable[[dict[str, Any]], Record]) -> tuple[Record, ...]:
        """The epochs in metrics.jsonl, up to the first line that cannot be read."""
        found: list[Record] = []
        lines = self.attempt(METRICS, lambda: self.files.metrics, [])
        for number, line in enumerate(lines, start=1):
            try:
                found.append(from_json(json.loads(line)))
            except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
                where = f"{self.path / METRICS} is damaged in line {number}"
                self.note(f"{where}: {short(error, 100)}; the epochs before it are shown")
                break
        return tuple(found)

    def note_missing_config(self) -> None:
        """Note that config.json is not there, or cannot be read: the run is damaged."""
        self.listed = replace(self.listed, state="damaged")
        if not self.is_noted(CONFIG):
            self.note(NO_CONFIG.format(path=self.path / CONFIG))

    def require_epochs(self, epochs: int, planned: int) -> None:
        """Note it if a finished run has fewer epochs than it must have had, and no line says why."""
        if self.listed.state in FINISHED and epochs < planned and not self.is_noted(METRICS):
            self.note(
                f"{self.path / METRICS} has {epochs} of {counted(planned, 'epoch')}, though the run is "
                f"finished; {REMEDY}"
            )

    def begins_with(self, from_json: Callable[[dict[str, Any]], object]) -> bool:
        """Whether the first line of the metrics is an epoch of this kind."""
        try:
            from_json(json.loads(self.files.metrics[0]))
        except (XnasError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
            return False
        return True

    def head(
        self,
        options: type[Options] | None,
        arguments: Sequence[str] = (),
        *,
        places: Sequence[str] | None = None,
    ) -> RunHead:
        """What every page shows; `arguments` come first in the command.

        `places` are the data in the command: those of config.json for None, and no command without any.
        """
        made = mapping(self.config.get("made_with"))
        versions = tuple((str(name), str(value)) for name, value in made.items() if name != "machine")
        changed = _changed(options, self.settings)
        return RunHead(
            path=str(self.path),
            state=self.listed.state if self.listed.state in READABLE else "damaged",
            faults=tuple(self.faults),
            data=text(self.config.get("data")) or (MEMORY if self.config else UNKNOWN),
            command=self._command(changed, arguments, places),
            settings=tuple((str(name), _worded(value)) for name, value in self.settings.items()),
            changed=tuple(changed),
            versions=versions,
            seed=whole(self.settings.get("seed")),
            machine=text(made.get("machine")) or "",
            next_command=self.listed.next_command or "",
            written=f"Written by xnas {__version__} on {time.strftime('%Y-%m-%d at %H:%M')}.",
        )

    def _command(
        self, changed: Mapping[str, Any], arguments: Sequence[str], places: Sequence[str] | None
    ) -> str:
        kind, data = text(self.config.get("kind")), text(self.config.get("data"))
        if places is None:
            places = [] if data is None else [data]
        if kind is None or not places:
            return ""
        given = {name: value for name, value in changed.items() if name not in NOT_OF_THE_COMMAND}
        words = ["xnas", kind, *map(quote, (*arguments, *places)), flags(given)]
        return " ".join(filter(None, words))


def _without_config(path: Path) -> ListedRun | None:
    """A run of which config.json is gone, and what it recorded is left; None for no run."""
    left = [path / name for name in (METRICS, LEDGER) if (path / name).is_file()]
    left += [path / name for name in (PLAN, SUMMARY) if is_of_fit(path / name)]
    if not left:
        return None
    fault = NO_CONFIG.format(path=path / CONFIG)
    changed = max(file.stat().st_mtime for file in left)
    return ListedRun(path=str(path), kind="run", state="damaged", fault=fault, changed=changed)


def _changed(options: type[Options] | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that are options with another value than their default."""
    if options is None:
        return {}
    plain = {
        field.name: str(field.default) if isinstance(field.default, Path) else field.default
        for field in fields(options)
    }
    return {
        str(name): value
        for name, value in settings.items()
        if name in plain and value != plain[name] and value is not None
    }


def _worded(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
