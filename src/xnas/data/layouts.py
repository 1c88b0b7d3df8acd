"""Layouts of image folders that are often met and not read: each gets an error that says what to do.

What is read are class folders, with or without parts (`folder_index`), and tables of labels
(`table_index`). A stranger's folder is often one step away from that, and an error about an empty class
would not show the step. Data for another task are named by that task.
"""

from __future__ import annotations

from pathlib import Path

from xnas.data.folder_files import images_in, visible_folders
from xnas.data.part_names import part_called, parts_in
from xnas.errors import DatasetError

TABLES = (".json", ".parquet", ".xml", ".xlsx", ".feather")
"""Endings of files that may hold labels and are not read."""
IMAGE_FOLDERS = ("images", "image", "imgs", "img", "photos", "pictures", "jpegimages")
"""Names of folders that hold the images of all classes."""
MASK_FOLDERS = ("masks", "mask", "segmentation", "segmentations", "segmentationclass", "ground_truth")
NOTE_FOLDERS = ("annotations", "labels")
"""Names of folders with boxes or masks in files of their own, next to those of images."""


def require_class_folders(root: Path) -> None:
    """Raise for a layout that is known and not read; `root` is a folder."""
    if (root / "config.json").is_file() and (root / "checkpoints").is_dir():
        raise DatasetError(f"{root} is the folder of a run, not of images; give the images' folder")
    parts = parts_in(root)["train"]
    for part in (root, *parts):
        _require_classification(part)
        _require_no_table(part)
    if not parts:
        _require_one_level_of_classes(root)


def has_class_folders(root: Path) -> bool:
    """Whether a folder holds classes, and not just a folder with the images of all of them."""
    first = next(iter(parts_in(root)["train"]), root)
    folders = [
        folder
        for folder in visible_folders(first)
        if folder.name.lower() not in IMAGE_FOLDERS and part_called(folder.name) is None
    ]
    return len(folders) > 1 and any(images_of_class(folder)[0] for folder in folders)


def images_of_class(folder: Path) -> tuple[list[Path], list[Path]]:
    """Image files of a class, from its folder or else from the folders in it, and other things there."""
    images, others = images_in(folder)
    if images:
        return images, others
    for inner in visible_folders(folder):
        found, rest = images_in(inner)
        images += found
        others = [path for path in others if path != inner or not found] + (rest if found else [])
    return images, others


def _require_classification(part: Path) -> None:
    """Raise for masks or boxes next to images."""
    folders = {folder.name.lower(): folder for folder in visible_folders(part)}
    if not any(name in IMAGE_FOLDERS or part_called(name) for name in folders):
        return
    one_class = "an image has one class here: make a folder for each class"
    masks = next((name for name in MASK_FOLDERS if name in folders), None)
    if masks is not None:
        raise DatasetError(
            f"{part} has images and {folders[masks].name}, as data for segmentation have; {one_class}"
        )
    notes = next((folders[name] for name in NOTE_FOLDERS if name in folders), None)
    if notes is None:
        return
    inside = (notes, *visible_folders(notes))
    if any(images_in(folder)[0] for folder in inside):
        task = "segmentation"
    elif any(path.suffix in (".txt", ".xml", ".json") for one in inside for path in images_in(one)[1]):
        task = "object detection"
    else:
        return
    raise DatasetError(f"{part} has images and {notes.name}, as data for {task} have; {one_class}")


def _require_no_table(part: Path) -> None:
    """Raise for images that lie in one folder with a table of a format that is not read."""
    images, others = images_in(part)
    table = next((path for path in others if path.suffix.lower() in TABLES), None)
    csv = any(path.suffix.lower() in (".csv", ".tsv", ".jsonl") for path in others)
    if images and table is not None and not csv and not visible_folders(part):
        raise DatasetError(
            f"{part} holds {len(images):,} images and {table.name}, but no class folders; save the "
            "labels as labels.csv with the columns path and label, or make a folder for each class"
        )
    parquet = [path for path in others if path.suffix.lower() == ".parquet"]
    if parquet and not images:
        raise DatasetError(
            f"{part} holds {parquet[0].name}, which is not read; in Python, give xnas.search the "
            "dataset that datasets.load_dataset makes of it, or its save_to_disk a folder"
        )


def _require_one_level_of_classes(root: Path) -> None:
    """Raise if every folder of `root` has the same folders: either level may be that of the classes."""
    folders = visible_folders(root)
    if len(folders) < 2 or any(images_in(folder)[0] for folder in folders):
        return
    inner = {tuple(path.name for path in visible_folders(folder)) for folder in folders}
    names = next(iter(inner))
    if len(inner) > 1 or len(names) < 2:
        return
    if all(part_called(name) for name in names):
        raise DatasetError(
            f"the classes of {root} hold the parts {', '.join(names)}; put the parts outside, as in "
            f"{names[0]}/{folders[0].name}"
        )
    raise DatasetError(
        f"all folders of {root} hold folders of the same names, such as {folders[0].name}/{names[0]}: "
        "either may be classes; move the images up so that class folders stand in the folder given"
    )
