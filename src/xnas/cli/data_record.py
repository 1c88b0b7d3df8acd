"""What `xnas data --json` gives: the datasets, one of them, or a folder, as plain values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xnas.cli.data_description import wholeness
from xnas.data import CATALOGUE, DATASETS, DataOptions, Known
from xnas.data.datasets import find_folder
from xnas.data.folder_summary import FolderSummary, summarize_folder
from xnas.data.places import data_folders, find, places


def data_record(name: str | None, options: DataOptions) -> tuple[dict[str, Any], str | None]:
    """The datasets, one of them or a folder, and why a run would refuse it."""
    if name is None:
        folders = [str(folder) for folder in data_folders(options.data_dir)]
        known = [_dataset(entry, options.data_dir) for entry in CATALOGUE.values()]
        return {"datasets": known, "looked_in": folders}, None
    if name in CATALOGUE:
        entry = CATALOGUE[name]
        place = find(entry, options.data_dir) if entry.folders else None
        looked = places(entry, options.data_dir) if entry.folders else []
        return _dataset(entry, options.data_dir) | {
            "title": entry.title,
            "looked_in": [str(folder) for folder in looked],
            "state": [] if place is None else wholeness(entry, place),
            "sources": [{"url": source.url, "md5": source.md5} for source in entry.sources],
            "obtain": entry.obtain,
        }, None
    if name in DATASETS:
        return {"name": name}, None
    found = summarize_folder(find_folder(name), options)
    return _folder(found), found.refusal or None


def _dataset(known: Known, data_dir: Path | None) -> dict[str, Any]:
    place = find(known, data_dir) if known.folders else None
    return {
        "name": known.name,
        "images": known.examples,
        "test_images": known.test_examples,
        "folds": known.folds,
        "classes": known.classes,
        "channels": known.channels,
        "size": known.size,
        "embedded": not known.folders,
        "found": None if place is None else str(place),
    }


def _folder(found: FolderSummary) -> dict[str, Any]:
    return {
        "name": found.name,
        "images": found.examples,
        "test_images": found.test_examples,
        "classes": found.counts,
        "channels": found.channels,
        "size": found.size,
        "resize": found.resize,
        "sizes": [
            {"height": height, "width": width, "images": count}
            for (height, width), count in found.sizes.items()
        ],
        "modes": found.modes,
        "notes": found.notes,
        "bad_headers": found.bad,
        "first_bad": found.first_bad or None,
    }
