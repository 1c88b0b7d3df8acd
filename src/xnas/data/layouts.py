"""Layouts of image folders that are often met and not read: each gets an error that says what to do.

A folder of class folders is the one layout that is read, with or without parts (`folder_index`). A
stranger's folder is often one step away from it, and an error about an empty class would not show the
step.
"""

from __future__ import annotations

from pathlib import Path

from xnas.data.folder_files import images_in, visible_folders
from xnas.errors import DatasetError

OTHER_PARTS = {
    "training": "train",
    "trainset": "train",
    "train_images": "train",
    "testing": "test",
    "testset": "test",
}
"""Names that parts have elsewhere, and what they are called here."""
TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".xml")
"""Endings of files that hold labels in place of class folders."""


def require_class_folders(root: Path) -> None:
    """Raise for a layout that is known and not read; `root` is a folder."""
    folders = visible_folders(root)
    if (root / "config.json").is_file() and (root / "checkpoints").is_dir():
        raise DatasetError(f"{root} is the folder of a run, not of images; give the images' folder")
    _require_known_parts(root, folders)
    for part in (root, root / "train"):
        if part.is_dir():
            _require_no_table(part)
    if not (root / "train").is_dir():
        _require_images_one_level_deep(root, folders)


def _require_known_parts(root: Path, folders: list[Path]) -> None:
    found = [path.name for path in folders if path.name.lower() in OTHER_PARTS]
    parts = [name for name in found if visible_folders(root / name) and not images_in(root / name)[0]]
    if parts and not (root / "train").is_dir():
        wanted = OTHER_PARTS[parts[0].lower()]
        raise DatasetError(
            f"{root} has a part called {parts[0]!r}; parts are train, val (or valid, validation) and "
            f"test: rename {parts[0]} to {wanted}"
        )


def _require_no_table(part: Path) -> None:
    """Raise for images that lie in one folder with a table of their labels."""
    images, others = images_in(part)
    table = next((path for path in others if path.suffix.lower() in TABLES), None)
    if images and table is not None and not visible_folders(part):
        raise DatasetError(
            f"{part} holds {len(images):,} images and {table.name}, but no class folders; labels in a "
            "table are not read: move the images of each class into a folder of its own"
        )


def _require_images_one_level_deep(root: Path, folders: list[Path]) -> None:
    """Raise if a folder of `root` holds no images, but one of its own folders does."""
    for folder in folders:
        if images_in(folder)[0]:
            continue
        deeper = next((inner for inner in visible_folders(folder) if images_in(inner)[0]), None)
        if deeper is not None:
            remedy = f"give {folder}" if len(folders) == 1 else "move the images or folders up one level"
            raise DatasetError(
                f"images of {root} lie one folder too deep, as in {deeper.relative_to(root)}; they must "
                f"stand in class folders of the folder that is given: {remedy}"
            )
