"""Rows of a benchmark's CSV with their line numbers, so that every fault names its line."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from reprlib import repr as brief

from xnas.errors import DatasetError
from xnas.files import open_plain

MOST_BYTES = 1 << 26  # of a file; the table of NAS-Bench-201 has some 2 million
SIGNS = {"darts": {"normal", "reduction"}, "nasbench201": {"arch"}}
"""Columns by which a file of cells shows its search space."""


def read_rows(
    path: Path | str, columns: Sequence[str], wanted: str
) -> Iterator[tuple[int, dict[str, str]]]:
    """Line numbers and rows of a CSV that has `columns`; further columns are ignored.

    `wanted` completes "give ..." in messages about files that are something else. Anything wrong is a
    DatasetError of one line.
    """
    try:
        with open_plain(path) as raw:  # a line may be as long as the file
            content = raw.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise DatasetError(
                f"{path} is not the benchmark: it has more than {MOST_BYTES:,} bytes; give {wanted}"
            )
        with StringIO(content.decode("utf-8-sig"), newline="") as file:
            yield from _rows(csv.DictReader(file), columns, path, wanted)
    except (OSError, ValueError, csv.Error) as error:  # a ValueError is no text, or no path
        reason = getattr(error, "strerror", None) or error
        raise DatasetError(f"cannot read the benchmark {path}: {reason}; give {wanted}") from error


def number(text: str, name: str, where: str) -> float:
    """A field as a finite number; `where` begins the message about one that is none."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DatasetError(
            f"{where} has {brief(text)} as {name}, which is no number; get the file again"
        )
    return value


def _rows(
    reader: csv.DictReader[str], columns: Sequence[str], path: Path | str, wanted: str
) -> Iterator[tuple[int, dict[str, str]]]:
    names = list(reader.fieldnames or ())
    missing = next((name for name in columns if name not in names), None)
    if missing is not None:
        other = next((s for s, signs in SIGNS.items() if signs <= set(names) - set(columns)), None)
        holds = "" if other is None else f"holds cells of the space {other!r}: it "
        raise DatasetError(f"{path} {holds}lacks the column {missing}; give {wanted}")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DatasetError(f"{path} has the column {twice} twice; get the file again")
    for row in reader:
        if None in row or None in row.values():
            raise DatasetError(
                f"line {reader.line_num} of {path} has not the {len(names)} fields of the header; get "
                "the file again"
            )
        yield reader.line_num, row
