"""The files of a folder in any layout that is read, or of a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from xnas.data.folder_files import images_in, visible_folders
from xnas.data.folder_index import FolderIndex, list_folder
from xnas.data.layouts import has_class_folders, require_class_folders
from xnas.data.part_names import part_called
from xnas.data.table_index import list_tables, tables_of
from xnas.data.tables import is_table
from xnas.errors import ConfigError


def list_images(place: Path, *, use_val: bool | None = None) -> FolderIndex:
    """Files and classes of `place`: class folders, parts of them, a table, or a folder around those.

    `use_val=True` wants a part for validation, which joins that for training unless it is False.
    """
    if place.is_file():
        index = list_tables(place.parent, {None: place}, use_val=use_val is not False, name=place.stem)
    else:
        root = _unwrapped(place)
        require_class_folders(root)
        tables = {} if has_class_folders(root) else tables_of(root)
        name = place.resolve().name or str(place)
        if tables:
            index = list_tables(root, tables, use_val=use_val is not False, name=name)
        else:
            index = list_folder(root, use_val=use_val is not False, name=name)
        if root != place:
            index = replace(index, notes=(f"read from the folder {root.name} in it", *index.notes))
    if use_val and not index.has_val:
        raise ConfigError(
            f"use-val was asked of {place}, but it has no folder val next to train; leave it out"
        )
    return index


def _unwrapped(root: Path) -> Path:
    """The one folder in `root`, if it stands around everything, as archives often have it."""
    folders = visible_folders(root)
    images, others = images_in(root)
    if len(folders) != 1 or images or any(map(is_table, others)) or part_called(folders[0].name):
        return root
    inner = folders[0]
    if images_in(inner)[0] and not any(map(is_table, images_in(inner)[1])):
        return root  # it is a class
    return inner if visible_folders(inner) or any(map(is_table, images_in(inner)[1])) else root
