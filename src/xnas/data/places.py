"""Where the files of a named dataset are looked for, and where new ones go."""

from __future__ import annotations

import os
from pathlib import Path

from xnas.data.catalogue import Known, KnownFile
from xnas.errors import DatasetError


def data_folders(data_dir: Path | None) -> list[Path]:
    """Folders for datasets, first come first: `data_dir`, $XNAS_DATA, ./data."""
    from_environment = os.environ.get("XNAS_DATA")
    given = [data_dir, Path(from_environment) if from_environment else None, Path("data")]
    return [folder.expanduser() for folder in given if folder is not None]


def places(known: Known, data_dir: Path | None) -> list[Path]:
    """Folders in which the files of a dataset are looked for, in this order."""
    found = [
        place
        for folder in data_folders(data_dir)
        for place in (*(folder / below for below in known.folders), folder)
    ]
    return [*found, Path(known.systems_folder)] if known.systems_folder else found


def find(known: Known, data_dir: Path | None) -> Path | None:
    """The first place that holds some of the dataset's files, or None."""
    return next((place for place in places(known, data_dir) if is_there(known, place)), None)


def require_found(known: Known, data_dir: Path | None) -> Path:
    """The folder of a dataset, or an error that says where it was looked for."""
    place = find(known, data_dir)
    if place is None:
        looked = [str(folder) for folder in data_folders(data_dir)]
        looked += [known.systems_folder] if known.systems_folder else []
        raise DatasetError(
            f"no {known.title} files in {', '.join(looked)} (or {' or '.join(known.folders)} there); "
            f'"xnas data {known.name}" says how to get them; or set --data-dir or XNAS_DATA'
        )
    return place


def file_at(place: Path, file: KnownFile) -> Path | None:
    """Where a file is, plain or, if it may be, compressed; the plain one if there are both."""
    names = (file.name, f"{file.name}.gz") if file.gz else (file.name,)
    return next((place / name for name in names if (place / name).is_file()), None)


def is_there(known: Known, place: Path) -> bool:
    """Whether a folder holds some of the dataset's files."""
    if any(file_at(place, file) is not None for file in known.files):
        return True
    return any((place / mark).exists() for mark in known.marks)
