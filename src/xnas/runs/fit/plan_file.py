"""plan.json, which a fit follows, and fit.json, how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from reprlib import repr as brief
from typing import Any, TypeVar

from xnas.errors import ConfigError, DamagedFileError, VersionError
from xnas.records.fitting import FitPlan, FitSummary
from xnas.runs.config_file import as_json, read_json
from xnas.words import short

PLAN, SUMMARY = "plan.json", "fit.json"
FORMATS = {PLAN: "xnas-plan", SUMMARY: "xnas-fit"}
VERSION = 1
MOST_BYTES = 1 << 26
"""Of either file; the confusions of many classes take some millions."""
AGAIN = "restore it from a copy, or begin another fit"

Part = TypeVar("Part", FitPlan, FitSummary)


def plan_text(plan: FitPlan) -> str:
    """A plan as its file has it."""
    return as_json({"format": FORMATS[PLAN], "version": VERSION, **asdict(plan)})


def summary_text(summary: FitSummary) -> str:
    """The end of a fit as its file has it."""
    return as_json({"format": FORMATS[SUMMARY], "version": VERSION, **asdict(summary)})


def read_plan(folder: Path) -> FitPlan:
    """The plan of a fit; raises for a file that is damaged or of another version."""
    return _read(folder / PLAN, FitPlan.from_json)


def read_summary(folder: Path) -> FitSummary:
    """The end of a finished fit; raises for a file that is damaged or of another version."""
    return _read(folder / SUMMARY, FitSummary.from_json)


def is_of_fit(path: Path) -> bool:
    """Whether a file is a plan or an end of a fit, of whatever version."""
    try:
        return read_json(path, MOST_BYTES).get("format") == FORMATS[path.name]
    except ConfigError:
        return False


def _read(path: Path, build: Callable[[dict[str, Any]], Part]) -> Part:
    saved = read_json(path, MOST_BYTES, AGAIN)
    form = FORMATS[path.name]
    if saved.pop("format", None) != form:
        raise DamagedFileError(f"{path} is damaged: it is no {form}; {AGAIN}")
    version = saved.pop("version", None)
    if version != VERSION:
        raise VersionError(
            f"{path} has version {brief(version)}, and this xnas reads version {VERSION}; resume the "
            "fit with the xnas that began it"
        )
    try:
        return build(saved)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise DamagedFileError(f"{path} is damaged ({short(error)}); {AGAIN}") from error
