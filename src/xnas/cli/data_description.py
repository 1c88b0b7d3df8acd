"""Descriptions of datasets and of folders of images, for the terminal."""

from __future__ import annotations

from pathlib import Path

from xnas.data import CATALOGUE, DATASETS, DataOptions, Known
from xnas.data.datasets import find_folder
from xnas.data.folder_summary import FolderSummary, summarize_folder
from xnas.data.named_folders import INDEXES
from xnas.data.places import data_folders, file_at, find, places
from xnas.data.sizes import RESIZE_WORDS, Size
from xnas.data.wholeness import faults
from xnas.errors import DatasetError
from xnas.words import counted

HEADERS_ONLY = (
    "only the headers of the images were read; their pixels may still be damaged (--check decodes them)"
)
MOST_LISTED = 10  # classes or sizes of a folder, one by one


def described(
    name: str | None, options: DataOptions, *, decoded: bool = False
) -> tuple[list[str], str | None]:
    """Lines on the datasets, one of them or a folder, and why a run would refuse it.

    `decoded` says that the images of the folder are also decoded, not only their headers read.
    """
    if name is None:
        return catalogue_table(options.data_dir), None
    if name in CATALOGUE:
        return description(CATALOGUE[name], options.data_dir), None
    if name in DATASETS:
        line = f"{name} is a dataset that your own code has registered; nothing more is known of it"
        return [line], None
    found = summarize_folder(find_folder(name), options)
    lines = folder_description(found)
    return (lines if decoded else [*lines, HEADERS_ONLY]), found.refusal


def catalogue_table(data_dir: Path | None) -> list[str]:
    """All datasets, one line per dataset."""
    rows: list[tuple[str, ...]] = [("name", "images", "test", "classes", "channels", "size", "found")]
    rows += [_row(known, data_dir) for known in CATALOGUE.values()]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(r, widths, strict=True)) for r in rows]
    lines = [line.rstrip() for line in lines]
    lines.append(
        f"looked for in {', '.join(map(str, data_folders(data_dir)))}; --data-dir adds a folder"
    )
    lines.append("xnas data NAME says more, and how to get it; any folder of class folders works too")
    return lines


def description(known: Known, data_dir: Path | None) -> list[str]:
    """Everything about one dataset: facts, places, wholeness, how to get it."""
    test = f"{known.test_examples:,} for test" if known.test_examples else f"{known.folds} folds"
    size = "of many sizes" if known.size is None else _by(known.size)
    mirrored = "may be mirrored" if known.flip else "must not be mirrored"
    lines = [
        f"{known.title}: {known.examples:,} images for training, {test}, {known.classes} classes",
        f"images: {_channels(known.channels)}, {size}, {mirrored}",
    ]
    looked = places(known, data_dir) if known.folders else []
    here = find(known, data_dir) if known.folders else None
    if here is not None:
        looked = looked[: looked.index(here)]
    lines += [f"looked in: {place}" for place in looked]
    if here is not None:
        lines += [f"found in: {here}", *wholeness(known, here)]
    elif known.folders:
        lines.append("not found")
    lines += [f"source: {source.url} (md5 {source.md5})" for source in known.sources]
    lines.append(f"how to get it: {known.obtain}")
    return lines


def folder_description(found: FolderSummary) -> list[str]:
    """What is in a folder of images, and what a search would make of it."""
    test, classes = f"{found.test_examples:,} for test", f"{len(found.counts):,} classes"
    seen = f"{_channels(found.channels)}, {_by(found.size)}, by the rule {found.resize}"
    lines = [
        f"{found.name}: {found.examples:,} images for training, {test}, {classes}",
        _counts_line(found),
        f"sizes: {_most_common({_by(size): count for size, count in found.sizes.items()})}",
        f"modes: {_most_common(found.modes)}",
        f"a search would see {seen}: {RESIZE_WORDS[found.resize]}",
    ]
    lines += [f"note: {note}" for note in found.notes]
    if found.bad:
        lines.append(f"{counted(found.bad, 'bad file')}; the first: {found.first_bad}")
    return lines


def _row(known: Known, data_dir: Path | None) -> tuple[str, ...]:
    here = find(known, data_dir) if known.folders else None
    found = "comes with scikit-learn" if not known.folders else str(here or "not found")
    test = f"{known.test_examples:,}" if known.test_examples else f"{known.folds} folds"
    size = "varies" if known.size is None else _by(known.size)
    counts = (f"{known.examples:,}", test, f"{known.classes:,}", str(known.channels))
    if here is not None and known.files:
        lacking = sum(file_at(here, file) is None for file in known.files)
        found += f" (lacks {lacking} of {len(known.files)} files)" if lacking else ""
    return (known.name, *counts, size, found)


def wholeness(known: Known, place: Path) -> list[str]:
    """Lines on whether all files of a dataset are there."""
    if not known.files:
        return _counted(known, place)
    wrong = list(faults(known, place))
    if wrong:
        return [f"not whole: {fault}" for fault in wrong]
    return [f"whole: {len(known.files)} files have the right checksums"]


def _counted(known: Known, place: Path) -> list[str]:
    """For datasets without published checksums: whether all images are there."""
    try:
        index = INDEXES[known.name](DataOptions(data_dir=place))
    except DatasetError as error:
        return [f"not whole: {error}"]
    missing = [note for note in index.notes if note.startswith("not whole")]
    return missing or [f"whole: all {len(index.train) + len(index.test):,} images are there, by count"]


def _counts_line(found: FolderSummary) -> str:
    """Images per class: each if there are few classes, else the extremes."""
    fewest, most = min(found.counts.values()), max(found.counts.values())
    times = f"{most / max(fewest, 1):.1f}"
    ratio = f"; the largest class has {times} times the images of the smallest" if times != "1.0" else ""
    if len(found.counts) <= MOST_LISTED:
        each = ", ".join(f"{name} {count:,}" for name, count in found.counts.items())
        return f"images per class: {each}{ratio}"
    extremes = f"{fewest:,} to {most:,}" if fewest < most else f"{most:,}"
    return f"images per class: {extremes}{ratio}"


def _most_common(counts: dict[str, int]) -> str:
    shown = [f"{name} ({count:,})" for name, count in list(counts.items())[:MOST_LISTED]]
    more = len(counts) - len(shown)
    return ", ".join(shown) + (f" and {more:,} others" if more else "")


def _channels(count: int) -> str:
    return "1 channel (grey)" if count == 1 else f"{count} channels"


def _by(size: Size) -> str:
    return f"{size[0]} x {size[1]}"
