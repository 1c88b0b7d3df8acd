"""Every image file of a folder or dataset decoded, one after another, to find the bad ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from xnas.data.any_folder import list_images
from xnas.data.datasets import DATASETS, find_folder
from xnas.data.decoding import decode_image
from xnas.data.folder_index import FolderIndex
from xnas.data.named_folders import INDEXES
from xnas.data_options import SMALLEST_SIDE, DataOptions
from xnas.errors import ConfigError, DatasetError


def files_of(name: str | None, options: DataOptions) -> FolderIndex:
    """The files of a folder, a table or a dataset whose images are files."""
    if name in INDEXES:
        return INDEXES[name](options)
    if name is None or name in DATASETS:
        given = "none" if name is None else f"the dataset {name}"
        raise ConfigError(f"--check decodes the image files of a folder, got {given}; leave it out")
    return list_images(find_folder(name), use_val=options.use_val)


def check_files(index: FolderIndex) -> Iterator[DatasetError | None]:
    """For each file of an index what is wrong with it, or None; pixels are not kept."""
    side = (SMALLEST_SIDE, SMALLEST_SIDE)
    for path in chain(index.train.files, index.test.files):
        try:
            decode_image(path, channels=3, size=side, resize="stretch")
        except DatasetError as error:
            yield error
        else:
            yield None
