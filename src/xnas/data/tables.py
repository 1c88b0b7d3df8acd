"""A table of labels: CSV, TSV or JSON lines, one image and its class per line.

    path,label                     {"file_name": "0001.png", "label": "cat"}
    cats/1.jpg,cat                 {"file_name": "0002.png", "label": "dog"}

Columns are found by their names. Lines that do not fit are faults of the table, reported with their
number: a run on half of somebody's labels would look like a run on all.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as brief
from typing import Any

from xnas.data.part_names import Part, part_called
from xnas.errors import DatasetError
from xnas.words import alternatives

TABLE_ENDINGS = (".csv", ".tsv", ".jsonl")
FILE_COLUMNS = (
    *("file_name", "path", "file", "filename", "filepath", "file_path", "image", "image_path"),
    *("image_name", "image_file", "image_id", "img", "img_path", "id", "id_code", "name"),
)
LABEL_COLUMNS = (
    *("label", "class", "class_name", "classname", "label_name", "category", "target", "species"),
    *("breed", "diagnosis", "class_id", "label_id", "y", "labels"),
)
PART_COLUMNS = ("split", "part", "subset", "set", "partition")
BOX_COLUMNS = ("bbox", "bboxes", "boxes", "objects", "xmin", "x_min", "x1", "bndbox")
MASK_COLUMNS = ("mask", "mask_path", "mask_file_name", "segmentation", "encodedpixels", "rle")
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".gif")
SEPARATORS = ("|", ";", ",")
"""Of several labels in one cell."""
ONE_CLASS = "an image has one class here"


class NoLabelsError(DatasetError):
    """A table has no column of labels."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    file: str
    """As it is written there."""
    label: str
    part: Part | None
    """If the table has a column for it."""
    line: int
    """From 1."""


def is_table(path: Path) -> bool:
    """Whether a file is a table by its ending."""
    return path.suffix.lower() in TABLE_ENDINGS


def read_table(path: Path) -> list[Row]:
    """The lines of a table; a DatasetError names the first that does not fit."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} is not UTF-8 text ({error}); save it as UTF-8") from error
    except OSError as error:
        raise DatasetError(f"cannot read {path} ({error.strerror}); give one you may read") from error
    found = _json_lines(path, text) if path.suffix.lower() == ".jsonl" else _cells(path, text)
    first = next(found, None)
    if first is None:
        raise DatasetError(f"{path} lists no image; write a line with a path and a label for each")
    columns = _columns(path, list(first[1]))
    rows = [_row(path, columns, *one) for one in (first, *found)]
    _require_one_class(path, rows)
    return rows


@dataclass(frozen=True, slots=True)
class _Columns:
    file: str
    label: str
    part: str | None


def _cells(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Lines of a CSV by column; without a header the two columns are a path and a label."""
    start = text.split("\n", 1)[0]
    mark = "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=start.count)
    reader = csv.reader(text.splitlines(keepends=True), delimiter=mark, strict=True)
    header: list[str] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = [_plain(cell) for cell in cells]
                if len(cells) != 2 or not _looks_like_an_image(cells[0]):
                    _require_distinct(path, header)
                    continue
                header = ["path", "label"]
            if len(cells) != len(header):
                raise DatasetError(
                    f"line {reader.line_num} of {path} has {len(cells)} cells where the first line has "
                    f"{len(header)}; fix it, with quotes around a cell that holds {mark!r}"
                )
            yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise DatasetError(f"line {reader.line_num} of {path} is no CSV ({error}); fix it") from error


def _json_lines(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DatasetError(f"line {number} of {path} is no JSON ({error}); fix it") from error
        if not isinstance(found, dict):
            raise DatasetError(f"line {number} of {path} is {brief(found)}; write an object with names")
        yield number, {_plain(name): value for name, value in found.items()}


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _looks_like_an_image(text: str) -> bool:
    return text.strip().lower().endswith(IMAGE_ENDINGS)


def _require_distinct(path: Path, header: Sequence[str]) -> None:
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise DatasetError(f"{path} has two columns called {twice!r}; rename or remove one")


def _columns(path: Path, names: Sequence[str]) -> _Columns:
    """The columns that count, or an error that says what the table is for instead."""
    for what, known in (("object detection", BOX_COLUMNS), ("segmentation", MASK_COLUMNS)):
        of = next((name for name in known if name in names), None)
        if of is not None:
            raise DatasetError(
                f"{path} has the column {of!r}, as data for {what} have; {ONE_CLASS}: write a table of "
                "paths and labels"
            )
    file = next((name for name in FILE_COLUMNS if name in names), None)
    label = next((name for name in LABEL_COLUMNS if name in names and name != file), None)
    part = next((name for name in PART_COLUMNS if name in names), None)
    if len(names) == 2:
        file = file or next((name for name in names if name != label), None)
        label = label or next((name for name in names if name != file), None)
    if file is not None and label is not None:
        return _Columns(file, label, part)
    given = ", ".join(names)
    if file is not None and len(names) > 2:
        raise NoLabelsError(
            f"{path} has no column of labels, but {given}; one column per class, as multi-label data "
            f"have, is not read: {ONE_CLASS}, in a column called label"
        )
    lacking, kind = ("paths", DatasetError) if file is None else ("labels", NoLabelsError)
    raise kind(f"{path} has no column of {lacking}, but {given}; call them path and label")


def _row(path: Path, columns: _Columns, line: int, cells: Mapping[str, Any]) -> Row:
    where = f"line {line} of {path}"
    for name in (columns.file, columns.label):
        value = cells.get(name)
        if value is None or (isinstance(value, str) and not value.strip()):
            raise DatasetError(f"{where} has no {name}; write one, or remove the line")
    file, label = cells[columns.file], cells[columns.label]
    if isinstance(label, list):
        raise DatasetError(f"{where} has the labels {brief(label)}: multi-label data; {ONE_CLASS}")
    if not isinstance(file, str | int) or not isinstance(label, str | int | float):
        wrong = file if not isinstance(file, str | int) else label
        raise DatasetError(f"{where} has {brief(wrong)} for a path or a label; write text")
    part = None
    if columns.part is not None:
        part = part_called(str(cells.get(columns.part, "")))
        if part is None:
            raise DatasetError(
                f"{where} has the {columns.part} {cells.get(columns.part)!r}; parts are "
                f"{alternatives(['train', 'val', 'test'])}"
            )
    return Row(str(file).strip(), str(label).strip(), part, line)


def _require_one_class(path: Path, rows: Sequence[Row]) -> None:
    """Raise for labels that are several, or images."""
    labels = {row.label for row in rows}
    if all(map(_looks_like_an_image, labels)):
        raise DatasetError(
            f"the labels in {path} are images, such as {min(labels)!r}: segmentation; {ONE_CLASS}"
        )
    for mark in SEPARATORS:
        several = sorted(label for label in labels if mark in label)
        parts = {part.strip() for label in labels for part in label.split(mark)}
        alone = any(part.strip() in labels for label in several for part in label.split(mark))
        if several and (alone or len(parts) < len(labels)):  # the same names, combined
            raise DatasetError(
                f"{path} has cells with several labels, such as {several[0]!r}: multi-label data; "
                f"{ONE_CLASS}"
            )
    seen: dict[str, Row] = {}
    for row in rows:
        other = seen.setdefault(row.file, row)
        if other is row:
            continue
        where = f"lines {other.line} and {row.line} of {path} list {row.file}"
        if other.label != row.label:
            raise DatasetError(
                f"{where} with the labels {other.label!r} and {row.label!r}; {ONE_CLASS}, and "
                "multi-label data are not read"
            )
        raise DatasetError(f"{where} twice; remove one of them")
