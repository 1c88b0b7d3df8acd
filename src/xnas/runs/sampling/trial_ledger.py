"""The ledger of a search by sampling, ledger.jsonl: what was asked and what was told, in that order.

    {"event": "begin", "format": "xnas-trials", "version": 1}
    {"event": "ask", "number": 17, "genotype": {...}, "budget": 24, "parent": 5}
    {"event": "tell", "number": 17, "value": 0.9312, "state": "done", "at": 24}

A line is on the disk before the event has any effect outside of the process, such as a folder. So the
ledger, with the settings in config.json, is the whole state of a search: a fresh sampler that is asked
and told the same is where the old one was. A last line without its end was never acted upon, and is
cut off.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as brief
from typing import Any, NoReturn

from xnas.errors import ConfigError, DamagedFileError, GenotypeError, VersionError
from xnas.files import read_plain, whole_file
from xnas.samplers import Accepts, Result, Sampler, Trial
from xnas.space import Genotype
from xnas.words import short

NAME = "ledger.jsonl"
FORMAT, VERSION = "xnas-trials", 1
BEGIN = {"event": "begin", "format": FORMAT, "version": VERSION}
MOST_BYTES = 1 << 30  # some 500 per trial
REMEDY = "restore it from a copy, or begin a search in another folder"
KEYS = {
    "ask": {"event", "number", "genotype", "budget", "parent"},
    "tell": {"event", "number", "value", "state", "at", "reason"},
}


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the ledger."""

    line: int
    content: Trial | Result


class TrialLedger:
    """The file, which only grows; `storage_errors` explains failures of the file system."""

    def __init__(
        self,
        path: Path,
        storage_errors: Callable[[], AbstractContextManager[None]],
        *,
        durable: bool = True,
    ) -> None:
        """Read what is there, if anything; raises for a damaged line, and cuts off a torn last one.

        `durable` brings every line to the disk before the next step. Where evaluations leave nothing
        outside of the process it is not needed: a search whose last lines are lost asks them again.
        """
        self.path, self.storage_errors, self.durable = path, storage_errors, durable
        self.events: list[Event] = []
        """What the file held when it was opened."""
        self._asked, self._open = 0, set[int]()
        whole = self._whole_lines()
        if not whole:
            with storage_errors(), whole_file(path) as file:
                file.write(_line(BEGIN))
            return
        for number, text in enumerate(whole, start=1):
            self._read(number, text)

    def ask(self, trial: Trial) -> None:
        """Write that a trial was asked."""
        self._append(
            {
                "event": "ask",
                "number": trial.number,
                "genotype": json.loads(trial.genotype.to_json()),
                "budget": trial.budget,
                "parent": trial.parent,
            }
        )

    def tell(self, result: Result) -> None:
        """Write that the result of a trial is told; of its cost, nothing."""
        reason = {"reason": result.reason} if result.reason else {}
        told = {"number": result.number, "value": result.value, "state": result.state, "at": result.at}
        self._append({"event": "tell", **told, **reason})

    def sync(self) -> None:
        """Bring all lines to the disk."""
        with self.storage_errors(), self.path.open("ab") as file:
            os.fsync(file.fileno())

    def _append(self, event: dict[str, Any]) -> None:
        with self.storage_errors(), self.path.open("ab") as file:
            file.write(_line(event))
            if self.durable:
                file.flush()
                os.fsync(file.fileno())

    def _whole_lines(self) -> list[bytes]:
        """All lines but a torn last one, which is removed from the file."""
        try:
            content = read_plain(self.path, MOST_BYTES)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise DamagedFileError(
                f"cannot read {self.path}: {error.strerror}; it may be damaged: {REMEDY}"
            ) from error
        *whole, torn = content.split(b"\n")
        if torn:
            with self.storage_errors(), self.path.open("r+b") as file:
                file.truncate(len(content) - len(torn))
                os.fsync(file.fileno())
        return whole

    def _read(self, number: int, text: bytes) -> None:
        """Take one line, which must follow from those before."""
        try:
            event = json.loads(text)
        except (ValueError, RecursionError) as error:
            self._damaged(number, f"it is not JSON ({short(error, 100)})")
        if not isinstance(event, dict):
            self._damaged(number, "it is not an object")
        if number == 1:
            self._require_format(event)
            return
        kind = event.get("event")
        if not isinstance(kind, str) or kind not in KEYS:
            self._damaged(number, f"its event is {short(ValueError(repr(kind)), 40)}, not ask or tell")
        if not KEYS[kind] - {"reason"} <= event.keys() <= KEYS[kind]:
            self._damaged(number, f"the keys of {kind!r} are {', '.join(sorted(KEYS[kind]))}")
        try:
            content = _trial(event) if kind == "ask" else _result(event)
        except (ConfigError, GenotypeError, TypeError, ValueError) as error:
            self._damaged(number, short(error, 100))
        self._require_turn(number, content)
        self.events.append(Event(number, content))

    def _require_format(self, event: dict[str, Any]) -> None:
        if event.get("format") != FORMAT or event.get("event") != "begin":
            self._damaged(1, f"it does not begin a ledger of the format {FORMAT}")
        if event.get("version") != VERSION:
            raise VersionError(
                f"{self.path} has version {brief(event.get('version'))}, this xnas reads {VERSION}; "
                "resume the search with the version that wrote it"
            )

    def _require_turn(self, number: int, content: Trial | Result) -> None:
        """Raise unless trials are asked in order, and told once each."""
        if isinstance(content, Trial):
            if content.number != self._asked:
                self._damaged(number, f"it asks trial {content.number} after {self._asked} others")
            self._asked += 1
            self._open.add(content.number)
            return
        if content.number not in self._open:
            known = 0 <= content.number < self._asked
            fault = "again" if known else "before it was asked"
            self._damaged(number, f"it tells trial {content.number} {fault}")
        self._open.remove(content.number)

    def _damaged(self, number: int, reason: str) -> NoReturn:
        raise DamagedFileError(f"{self.path} is damaged in line {number}: {reason}; {REMEDY}")


def replay(events: Iterable[Event], sampler: Sampler, path: Path, writer: str) -> None:
    """Bring a fresh sampler where the ledger ends; raises if it asks another cell than was asked then.

    `writer` names the program that wrote the ledger, for the message; empty if it is the one that runs.
    """
    for event in events:
        if isinstance(event.content, Result):
            sampler.tell(event.content)
            continue
        if isinstance(sampler, Accepts):
            sampler.accept(event.content)
            continue
        asked = sampler.ask()
        if asked != event.content:
            nothing, another = "nothing where the ledger has a cell", "another cell than the ledger"
            fault = nothing if asked is None else another
            versions = f", or other versions ask other cells: {writer} wrote it" if writer else ""
            theirs = ", resume with those versions" if writer else ""
            raise DamagedFileError(
                f"line {event.line} of {path}: the sampler asks {fault}, so the search cannot be "
                f"resumed exactly; the ledger or config.json may have been changed{versions}; restore "
                f"them from a copy{theirs}, or begin another search"
            )


def _trial(event: dict[str, Any]) -> Trial:
    number, budget, parent = (event[name] for name in ("number", "budget", "parent"))
    for value in (number, budget, parent):
        if value is not None and (type(value) is not int or value < 0):
            raise ConfigError(f"{value!r} is no whole number from 0")
    genotype = Genotype.from_json(json.dumps(event["genotype"]))
    return Trial(number=number, genotype=genotype, budget=budget, parent=parent)


def _result(event: dict[str, Any]) -> Result:
    value, state, at = event["value"], event["state"], event["at"]
    if type(event["number"]) is not int:
        raise ConfigError(f"its number is {event['number']!r}, not a whole number")
    if state not in ("done", "failed", "refused"):
        raise ConfigError(f"its state is {state!r}, not done, failed or refused")
    if value is not None and type(value) not in (int, float):
        raise ConfigError(f"its value is {value!r}, not a number")
    if at is not None and (type(at) is not int or at < 1):
        raise ConfigError(f"it was measured at {at!r}, which is no epoch")
    reason = str(event.get("reason", ""))
    return Result(number=event["number"], value=value, state=state, at=at, reason=reason)


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, separators=(", ", ": ")).encode() + b"\n"
