"""`xnas runs`: what is in a folder of runs."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from xnas.cli.printing import say, say_json

FORMAT, VERSION = "xnas-runs", 1
DEFAULT = Path("runs")


def runs(
    folder: Path | None = None,
    /,
    *,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """List the runs in a folder, the one that changed last first, each with its next command.

    A run is running (a process holds it), stopped, finished, damaged, or unreadable (of a version that
    this xnas does not know). Of a folder that is a run itself, such as a sampling, the runs inside are
    also listed.

    Parameters
    ----------
    folder
        A folder of run folders, at most three levels deep, or a run folder. Default: runs.
    as_json
        Print one line of JSON instead, for scripts: format and version, and under `runs` an object per
        run, with accuracies as shares, `truth` in percent and `changed` in seconds since 1970.
    """
    from xnas.report.runs_table import faults_and_commands, runs_table  # noqa: PLC0415
    from xnas.runs.listing.runs_in import runs_in  # noqa: PLC0415

    asked, folder = folder, folder or DEFAULT
    found = runs_in(folder) if asked is not None or folder.exists() else []
    if as_json:
        rows = [asdict(run) for run in found]
        say_json({"format": FORMAT, "version": VERSION, "folder": str(folder), "runs": rows})
        return
    if not found:
        say(f"there are no runs in {folder}; xnas search begins one in runs")
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    say(runs_table(found, str(folder), now=time.time(), width=width))
    below = faults_and_commands(found)
    if below:
        say("\n".join(["", *below]))
