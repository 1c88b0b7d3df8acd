"""The files of a folder of class folders, and their classes, before any is decoded.

    flowers/rose/1.jpg                 classes alone: a fifth of each class is held out as test
    flowers/train/rose/1.jpg           parts: `train`, with `val` and `test` if they are there
    flowers/rose/2019/1.jpg            a class without images of its own has those of its folders

Classes are the folders' names, sorted. Hidden files, folders next to the images of a class and files
without the ending of an image format are left out. Nothing deeper is read, so that a link which leads
back to where it came from leads nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from xnas.data.consistency import is_plain_text
from xnas.data.folder_files import visible_folders
from xnas.data.layouts import images_of_class, require_class_folders
from xnas.data.part_names import parts_in
from xnas.data.splits import TEST_SEED, TEST_SHARE, held_out, held_out_note
from xnas.errors import DatasetError

FEWEST_IMAGES = 4  # of a class, so that both halves of a search and the test part get some


@dataclass(frozen=True, slots=True, eq=False)
class LabelledFiles:
    """Image files with their classes."""

    files: tuple[Path, ...]
    labels: Tensor
    """int64 (files,), as indices into the classes."""

    def __len__(self) -> int:
        return len(self.files)

    def chosen(self, indices: Tensor) -> LabelledFiles:
        """Those at these indices."""
        return LabelledFiles(tuple(self.files[i] for i in indices.tolist()), self.labels[indices])


@dataclass(frozen=True, slots=True, eq=False)
class FolderIndex:
    """What a folder holds; nothing of it is decoded yet."""

    name: str
    classes: tuple[str, ...]
    train: LabelledFiles
    test: LabelledFiles
    notes: tuple[str, ...] = ()
    """What was done, a phrase each."""
    test_of_train: bool = False
    """Whether the test images were held out of those for training."""
    has_val: bool = False
    """Whether there is a part for validation, joined or left out."""

    def notes_with(self, tested: int) -> tuple[str, ...]:
        """The notes, if so many test images can be read."""
        return (*self.notes, held_out_note(tested)) if self.test_of_train else self.notes


def list_folder(
    root: Path, *, use_val: bool = True, val_is_test: bool = False, name: str = ""
) -> FolderIndex:
    """Files and classes of a folder of class folders.

    Images of `val` join those of `train`, because a search makes halves of its own and a training uses
    both; with `use_val=False` they are left out, and with `val_is_test` they are the test images.
    """
    require_class_folders(root)
    parts = parts_in(root)
    first = parts["train"][0] if parts["train"] else root
    classes = tuple(_class_folders(first))
    vals = parts["val"]
    tests = vals if val_is_test else parts["test"]
    joining = vals if use_val and not val_is_test else []
    notes = [] if val_is_test else [_val_note(part, use_val=use_val) for part in vals]
    train, left_out = _listed([first, *joining], classes)
    require_enough(root, classes, train.labels)
    test, others = _listed(tests, classes)
    left_out += others
    if left_out:
        what = "file or folder" if len(left_out) == 1 else "files or folders"
        notes.append(f"{len(left_out)} other {what} left out (first: {str(left_out[0])!r})")
    called = name or root.resolve().name or str(root)
    return index_of(called, classes, train, test, notes, has_val=bool(vals))


def index_of(
    name: str,
    classes: tuple[str, ...],
    train: LabelledFiles,
    test: LabelledFiles,
    notes: Sequence[str],
    *,
    has_val: bool = False,
) -> FolderIndex:
    """An index of these parts; without test images, a fifth of each class is held out."""
    held = not test.files
    if held:
        kept, tested = held_out(train.labels, share=TEST_SHARE, seed=TEST_SEED)
        train, test = train.chosen(kept), train.chosen(tested)
    else:
        notes = [*notes, *_lacking_note("test", classes, test.labels)]
    return FolderIndex(name, classes, train, test, tuple(notes), test_of_train=held, has_val=has_val)


def require_enough(root: Path, classes: Sequence[str], labels: Tensor) -> None:
    """Refuse classes with too few images to be split."""
    counts = torch.bincount(labels, minlength=len(classes)).tolist()
    fewest = min(counts)
    name = classes[counts.index(fewest)]
    if fewest == 0:
        raise DatasetError(
            f"class folder {name!r} in {root} holds no image that Pillow reads; add some or remove it"
        )
    if fewest < FEWEST_IMAGES:
        raise DatasetError(
            f"class {name!r} in {root} has too few images to split: {fewest}; every class needs at "
            f"least {FEWEST_IMAGES}"
        )


def _class_folders(folder: Path) -> list[str]:
    names = [path.name for path in visible_folders(folder)]
    unwritable = next((name for name in names if not is_plain_text(name)), None)
    if unwritable is not None:
        raise DatasetError(
            f"the class folder {unwritable!r} in {folder} has a name that is not UTF-8; rename it"
        )
    if not names:
        raise DatasetError(
            f"{folder} has no class folders; put the images of each class into a folder there, or give "
            "the folder above, if these are the images of one class"
        )
    if len(names) == 1:
        raise DatasetError(f"{folder} has one class, {names[0]!r}; a classifier needs at least 2")
    return names


def _listed(parts: Iterable[Path], classes: tuple[str, ...]) -> tuple[LabelledFiles, list[Path]]:
    """Files of all parts together, and what is no image; classes must be those of `train`."""
    files: list[Path] = []
    labels: list[int] = []
    left_out: list[Path] = []
    for part in parts:
        present = {path.name for path in visible_folders(part)}
        unknown = present - set(classes)
        if unknown:
            raise DatasetError(
                f"{part} has a class {min(unknown)!r} that the training images lack; class folders of "
                f"all parts must agree"
            )
        for label, name in enumerate(classes):
            found, others = images_of_class(part / name) if name in present else ([], [])
            files += found
            labels += [label] * len(found)
            left_out += others
    return LabelledFiles(tuple(files), torch.tensor(labels, dtype=torch.int64)), left_out


def _lacking_note(part: str, classes: tuple[str, ...], labels: Tensor) -> list[str]:
    """A phrase if there are classes without test images."""
    counts = torch.bincount(labels, minlength=len(classes)).tolist()
    lacking = [name for name, count in zip(classes, counts, strict=True) if not count]
    if not lacking:
        return []
    return [f"{part} has no images of {len(lacking)} of {len(classes)} classes, such as {lacking[0]!r}"]


def _val_note(part: Path, *, use_val: bool) -> str:
    return f"{part.name} {'joins train' if use_val else 'left out'}"
