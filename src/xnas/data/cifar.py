"""CIFAR-10 from the files that its authors publish: pickles of Python 2, read without trust.

A pickle can ask for any function of any module to be called. This reader knows the three names that
CIFAR's files use, puts stand-ins in their place that accept bytes and a shape, and refuses the rest.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from xnas.data.images import ImageData
from xnas.errors import DatasetError

FOLDER = "cifar-10-batches-py"
TRAIN_FILES = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST_FILE, META_FILE = "test_batch", "batches.meta"
SOURCE = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32

ByteArray = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]

MEAN = (0.49139968, 0.48215827, 0.44653124)  # those of the paper's evaluation code
STD = (0.24703233, 0.24348505, 0.26158768)


def load_cifar10(data_dir: Path | None) -> ImageData:
    """The 50,000 training and 10,000 test images of CIFAR-10, wherever their files are found."""
    folder = _find(data_dir)
    missing = [name for name in (*TRAIN_FILES, TEST_FILE, META_FILE) if not (folder / name).is_file()]
    if missing:
        raise DatasetError(
            f"CIFAR-10 in {folder} lacks {', '.join(missing)}; unpack {SOURCE} there again"
        )
    classes = _read_classes(folder / META_FILE)
    batches = [_read_batch(folder / name, len(classes)) for name in TRAIN_FILES]
    test_images, test_labels = _read_batch(folder / TEST_FILE, len(classes))
    return ImageData(
        name="cifar10",
        images=torch.cat([images for images, _ in batches]),
        labels=torch.cat([labels for _, labels in batches]),
        classes=classes,
        test_images=test_images,
        test_labels=test_labels,
        mean=MEAN,
        std=STD,
        note=f"read from {folder}",
    )


def places(data_dir: Path | None) -> list[Path]:
    """Folders in which CIFAR-10 is looked for, first come first: `data_dir`, $XNAS_DATA, ./data."""
    from_environment = os.environ.get("XNAS_DATA")
    roots = [data_dir, Path(from_environment) if from_environment else None, Path("data")]
    return [place for root in roots if root is not None for place in (root / FOLDER, root)]


def _find(data_dir: Path | None) -> Path:
    looked = places(data_dir)
    for place in looked:
        if any((place / name).is_file() for name in (*TRAIN_FILES, TEST_FILE)):
            return place
    raise DatasetError(
        f"no CIFAR-10 files in {', '.join(str(place) for place in looked[1::2])} (or {FOLDER} there); "
        f"unpack {SOURCE} and pass its folder with --data-dir, or set XNAS_DATA"
    )


def _read_batch(path: Path, classes: int) -> tuple[Tensor, Tensor]:
    """Images (n, 3, 32, 32) and labels (n,) of one file."""
    content = _read_pickle(path)
    pixels, labels = content.get("data"), content.get("labels")
    if not isinstance(pixels, _Bytes) or not isinstance(labels, list):
        raise _damaged(path, "it holds no data or no labels")
    if pixels.array.shape != (len(labels), PIXELS):
        raise _damaged(path, f"data of shape {pixels.array.shape} for {len(labels)} labels")
    if not all(isinstance(label, int) and 0 <= label < classes for label in labels):
        raise _damaged(path, f"labels outside 0..{classes - 1}")
    return torch.tensor(pixels.array).view(-1, *SHAPE), torch.tensor(labels, dtype=torch.int64)


def _read_classes(path: Path) -> tuple[str, ...]:
    names = _read_pickle(path).get("label_names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _damaged(path, "it holds no label_names")
    return tuple(names)


def _read_pickle(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = _CifarUnpickler(file, encoding="latin1").load()
    except DatasetError:
        raise
    except Exception as error:  # damaged pickles raise almost anything
        raise _damaged(path, str(error) or type(error).__name__) from error
    if not isinstance(content, dict):
        raise _damaged(path, f"it holds a {type(content).__name__}, not a dict")
    return content


def _damaged(path: Path, why: str) -> DatasetError:
    return DatasetError(f"{path} is truncated or damaged ({why}); unpack {SOURCE} again")


class _Bytes:
    """Stands in for a pickled numpy array of bytes, whose state is its shape, order and data."""

    def __init__(self) -> None:
        self.array: ByteArray = np.empty(0, np.uint8)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, _, by_column, data = state
        raw = data.encode("latin1") if isinstance(data, str) else bytes(data)
        self.array = np.frombuffer(raw, np.uint8).reshape(shape, order="F" if by_column else "C")


class _ByteType:
    """Stands in for numpy's dtype: bytes, whatever else is said."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Nothing in it matters to bytes."""


def _array(*_: object) -> _Bytes:
    return _Bytes()


def _dtype(kind: object, *_: object) -> _ByteType:
    if kind != "u1":
        raise ValueError(f"an array of {kind!r} instead of bytes")
    return _ByteType()


class _CifarUnpickler(pickle.Unpickler):
    """Knows what CIFAR's files need, and nothing else."""

    _known: ClassVar[dict[tuple[str, str], Any]] = {
        ("numpy.core.multiarray", "_reconstruct"): _array,
        ("numpy._core.multiarray", "_reconstruct"): _array,  # as numpy 2 writes it
        ("numpy", "ndarray"): _Bytes,
        ("numpy", "dtype"): _dtype,
    }

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as the base class says
        """The stand-in for a name, or an error that says what the file asked for."""
        try:
            return self._known[module, name]
        except KeyError:
            raise DatasetError(
                f"a CIFAR-10 file asks for {module}.{name}, which no published one needs, and was not "
                f"read any further; unpack {SOURCE} again"
            ) from None
