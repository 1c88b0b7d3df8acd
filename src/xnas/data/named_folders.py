"""Datasets with a name whose images are files: CINIC-10, Freiburg Groceries and ImageNet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from xnas.data.catalogue import CATALOGUE, Known
from xnas.data.folder_files import images_in, visible_folders
from xnas.data.folder_index import FolderIndex, LabelledFiles, list_folder
from xnas.data.folders import load_files
from xnas.data.image_files import Images
from xnas.data.places import require_found
from xnas.data.sizes import LARGE
from xnas.data_options import DataOptions
from xnas.errors import DatasetError

FREIBURG_SIDE = 96  # the paper's, of 256 (supplement)


def load_cinic10(options: DataOptions) -> Images:
    """CINIC-10: 90,000 images for training and as many for test; `use_val` adds those of valid."""
    return load_files(index_cinic10(options), options, size=(32, 32), channels=3)


def load_freiburg(options: DataOptions) -> Images:
    """One fold of the Freiburg groceries, padded to squares and reduced to 96 x 96 as in the paper."""
    side = (FREIBURG_SIDE, FREIBURG_SIDE)
    return load_files(index_freiburg(options), options, size=side, channels=3, resize="pad")


def load_imagenet(options: DataOptions) -> Images:
    """ImageNet at 64 x 64, unless another size is asked for; its `val` part is the test part."""
    return load_files(index_imagenet(options), options, size=(LARGE, LARGE), channels=3)


def index_cinic10(options: DataOptions) -> FolderIndex:
    """Files of CINIC-10."""
    known = CATALOGUE["cinic10"]
    root = require_found(known, options.data_dir)
    _require_folders(known, root, "train", "test", *(["valid"] if options.use_val else []))
    index = list_folder(root, use_val=bool(options.use_val), name=known.name)
    joined = known.validation_examples if options.use_val else 0
    return _told(known, root, index, expected=known.examples + joined + known.test_examples)


def index_imagenet(options: DataOptions) -> FolderIndex:
    """Files of ImageNet."""
    known = CATALOGUE["imagenet"]
    root = require_found(known, options.data_dir)
    _require_folders(known, root, "train", "val")
    if not visible_folders(root / "val") and images_in(root / "val")[0]:
        raise DatasetError(
            f"{root / 'val'} holds images but no class folders; sort them with "
            f"torchvision.datasets.ImageNet(folder, 'val'), which needs ILSVRC2012_img_val.tar and "
            f"ILSVRC2012_devkit_t12.tar.gz in that folder, or move each into the folder of its class"
        )
    index = list_folder(root, val_is_test=True, name=known.name)
    return _told(known, root, index, expected=known.examples + known.test_examples)


def index_freiburg(options: DataOptions) -> FolderIndex:
    """Files of one fold of the Freiburg groceries, by its lists of training and test images."""
    known = CATALOGUE["freiburg"]
    root = require_found(known, options.data_dir)
    _require_folders(known, root, "images", "splits")
    fold = options.fold or 0
    train, test = (_split(root, root / "splits" / f"{part}{fold}.txt") for part in ("train", "test"))
    classes = tuple(sorted({name.split("/")[0] for name in (*train, *test)}))
    both = set(train) & set(test)
    if both:
        raise DatasetError(
            f"fold {fold} in {root / 'splits'} lists {min(both)} for training and for test; get the "
            f"published lists again"
        )
    number = {name: label for label, name in enumerate(classes)}
    listed = [
        LabelledFiles(
            tuple(root / "images" / name for name in names),
            torch.tensor([number[name.split("/")[0]] for name in names], dtype=torch.int64),
        )
        for names in (train, test)
    ]
    index = FolderIndex(known.name, classes, listed[0], listed[1], (f"fold {fold} of 0..4",))
    return _told(known, root, index, expected=known.examples)


INDEXES: dict[str, Callable[[DataOptions], FolderIndex]] = {
    "cinic10": index_cinic10,
    "freiburg": index_freiburg,
    "imagenet": index_imagenet,
}
"""Functions that list the files of a dataset, by its name."""


def _split(root: Path, path: Path) -> list[str]:
    """Images, as `CLASS/FILE`, that a list names; each line gives one and the number of its class."""
    try:
        lines = path.read_text(encoding="utf8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(
            f'cannot read {path} ({error}); get the lists of the folds, as "xnas data freiburg" says'
        ) from error
    names = [line.rsplit(maxsplit=1)[0] for line in lines if line.strip()]
    wrong = next((name for name in names if not _is_plain(name)), None)
    if wrong is not None or not names:
        found = "nothing" if wrong is None else repr(wrong)
        raise DatasetError(f"{path} lists {found} where CLASS/FILE is expected; get it again")
    missing = [name for name in names if not (root / "images" / name).exists()]
    if missing:
        raise DatasetError(
            f"{len(missing)} of the {len(names)} images that {path} lists are not in {root / 'images'}; "
            f"the first: {missing[0]}; unpack the archive again"
        )
    return names


def _is_plain(name: str) -> bool:
    """Whether a name is one folder and one file, which stay below the folder they are looked up in."""
    parts = name.split("/")
    return len(parts) == 2 and not any(part in ("", ".", "..") for part in parts)


def _require_folders(known: Known, root: Path, *names: str) -> None:
    missing = [name for name in names if not (root / name).is_dir()]
    if missing:
        raise DatasetError(
            f"{known.title} in {root} lacks the folder {', '.join(missing)}; "
            f'"xnas data {known.name}" says how to get it'
        )


def _told(known: Known, root: Path, index: FolderIndex, *, expected: int) -> FolderIndex:
    """The index with a note of where it is, and of images that are missing."""
    notes = (f"read from {root}", *index.notes)
    found = len(index.train) + len(index.test)
    if found != expected:
        notes += (f"not whole: {found:,} of {expected:,} images",)
    if len(index.classes) != known.classes:
        notes += (f"{len(index.classes)} of {known.classes} classes",)
    return replace(index, notes=notes)
