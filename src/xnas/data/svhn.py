"""SVHN, house numbers seen from the street, from its three files in MATLAB's format."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from xnas.data.catalogue import CATALOGUE
from xnas.data.images import ImageData
from xnas.data.matlab import read_matrices
from xnas.data.places import require_found
from xnas.data.wholeness import require_whole
from xnas.data_options import DataOptions
from xnas.errors import DatasetError

SIDE = 32
ZERO = 10  # the label that the files give to the digit 0


def load_svhn(options: DataOptions) -> ImageData:
    """SVHN's cropped digits, 32 x 32: `train` and `extra` together for training, and `test`."""
    known = CATALOGUE["svhn"]
    folder = require_found(known, options.data_dir)
    require_whole(known, folder)
    train, extra, test = (_read(folder / file.name) for file in known.files)
    return ImageData(
        name=known.name,
        images=torch.cat([train[0], extra[0]]),
        labels=torch.cat([train[1], extra[1]]),
        classes=tuple(str(digit) for digit in range(10)),
        test_images=test[0],
        test_labels=test[1],
        flip=known.flip,
        note=f"read from {folder}; {len(train[1])} images of train, {len(extra[1])} of extra",
    )


def _read(path: Path) -> tuple[Tensor, Tensor]:
    """Images (n, 3, 32, 32) and labels (n,) of one file, which has the images' number last."""
    try:
        content = read_matrices(path, ("X", "y"))
    except (OSError, ValueError, ArithmeticError, LookupError, zlib.error) as error:
        raise _damaged(path, str(error) or type(error).__name__) from error
    pixels, labels = content.get("X"), content.get("y")
    if pixels is None or labels is None:
        raise _damaged(path, "it holds no X or no y")
    if pixels.dtype != np.uint8 or pixels.shape[:3] != (SIDE, SIDE, 3) or pixels.ndim != 4:
        raise _damaged(path, f"X is {pixels.dtype} {pixels.shape}")
    if labels.dtype.kind not in "iuf" or labels.size != pixels.shape[3]:
        raise _damaged(path, f"{labels.size} labels for {pixels.shape[3]} images")
    digits = torch.tensor(labels.reshape(-1).astype(np.int64))
    if int(digits.min()) < 1 or int(digits.max()) > ZERO:
        raise _damaged(path, f"labels outside 1..{ZERO}")
    images = torch.from_numpy(np.ascontiguousarray(pixels.transpose(3, 2, 0, 1)))
    return images, digits % ZERO


def _damaged(path: Path, why: str) -> DatasetError:
    return DatasetError(
        f'{path} is truncated or damaged ({why}); get it again, as "xnas data svhn" says'
    )
