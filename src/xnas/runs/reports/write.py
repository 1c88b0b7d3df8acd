"""Writing the report of a run: report.html in its folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Protocol, runtime_checkable

from xnas.errors import ConfigError, DamagedFileError
from xnas.files import whole_file
from xnas.process.folder import run_path, storage_errors
from xnas.records import SearchEpoch, TrainEpoch
from xnas.report.page.blocks import Page
from xnas.report.page.comparison_page import comparison_page
from xnas.report.page.fit_page import fit_page
from xnas.report.page.frame import render
from xnas.report.page.run_sections import REFRESH
from xnas.report.page.sample_page import sample_page
from xnas.report.page.search_page import search_page
from xnas.report.page.train_page import train_page
from xnas.runs.comparison.state_file import NAME as COMPARISON
from xnas.runs.fit.plan_file import PLAN, SUMMARY, is_of_fit
from xnas.runs.fit.stage_times import FILE as TIMES
from xnas.runs.listing.kinds import METRICS
from xnas.runs.lock import is_held
from xnas.runs.reports.chart_script import HINT, chart_script
from xnas.runs.reports.comparison_reader import comparison_story
from xnas.runs.reports.fit_reader import fit_story
from xnas.runs.reports.run_files import LEDGER, PAGE, REPORTED, ReadRun
from xnas.runs.reports.sample_reader import sample_story
from xnas.runs.reports.search_reader import search_story
from xnas.runs.reports.train_reader import train_story
from xnas.words import short

NAME = PAGE


LOOK_SECONDS = 2.0
"""Between two looks at a run that is watched."""


@runtime_checkable
class Voice(Protocol):
    """What displays of every kind of run have in common."""

    def say(self, line: str) -> None:
        """Information."""

    def warn(self, line: str) -> None:
        """A warning."""


def write_report(run: Path | str) -> Path:
    """Write report.html into a run folder, whatever state the run is in, and return its path.

    The page is one file that needs no network. Charts need the extra `report` (`pip install
    'xnas[report]'`); without it the page has tables in their place.

    >>> write_report("nowhere")
    Traceback (most recent call last):
    xnas.errors.ConfigError: the folder nowhere is not there; give the folder of a run
    """
    return written_report(run).page


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A page that was written, and what could not be read for it."""

    page: Path
    kind: str
    """Of the run: `search`, `training`, ..."""
    state: str
    faults: tuple[str, ...]
    """A line for each file that is damaged or missing."""


def written_report(run: Path | str) -> WrittenReport:
    """Write report.html into a run folder; gives the faults of the run as well."""
    path = run_path(run)
    found = ReadRun.open(path)
    kind = kind_of(found)
    page = write_page(PAGES[kind](found), path / NAME)
    return WrittenReport(page, kind, found.listed.state, tuple(found.faults))


def watch_report(run: Path | str, *, seconds: float = LOOK_SECONDS) -> tuple[int, str]:
    """Write the page again whenever the files of a run change, until no process holds it.

    An open page loads itself again meanwhile. Returns how often it was written, and the state of the
    run in the end, such as `finished` or `stopped`.
    """
    path, seen, written = Path(run), 0.0, 0
    while is_held(path):
        found = ReadRun.open(path)
        changed = _changed(path)
        if changed != seen:
            write_page(replace(page_of_run(found), refresh=REFRESH), path / NAME)
            seen, written = changed, written + 1
        time.sleep(seconds)
    return written + 1, written_report(path).state


def write_at_end(run: Path, display: Voice) -> Path | None:
    """Write the page of a run that has just finished; a fault is a warning, as the run is whole."""
    try:
        found = ReadRun.open(run, finished=True)  # this process still holds it
        written = write_page(page_of_run(found), run / NAME)
    except Exception as error:  # noqa: BLE001 - nothing of a drawing may fail a run of days
        fault = f"the report was not written: {short(error)}"
        display.warn(f"{fault}; xnas report {quote(str(run))} tries again")
        return None
    if chart_script() is None:
        display.say(HINT)
    return written


def _changed(path: Path) -> float:
    """When what a run records after an epoch or an evaluation last changed."""
    files = (path / METRICS, path / LEDGER, path / COMPARISON, path / TIMES)
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)


def write_page(page: Page, path: Path) -> Path:
    """Write a page of any kind, such as that of a comparison, whole or not at all."""
    with storage_errors(path, "choose another folder"), whole_file(path) as file:
        file.write(render(page, script=chart_script()).encode())
    return path


def page_of_run(run: ReadRun) -> Page:
    """The page of a run of any kind."""
    return PAGES[kind_of(run)](run)


def kind_of(run: ReadRun) -> str:
    """What a run is called, by its epochs if nothing else says it; raises if there is no such page.

    A training without its config.json looks like an export, whose files it has.
    """
    kind = run.listed.kind
    if kind in PAGES:
        return kind
    found = next((noun for noun, known in SIGNS.items() if known(run)), None)
    if found is None and run.listed.fault is not None:
        raise DamagedFileError(run.listed.fault)
    if found is None:
        article = "an" if kind[0] in "aeiou" else "a"
        raise ConfigError(
            f"{run.path} holds {article} {kind}, of which there is no report; give {REPORTED}"
        )
    if not run.config:
        run.note_missing_config()
    return found


PAGES: dict[str, Callable[[ReadRun], Page]] = {
    "search": lambda run: search_page(search_story(run)),
    "training": lambda run: train_page(train_story(run)),
    "sampling": lambda run: sample_page(sample_story(run)),
    "fit": lambda run: fit_page(fit_story(run)),
    "comparison": lambda run: comparison_page(comparison_story(run)),
}
"""How a run becomes a page, by what it is called."""
SIGNS: dict[str, Callable[[ReadRun], bool]] = {
    "search": lambda run: run.begins_with(SearchEpoch.from_json),
    "training": lambda run: run.begins_with(TrainEpoch.from_json),
    "sampling": lambda run: run.files.has(LEDGER),
    "fit": lambda run: any(is_of_fit(run.path / name) for name in (PLAN, SUMMARY)),
}
"""By what runs are told apart without a config.json."""
