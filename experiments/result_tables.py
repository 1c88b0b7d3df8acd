"""Results found by job, and numbers as cells of Markdown tables."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jobs import Job, Record, ResultsFile

NOTHING = "not measured yet"
FILES = (
    "quick.jsonl",
    "searches.jsonl",
    "cells.jsonl",
    "nasbench301.jsonl",
    "small_searches.jsonl",
    "long_trainings.jsonl",
    "fits.jsonl",
)


class Results:
    """The results of a folder, found by job."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines = [line for name in FILES for line in ResultsFile(folder / name).lines()]
        self.by_job = {(line["job"], line["command"]): line for line in self.lines}

    def of(self, job: Job) -> Record | None:
        """The last result of the job as it is declared now."""
        return self.by_job.get((job.name, job.command))

    def measured(self, jobs: Iterable[Job]) -> list[Record]:
        """Results of those jobs that have one."""
        return [line for job in jobs if (line := self.of(job)) is not None]

    def whole(self, name: str) -> Any:  # noqa: ANN401 - any JSON
        """What a file of the folder holds that is written as a whole; None if it is not there."""
        path = self.folder / name
        return json.loads(path.read_text(encoding="utf8")) if path.exists() else None


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def table_of_measured(
    lines: Sequence[Record],
    header: Sequence[str],
    rows: Iterable[tuple[str, Sequence[str] | None]],
    command: str,
) -> str:
    """The rows that were measured, with their machines, and a sentence that names the others.

    A row is None if nothing of it was measured; `command` is what measures it. Rows of one name are
    those of its seeds.
    """
    known = list(rows)
    there = [row for _, row in known if row is not None]
    every, left = Counter(name for name, _ in known), Counter(name for name, row in known if row is None)
    missing = [
        n if left[n] == every[n] else f"{n} ({left[n]} of {every[n]} seeds)" for n in every if left[n]
    ]
    parts = [machines(lines)] if lines else []
    if there:
        parts.append(table(header, there))
    if missing:
        object_ = "them" if len(missing) > 1 else "it"
        parts.append(f"N{NOTHING[1:]}: {', '.join(missing)}. `{command}` measures {object_}.")
    return "\n\n".join(parts)


def machines(lines: Sequence[Record]) -> str:
    """On what the lines were measured."""
    kinds = set()
    for line in lines:
        several = line.get("at_once", 1) > 1
        load = f", up to {line['at_once']} at once" if several else ""
        if "beside" in line:
            load += f", in parallel with {line['beside']}"
        versions = f"torch {line['torch']}, Python {line['python']}, xnas {line['xnas']}"
        kinds.add(f"{line['device']} ({versions}{load})")
    return f"Measured on {'; '.join(sorted(kinds))}." if kinds else f"N{NOTHING[1:]}."


def percent(share: float | None) -> str:
    """A share in percent; a dash where there is none."""
    return "—" if share is None else f"{100 * share:.2f} %"


def seconds_of(seconds: float | None) -> str:
    """Seconds; a dash where they are not known."""
    return "—" if seconds is None else f"{seconds:.1f} s"


def gib(count: int) -> str:
    """Bytes in GiB."""
    return f"{count / 2**30:.1f} GiB"


def spread(values: Sequence[float]) -> str:
    """Mean, standard deviation of a single value (n - 1), least and most."""
    if len(values) < 2:
        return f"{values[0]:.2f} (one)" if values else NOTHING
    mean, deviation = statistics.mean(values), statistics.stdev(values)
    return f"{mean:.2f} ± {deviation:.2f} ({min(values):.2f} to {max(values):.2f})"
