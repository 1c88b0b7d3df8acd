"""Datasets by name, or any folder of images.

What a run tests on follows from the data alone. Where a dataset has no test part of its own, a fifth
of each class is held out with a seed that no run can set, so that no search, whatever its seed, has
seen what another tests on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from xnas.data.catalogue import CATALOGUE
from xnas.data.cifar import load_cifar10, load_cifar100
from xnas.data.fashion import load_fashion_mnist
from xnas.data.folders import load_folder
from xnas.data.image_files import Images, StreamedImages
from xnas.data.images import ImageData
from xnas.data.named_folders import load_cinic10, load_freiburg, load_imagenet
from xnas.data.saved_datasets import is_saved, load_saved
from xnas.data.sizes import resized
from xnas.data.splits import TEST_SEED, TEST_SHARE, held_out, held_out_note
from xnas.data.svhn import load_svhn
from xnas.data.tables import is_table
from xnas.data_options import DataOptions
from xnas.errors import ConfigError, DatasetError
from xnas.registry import Registry, known_names

Loader = Callable[[DataOptions], Images]
"""Loads a dataset; it is given the options of the user, `data_dir` among them."""

DATASETS: Registry[Loader] = Registry("dataset")
"""Name -> loader of a dataset; add your own with `DATASETS.add`."""


@DATASETS.register("digits")
def load_digits(_options: DataOptions = DataOptions()) -> ImageData:  # noqa: B008 - frozen
    """The 1,797 handwritten digits that come with scikit-learn: 8 x 8, grey."""
    from sklearn.datasets import (  # type: ignore[import-untyped]  # noqa: PLC0415
        load_digits as embedded,
    )

    digits = embedded()
    grey = torch.tensor(digits.images * (255 / 16)).round().to(torch.uint8)[:, None]  # 0..16 before
    labels = torch.tensor(digits.target, dtype=torch.int64)
    kept, held = held_out(labels, share=TEST_SHARE, seed=TEST_SEED)
    return ImageData(
        name="digits",
        images=grey[kept],
        labels=labels[kept],
        classes=tuple(str(name) for name in digits.target_names),
        test_images=grey[held],
        test_labels=labels[held],
        flip=False,
        note=f"scikit-learn's digits; {held_out_note(len(held))}",
    )


DATASETS.add("fashion_mnist", load_fashion_mnist)
DATASETS.add("cifar10", load_cifar10)
DATASETS.add("cifar100", load_cifar100)
DATASETS.add("svhn", load_svhn)
DATASETS.add("cinic10", load_cinic10)
DATASETS.add("freiburg", load_freiburg)
DATASETS.add("imagenet", load_imagenet)


def load_data(
    name_or_path: str | Path,
    options: DataOptions | None = None,
    **settings: Any,  # noqa: ANN401 - of DataOptions
) -> Images:
    """The dataset of this name, or the images of this folder.

    `settings` are options of `DataOptions` by name, such as `image_size=32`; they go before `options`.
    Without an image size, named datasets stay as they are and folders follow `fitting_size`. Streamed,
    files that fail only when they are decoded are replaced by others, where in memory they are left out.
    """
    options = replace(options or DataOptions(), **settings)
    name = str(name_or_path)
    if not name:
        raise DatasetError(f"no data were named; {_what_works()}")
    require_options_of(name, options)
    try:
        if name in DATASETS:
            data = DATASETS[name](options)
            if isinstance(data, StreamedImages):
                return data
            if options.stream:
                raise ConfigError(f"{name} has no image files to stream; leave stream out")
            if options.resize is not None:
                data = replace(data, resize=options.resize)
            size = options.image_size
            return data if size is None else resized(data, size, options.resize or "crop")
        folder = find_folder(name)
        return load_saved(folder, options) if is_saved(folder) else load_folder(folder, options)
    except OSError as error:
        raise DatasetError(
            f"cannot read {name!r}: {error.strerror or error}; {_what_works()}"
        ) from error


def require_options_of(name: str, options: DataOptions) -> None:
    """Raise for options that the dataset or folder of this name does not have."""
    if options.fold is not None and not (name in CATALOGUE and CATALOGUE[name].folds):
        having = " and ".join(known.name for known in CATALOGUE.values() if known.folds)
        raise ConfigError(
            f"fold {options.fold} was asked of {name}, but only {having} has folds; leave it out"
        )
    if options.fold == "all":
        raise ConfigError(
            "fold all is a training for each fold: use xnas train, or xnas.runs.folds.train_folds; for "
            "one give 0 to 4"
        )
    if options.use_val and name in CATALOGUE and not CATALOGUE[name].validation_examples:
        having = " and ".join(known.name for known in CATALOGUE.values() if known.validation_examples)
        raise ConfigError(
            f"use-val was asked of {name}, but of the named datasets only {having} has images for "
            "validation; leave it out"
        )


def find_folder(name: str) -> Path:
    """The folder or table of this name; an error that names what would work if there is none."""
    path = Path(name).expanduser()
    if path.is_dir() or (path.is_file() and is_table(path)):
        return path
    if "://" in name:
        raise DatasetError(
            f"{name!r} is an address, and nothing is fetched from addresses; download and unpack it, "
            "and give the folder"
        )
    fault = f"no dataset or folder called {name!r}"
    if path.is_file():
        fault = f"{path} is a file"
    elif path.is_symlink():
        fault = f"{path} is a link that leads nowhere or in a circle"
    raise DatasetError(f"{fault}; {_what_works(path.name)}")


def _what_works(name: str = "") -> str:
    known = known_names(name, sorted(DATASETS))
    return f"give a folder of class folders or the name of a dataset; {known}"
