"""A fit as its run folder tells it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from xnas.report.page.stories import FitStory
from xnas.runs.fit.config import FitConfig
from xnas.runs.fit.plan_file import PLAN, SUMMARY, read_plan, read_summary
from xnas.runs.fit.punctuality import time_line
from xnas.runs.fit.stage_times import FILE as TIMES
from xnas.runs.fit.stage_times import read_times
from xnas.runs.listing.kinds import number
from xnas.runs.reports.run_files import PAGE, ReadRun

PARTS = ("search", "found", "published", "random", "resnet", "pretrained")
"""Folders of its runs."""


Found = TypeVar("Found")


def fit_story(run: ReadRun) -> FitStory:
    """The plan, and how far it was followed; the comparison of a finished fit."""
    plan = run.attempt(PLAN, lambda: _if_there(run, PLAN, read_plan), None)
    summary = run.attempt(SUMMARY, lambda: _if_there(run, SUMMARY, read_summary), None)
    stages = run.attempt(TIMES, lambda: read_times(run.path / TIMES), {})
    late: list[str] = []
    if plan is not None and summary is not None:
        late = run.attempt(PLAN, lambda: time_line(plan, stages, sum(stages.values())), [])
    return FitStory(
        head=run.head(FitConfig),
        minutes=number(run.settings.get("minutes")),
        plan=plan,
        summary=summary,
        stages=stages,
        pages={part: quote(f"{part}/{PAGE}") for part in PARTS if (run.path / part / PAGE).is_file()},
        punctuality=tuple(late),
    )


def _if_there(run: ReadRun, name: str, read: Callable[[Path], Found]) -> Found | None:
    return read(run.path) if run.files.has(name) else None
