"""What a report costs: seconds to write one, its size, and what recording for it adds to a search.

    python experiments/report_cost.py

A search of 50 epochs on the digits is made, while the time is taken of what it records for its report
alone: the mixtures of every epoch, as numbers and as JSON (which metrics.jsonl and the checkpoint hold).
Then its report is written again: in a process that has written one before, and by `xnas report` in a
process of its own, with the script of the charts kept by an earlier report and without. Seconds are of
processor time, of one thread, except where they are called wall; the medians of `TIMES`.

A line goes to results/report_cost.jsonl, after about five minutes of one core.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import torch

from jobs import ROOT, Job, Record, ResultsFile, script, usual_results
from watch import ran_on
from xnas.engine import epoch
from xnas.runs.command_line import flags
from xnas.runs.displays import Silence
from xnas.runs.reports import write
from xnas.runs.search import search
from xnas.runs.search_config import SearchConfig

RESULTS = "report_cost.jsonl"
TIMES = 5
"""How often a report is written."""
COPIES = 2
"""Of what is recorded: metrics.jsonl, and the metrics in the checkpoint."""


@dataclass(frozen=True, kw_only=True)
class ReportCost(Job):
    """A search, and its report."""

    @property
    def command(self) -> str:
        """The search that is measured."""
        return f"xnas search {self.data} {flags(self.options)}"

    def config(self, out: Path) -> SearchConfig:
        """The settings that the command gives."""
        return SearchConfig(**self.options, device="cpu", quiet=True, out=out)


JOB = ReportCost(
    name="50-epochs",
    options={"epochs": 50, "cells": 3, "channels": 4, "batch_size": 96},
    data="digits",
    planned=300.0,
)
TINY = ReportCost(
    name="tiny",
    options={"epochs": 2, "cells": 1, "channels": 2, "batch_size": 359, "space": "nasbench201"},
    data="digits",
    planned=5.0,
)


class Stopwatch:
    """Seconds of processor time that calls of functions took, all together."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the block."""
        began = time.process_time()
        yield
        self.seconds += time.process_time() - began

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with its time taken."""

        def timed(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - of any function
            with self.running():
                return function(*given, **named)

        return timed


def measured(job: ReportCost, folder: Path) -> Record:
    """The line of a job, whose search is made in a folder."""
    whole, rows, text, page = Stopwatch(), Stopwatch(), Stopwatch(), Stopwatch()
    with (
        patch.object(epoch, "_rows", rows.around(epoch._rows)),
        patch.object(write, "write_at_end", page.around(write.write_at_end)),
        whole.running(),
    ):
        found = search(job.config(folder), job.data, display=Silence())
    for record in found.epochs:
        with text.running():
            json.dumps(record.mixtures)
    recorded, searched = rows.seconds + COPIES * text.seconds, whole.seconds - page.seconds
    return {
        "job": job.name,
        "command": job.command,
        "epochs": len(found.epochs),
        "rounds": found.rounds,
        "search_seconds": round(searched, 3),
        "recording_seconds": round(recorded, 5),
        "recording_percent": round(100 * recorded / searched, 4),
        "page_at_the_end_seconds": round(page.seconds, 3),
        "bytes": sizes(folder),
        "in_process": in_process(folder),
        "command_line": by_command(folder),
        "load": [round(one, 1) for one in os.getloadavg()],
        "threads": torch.get_num_threads(),
    }


def sizes(folder: Path) -> dict[str, int]:
    """Bytes of the page, as it is and without the script of the charts."""
    page = write.write_report(folder)
    with patch.object(write, "chart_script", lambda: None):
        bare = write.write_report(folder).stat().st_size
    write.write_report(folder)
    return {"page": page.stat().st_size, "without_script": bare}


def in_process(folder: Path) -> dict[str, float]:
    """Seconds of a report in a process that has written one before."""
    taken = []
    for _ in range(TIMES):
        began, wall = time.process_time(), time.perf_counter()
        write.write_report(folder)
        taken.append((time.process_time() - began, time.perf_counter() - wall))
    return _medians(taken)


def by_command(folder: Path) -> dict[str, Any]:
    """Seconds of `xnas report`: with the script kept, and the first time on a machine."""
    with TemporaryDirectory() as cache:
        first = _command(folder, cache)
        kept = [_command(folder, cache) for _ in range(TIMES)]
    return {"first": _medians([first]), "again": _medians(kept)}


def _command(folder: Path, cache: str) -> tuple[float, float]:
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    place = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
    subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "xnas", "report", str(folder)],
        check=True,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"XDG_CACHE_HOME": cache, "PYTHONPATH": place, "OMP_NUM_THREADS": "1"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, time.perf_counter() - wall


def _medians(taken: Sequence[tuple[float, float]]) -> dict[str, float]:
    return {
        "seconds": round(median(spent for spent, _ in taken), 3),
        "wall": round(median(wall for _, wall in taken), 3),
    }


def parsed(words: Sequence[str] | None) -> Namespace:
    """The arguments."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help=f"results file; by default results/{RESULTS}")
    parser.add_argument("--tiny", action="store_true", help="rehearse with two epochs")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Measure once, and append a line."""
    arguments = parsed(words)
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        line = measured(TINY if arguments.tiny else JOB, Path(folder) / "run")
    out = arguments.out or usual_results(RESULTS, tiny=arguments.tiny)
    ResultsFile(out).append(line | ran_on("cpu"))
    print(json.dumps(line, indent=1))
    return 0


if __name__ == "__main__":
    script(main)
