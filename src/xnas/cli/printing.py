"""What commands print. No name of a class or a file can reach the terminal as a control character."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xnas.process.advance import Advance
from xnas.words import printable, printable_lines

REPORT = "report.html"
"""Of a run: `xnas.runs.reports` writes it, which imports torch."""


def say(text: str) -> None:
    """Print text on standard output; lines stay lines, other control characters become escapes.

    A name that could hold a newline goes through `printable` before it becomes part of the text.
    """
    print(printable_lines(text))


def report_of(out: str | Path) -> str | None:
    """Where the report of a run is; None if none was written."""
    page = Path(out) / REPORT
    return str(page) if page.is_file() else None


def report_lines(out: str | Path) -> list[str]:
    """The line that names the report of a run, if one was written."""
    page = report_of(out)
    return [] if page is None else [f"report: {printable(page)}"]


def warn(text: object) -> None:
    """Print a warning on standard error, in one line."""
    print(f"warning: {printable(text)}", file=sys.stderr)


def say_json(value: object) -> None:
    """Print a value as one line of JSON; control characters become the escapes of JSON."""
    text = json.dumps(value, ensure_ascii=False)
    print("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))


def say_document(kind: str, value: dict[str, Any]) -> None:
    """Print what `--json` promises: one document with its format, version 1 of `xnas-KIND`."""
    say_json({"format": f"xnas-{kind}", "version": 1, **value})


@contextmanager
def watched(unit: str, *, quiet: bool = False) -> Iterator[Advance]:
    """Show how far a job is, on standard error: a bar with the time left, or lines; yields `advance`."""
    from xnas.runs.progress import RunProgress  # noqa: PLC0415 - imports torch

    with RunProgress(unit, quiet=quiet, stderr=True) as display:
        yield display.advance
