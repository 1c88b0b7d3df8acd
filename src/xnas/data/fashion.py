"""Fashion-MNIST from its IDX files, plain or compressed with gzip."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import torch
from torch import Tensor

from xnas.data.catalogue import CATALOGUE
from xnas.data.images import ImageData
from xnas.data.places import file_at, require_found
from xnas.data.wholeness import require_whole
from xnas.data_options import DataOptions
from xnas.errors import DatasetError

CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
BYTES = 8  # the code of IDX for unsigned bytes
MOST_BYTES = 1 << 28  # of an array; the largest of Fashion-MNIST has 47 million


def load_fashion_mnist(options: DataOptions) -> ImageData:
    """The 60,000 training and 10,000 test images of Fashion-MNIST: 28 x 28, grey."""
    known = CATALOGUE["fashion_mnist"]
    folder = require_found(known, options.data_dir)
    require_whole(known, folder)
    paths = [file_at(folder, file) or folder / file.name for file in known.files]
    images, labels, test_images, test_labels = (
        read_idx(path, dimensions) for path, dimensions in zip(paths, (3, 1, 3, 1), strict=True)
    )
    return ImageData(
        name=known.name,
        images=images[:, None],
        labels=labels.long(),
        classes=CLASSES,
        test_images=test_images[:, None],
        test_labels=test_labels.long(),
        flip=known.flip,
        note=f"read from {folder}",
    )


def read_idx(path: Path, dimensions: int) -> Tensor:
    """The bytes of an IDX file: two zeros, a type, the number of dimensions, their sizes, the data."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            head = file.read(4)
            if head != bytes((0, 0, BYTES, dimensions)):
                raise _damaged(path, f"it begins with {head.hex(' ') or 'nothing'}")
            sizes = [int.from_bytes(file.read(4), "big") for _ in range(dimensions)]
            count = 1
            for size in sizes:
                count *= size
            if count > MOST_BYTES:
                raise _damaged(path, f"a shape of {sizes}")
            content = bytearray(file.read(count + 1))
    except (OSError, EOFError, zlib.error) as error:
        raise _damaged(path, str(error)) from error
    if len(content) != count or count == 0:
        raise _damaged(path, f"{len(content)} bytes for a shape of {sizes}")
    return torch.frombuffer(content, dtype=torch.uint8).view(sizes)


def _damaged(path: Path, why: str) -> DatasetError:
    return DatasetError(
        f'{path} is truncated or damaged ({why}); get it again, as "xnas data fashion_mnist" says'
    )
