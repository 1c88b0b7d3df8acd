"""A comparison as its folder tells it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from xnas.records import RunComparison
from xnas.report.page.stories import ComparisonStory
from xnas.runs.comparison.config import CompareOptions
from xnas.runs.comparison.plan import RUNS, TRAINING
from xnas.runs.comparison.state_file import NAME
from xnas.runs.listing.kinds import mapping, text
from xnas.runs.listing.runs_in import runs_in
from xnas.runs.reports.run_files import PAGE, ReadRun
from xnas.runs.sampling.config import settings_text


def comparison_story(run: ReadRun) -> ComparisonStory:
    """All runs and what they say; if the file is damaged, the run folders that are there."""
    saved = run.attempt(NAME, lambda: run.files.json(NAME), {})
    found: RunComparison | None = run.attempt(NAME, lambda: RunComparison.from_json(saved), None)
    run.config = _as_config(saved)
    names = [] if found is None else [one.name for one in found.runs]
    return ComparisonStory(
        head=run.head(CompareOptions, places=_places(saved)),
        comparison=found,
        pages={name: _pages(run.path, name) for name in names},
        listed=tuple(runs_in(run.path)[1:]) if found is None else (),
    )


def _pages(folder: Path, name: str) -> tuple[str, str]:
    """The addresses of the pages of a run and of its training, as far as there are any."""
    places = (f"{RUNS}/{name}/{PAGE}", f"{RUNS}/{name}{TRAINING}/{PAGE}")
    first, second = (quote(place) if (folder / place).is_file() else "" for place in places)
    return first, second


def _as_config(saved: Mapping[str, Any]) -> dict[str, Any]:
    """What a config.json would hold: settings as they are typed."""
    settings = {name: _typed(name, value) for name, value in mapping(saved.get("config")).items()}
    known = {"kind": "compare", "config": settings, "made_with": saved.get("made_with")}
    labels = [text(one.get("label")) for one in _data(saved)]
    return known | {"data": ", ".join(filter(None, labels)) or None}


def _typed(name: str, value: object) -> object:
    """A setting that a program or a TOML file gave, as text for the command line."""
    if name == "entries":
        return value or None
    if isinstance(value, dict):
        return settings_text(value)
    return ",".join(map(str, value)) if isinstance(value, list) else value


def _places(saved: Mapping[str, Any]) -> list[str]:
    """The data on a command line; empty if no command line makes such a comparison."""
    places = [text(one.get("place")) for one in _data(saved)]
    entries = mapping(mapping(saved.get("config")).get("entries"))
    known = [place for place in places if place is not None]
    return known if len(known) == len(places) and not entries else []


def _data(saved: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The data sets, as far as they are described."""
    listed = saved.get("data")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
