"""What stands in a folder: image files, other files, folders; read one level deep."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from xnas.data.decoding import image_endings
from xnas.errors import DatasetError


def images_in(folder: Path) -> tuple[list[Path], list[Path]]:
    """Image files of a folder by name, and the other visible things in it.

    A link that leads nowhere counts as the image that it should be; pipes and devices do not.
    """
    endings = image_endings()
    with os.scandir(folder) as entries:
        visible = sorted((e for e in entries if not e.name.startswith(".")), key=lambda e: e.name)
    images: list[Path] = []
    others: list[Path] = []
    for entry in visible:
        is_image = os.path.splitext(entry.name)[1].lower() in endings and _is_file(entry)  # noqa: PTH122 - the suffix of a Path is slow for a million
        (images if is_image else others).append(folder / entry.name)
    return images, others


def visible_folders(folder: Path) -> list[Path]:
    """Folders in a folder, sorted by name, but for hidden ones."""
    with os.scandir(folder) as entries:
        seen = sorted(
            (e for e in entries if not e.name.startswith((".", "__MACOSX"))), key=lambda e: e.name
        )
    for entry in seen:
        if entry.is_symlink() and not os.path.exists(entry.path):  # noqa: PTH110 - of a loop, Path.exists raises
            raise DatasetError(
                f"{entry.path} is a link that leads nowhere or in a circle; fix or remove it"
            )
    return [folder / entry.name for entry in seen if entry.is_dir()]


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return stat.S_ISREG(entry.stat().st_mode)
    except OSError:
        return True
