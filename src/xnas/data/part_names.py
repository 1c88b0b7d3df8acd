"""Names that parts of a dataset have in people's folders and tables, and what they are here."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from xnas.data.folder_files import images_in, visible_folders
from xnas.errors import DatasetError

Part = Literal["train", "val", "test"]

PART_NAMES: dict[Part, tuple[str, ...]] = {
    "train": ("train", "training", "trainset", "train_images"),
    "val": ("val", "valid", "validation"),
    "test": ("test", "testing", "testset"),
}
"""Names of each part, in whatever case."""


def part_called(name: str) -> Part | None:
    """The part of this name, or None."""
    return next((part for part, names in PART_NAMES.items() if name.strip().lower() in names), None)


def parts_in(root: Path) -> dict[Part, list[Path]]:
    """Folders of parts, if `root` has one for training: that one holds folders and no images.

    So a folder `train` of pictures of locomotives is a class.
    """
    found: dict[Part, list[Path]] = {"train": [], "val": [], "test": []}
    for folder in visible_folders(root):
        part = part_called(folder.name)
        if part == "train" and (images_in(folder)[0] or not visible_folders(folder)):
            continue
        if part is not None:
            found[part].append(folder)
    for folders in (found["train"], found["test"]):
        if len(folders) > 1:
            first, second = (folder.name for folder in folders[:2])
            raise DatasetError(
                f"{root} has both {first} and {second}, which mean the same part; rename or remove one"
            )
    return found if found["train"] else {"train": [], "val": [], "test": []}
