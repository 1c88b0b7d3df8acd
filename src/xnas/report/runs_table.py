"""A list of runs as a table that fits a terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence

from xnas.records import ListedRun
from xnas.report.tables import aligned_table
from xnas.words import printable

HEADER = ("run", "kind", "state", "data", "method", "cell", "result", "age")
ELASTIC = ((3, 4, 5), (0,))
"""Columns that are cut where the terminal is narrow: data, method and cell, and only then the run."""
LEAST = 8
"""Characters that a column keeps."""
MOST = 200
"""Characters of a column where nothing else limits it."""
GAP = 2
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


def runs_table(runs: Sequence[ListedRun], folder: str, *, now: float, width: int | None = None) -> str:
    """One line per run; `width` cuts long names so that lines fit, if that is possible."""
    rows = [
        tuple(
            _cut(printable(cell), MOST)
            for cell in (
                _name(run, folder),
                run.kind,
                _state(run),
                _data(run),
                run.method or "",
                run.cell or "",
                result_text(run),
                age_text(now - run.changed),
            )
        )
        for run in runs
    ]
    used = [k for k in range(len(HEADER)) if any(row[k] for row in rows)]
    header = [HEADER[k] for k in used]
    kept = [[row[k] for k in used] for row in rows]
    if width is not None:
        elastic = [[used.index(k) for k in group if k in used] for group in ELASTIC]
        kept = _fitted(header, kept, elastic, width)
    return aligned_table(header, kept, left=range(len(used) - 1))


def result_text(run: ListedRun) -> str:
    """The accuracy that says most of what was found; empty if there is none yet."""
    if run.truth is not None:
        return f"true {run.truth:.2f} %"
    if run.test is not None:
        return f"test {100 * run.test:.2f} %"
    return "" if run.validation is None else f"validation {100 * run.validation:.2f} %"


def age_text(seconds: float) -> str:
    """How long ago something was, in one number with its unit."""
    for unit, name in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= 2 * unit or (unit == MINUTE and seconds >= unit):
            return f"{seconds / unit:.0f} {name}"
    return f"{max(0.0, seconds):.0f} s"


def faults_and_commands(runs: Sequence[ListedRun]) -> list[str]:
    """What is wrong with runs, one line each; then the next command of the others."""
    faults = [f"{run.state}: {run.fault}" for run in runs if run.fault is not None]
    commands = [f"  {run.next_command}" for run in runs if run.next_command is not None]
    return faults + (["next:", *commands] if commands else [])


def _name(run: ListedRun, folder: str) -> str:
    return os.path.relpath(run.path, folder)


def _data(run: ListedRun) -> str:
    """The name of a dataset, or of a folder without what it lies in."""
    data = run.data or ""
    return os.path.basename(data.rstrip(os.sep)) or data  # noqa: PTH119 - it need not be a path


def _state(run: ListedRun) -> str:
    """The state, with the progress of a run that is not finished."""
    if run.state not in ("running", "stopped") or run.done is None:
        return run.state
    return f"{run.state} {run.done}" + (f"/{run.planned}" if run.planned is not None else "")


def _fitted(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    elastic: Sequence[Sequence[int]],
    width: int,
) -> list[list[str]]:
    """Rows whose columns are cut, group by group and the widest first, until lines fit `width`."""
    widths = [max(len(line[k]) for line in (header, *rows)) for k in range(len(header))]
    for group in filter(None, elastic):
        while sum(widths) + GAP * (len(widths) - 1) > width:
            widest = max(group, key=lambda k: widths[k])
            if widths[widest] <= LEAST:
                break
            widths[widest] -= 1
    return [[_cut(cell, widths[k]) for k, cell in enumerate(row)] for row in rows]


def _cut(cell: str, width: int) -> str:
    return cell if len(cell) <= width else f"{cell[: width - 1]}…"
