"""The files of a dataset whose labels stand in a table, as an index like that of class folders.

    photos/labels.csv, photos/images/1.jpg      one table for all
    photos/train.csv, photos/test.csv           one per part; so too train/metadata.csv, as Hugging Face
                                                has it

Paths start from the table's folder or from a folder in it, and lead nowhere else. Names may lack their
ending, as the ids in many tables do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from xnas.data.folder_files import images_in, visible_folders
from xnas.data.folder_index import FolderIndex, LabelledFiles, index_of, require_enough
from xnas.data.part_names import Part, part_called
from xnas.data.tables import NoLabelsError, Row, is_table, read_table
from xnas.errors import DatasetError
from xnas.words import counted

USUAL = ("metadata", "labels", "label", "train_labels", "annotations", "data", "index", "classes")
"""Names of the one table of a folder, where there are several."""
UNLABELLED = ("sample_submission", "submission")


@dataclass(frozen=True, slots=True)
class Listed:
    """An image that a table names."""

    path: Path
    label: str
    part: Part


def tables_of(root: Path) -> dict[Part | None, Path]:
    """Tables of labels of a folder: one per part, or one for all under None. Empty without any."""
    found = _by_part(root)
    if found:
        return found
    for folder in visible_folders(root):
        part = part_called(folder.name)
        here = None if part is None else _one_table(folder)
        if part is not None and here is not None:
            found[part] = here
    if found and "train" not in found:
        return {}
    return found


def _by_part(root: Path) -> dict[Part | None, Path]:
    tables = [path for path in images_in(root)[1] if is_table(path) and path.stem not in UNLABELLED]
    parts: dict[Part | None, Path] = {}
    for path in tables:
        part = part_called(path.stem)
        if part is not None:
            parts[part] = path
    if "train" in parts:
        return parts
    table = _one_table(root)
    return {} if table is None else {None: table}


def _one_table(folder: Path) -> Path | None:
    """The table of a folder; raises if it is not clear which of several."""
    tables = [path for path in images_in(folder)[1] if is_table(path) and path.stem not in UNLABELLED]
    usual = [path for name in USUAL for path in tables if path.stem.lower() == name]
    if usual or len(tables) < 2:
        return next(iter(usual or tables), None)
    raise DatasetError(
        f"{folder} holds several tables ({', '.join(path.name for path in tables[:4])}); give the one "
        "with the labels as DATA, or call it labels.csv"
    )


def list_tables(
    root: Path, tables: dict[Part | None, Path], *, use_val: bool = True, name: str = ""
) -> FolderIndex:
    """Files and classes that tables name."""
    listed: list[Listed] = []
    notes = []
    for part, table in tables.items():
        try:
            found, unlisted = _images_of(table, part)
        except NoLabelsError:
            if part in (None, "train"):
                raise
            notes.append(f"{table.name} has no labels and was left out")
            continue
        listed += found
        notes.append(f"labels of {len(found):,} images from {table.name}")
        if unlisted:
            notes.append(
                f"{counted(len(unlisted), 'image')} that it does not list left out (first: "
                f"{str(unlisted[0])!r})"
            )
    _require_once(listed)
    classes = _classes(one.label for one in listed if one.part == "train")
    if len(classes) < 2:
        raise DatasetError(
            f"the training images of {root} have one class, {classes[0]!r}; a classifier needs 2"
            if classes
            else f"the tables of {root} list no training images; call their part train"
        )
    number = {label: place for place, label in enumerate(classes)}
    stranger = next((one for one in listed if one.label not in number), None)
    if stranger is not None:
        raise DatasetError(
            f"{stranger.path} has the label {stranger.label!r}, which no training image has; add some, "
            "or remove its line"
        )
    vals = [one for one in listed if one.part == "val"]
    if vals:
        notes.append(f"validation part {'joins train' if use_val else 'left out'}")
    learned = [one for one in listed if one.part == "train"] + (vals if use_val else [])
    train, test = _files(learned, number), _files([o for o in listed if o.part == "test"], number)
    require_enough(root, classes, train.labels)
    called = name or root.resolve().name or str(root)
    return index_of(called, classes, train, test, notes, has_val=bool(vals))


def _images_of(table: Path, part: Part | None) -> tuple[list[Listed], list[Path]]:
    """The images that a table names, and those next to them that it does not."""
    rows, root = read_table(table), table.parent
    base = _base(root, rows[0].file)
    here: dict[Path, dict[str, Path]] = {}
    listed: list[Listed] = []
    missing: list[Row] = []
    for row in rows:
        path = _inside(root, base, row, table)
        if path.parent not in here:
            images = images_in(path.parent)[0] if path.parent.is_dir() else []
            here[path.parent] = {one.stem: one for one in images} | {one.name: one for one in images}
        found = here[path.parent].get(path.name)
        if found is None:
            missing.append(row)
            continue
        of = row.part or part or part_called(Path(row.file).parts[0]) or "train"
        listed.append(Listed(found, row.label, of))
    if missing:
        what = "is not there" if not (base / missing[0].file).exists() else "is no image Pillow reads"
        raise DatasetError(
            f"{len(missing):,} of the {len(rows):,} images that {table} lists cannot be found; the "
            f"first, {missing[0].file} on line {missing[0].line}, {what}: bring them back or remove the "
            "lines"
        )
    used = {one.path for one in listed}
    unlisted = sorted({one for names in here.values() for one in names.values()} - used)
    return listed, unlisted


def _base(root: Path, first: str) -> Path:
    """The folder that paths start from: the table's, or one in it that has the first image."""
    for folder in (root, *visible_folders(root)):
        path = folder / first
        if path.exists() or any(one.stem == path.name for one in _images_beside(path)):
            return folder
    return root


def _images_beside(path: Path) -> list[Path]:
    return images_in(path.parent)[0] if path.parent.is_dir() and not path.suffix else []


def _inside(root: Path, base: Path, row: Row, table: Path) -> Path:
    """The path of a row; raises if it leaves the table's folder."""
    path = Path(os.path.normpath(base / row.file))
    if Path(os.path.normpath(root)) not in path.parents or "\0" in row.file:
        raise DatasetError(
            f"line {row.line} of {table} names {row.file!r}, which lies outside its folder; move the "
            "image into it and write its path from there"
        )
    return path


def _require_once(listed: Sequence[Listed]) -> None:
    """Raise for an image of two parts, or that is named by two paths."""
    seen: dict[Path, Listed] = {}
    for one in listed:
        other = seen.setdefault(one.path, one)
        if other is not one:
            parts = f" for {other.part} and {one.part}" if other.part != one.part else ""
            raise DatasetError(f"{one.path} is listed twice{parts}; remove one of its lines")


def _classes(labels: Iterable[str]) -> tuple[str, ...]:
    """Distinct labels, whole numbers by value and others by name."""
    distinct = set(labels)
    if all(label.isdecimal() for label in distinct):
        return tuple(sorted(distinct, key=lambda label: (int(label), label)))
    return tuple(sorted(distinct))


def _files(listed: Sequence[Listed], number: dict[str, int]) -> LabelledFiles:
    labels = torch.tensor([number[one.label] for one in listed], dtype=torch.int64)
    return LabelledFiles(tuple(one.path for one in listed), labels)
