"""CIFAR-10 and CIFAR-100 from the published files: pickles of Python 2, read without trust.

A pickle can ask for any function of any module to be called. This reader knows the three names that
CIFAR's files use, puts stand-ins in their place that accept bytes and a shape, and refuses the rest.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as brief
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from xnas.data.catalogue import CATALOGUE, Known
from xnas.data.images import ImageData
from xnas.data.places import require_found
from xnas.data.wholeness import require_whole
from xnas.data_options import DataOptions
from xnas.errors import DatasetError

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32

ByteArray = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]

MEAN = (0.49139968, 0.48215827, 0.44653124)  # those of the paper's evaluation code
STD = (0.24703233, 0.24348505, 0.26158768)


def load_cifar10(options: DataOptions) -> ImageData:
    """The 50,000 training and 10,000 test images of CIFAR-10, wherever their files are found."""
    return _load("cifar10", options, labels="labels", names="label_names", mean=MEAN, std=STD)


def load_cifar100(options: DataOptions) -> ImageData:
    """The 50,000 training and 10,000 test images of CIFAR-100, with its hundred fine classes."""
    return _load("cifar100", options, labels="fine_labels", names="fine_label_names")


def _load(
    name: str,
    options: DataOptions,
    *,
    labels: str,
    names: str,
    mean: tuple[float, ...] = (),
    std: tuple[float, ...] = (),
) -> ImageData:
    """Batches for training, one for test, and last in the list of files the classes' names."""
    known = CATALOGUE[name]
    folder = require_found(known, options.data_dir)
    require_whole(known, folder)
    *train_files, test_file, meta_file = (folder / file.name for file in known.files)
    reader = _Reader(known, labels=labels, names=names)
    classes = reader.classes(meta_file)
    batches = [reader.batch(path, len(classes)) for path in train_files]
    test_images, test_labels = reader.batch(test_file, len(classes))
    return ImageData(
        name=name,
        images=torch.cat([images for images, _ in batches]),
        labels=torch.cat([labels for _, labels in batches]),
        classes=classes,
        test_images=test_images,
        test_labels=test_labels,
        mean=mean,
        std=std,
        flip=known.flip,
        note=f"read from {folder}",
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one dataset's files; `labels` and `names` are the keys in them."""

    known: Known
    labels: str
    names: str

    def batch(self, path: Path, classes: int) -> tuple[Tensor, Tensor]:
        """Images (n, 3, 32, 32) and labels (n,) of one file."""
        content = self._content(path)
        pixels, labels = content.get("data"), content.get(self.labels)
        if not isinstance(pixels, _Bytes) or not isinstance(labels, list):
            raise self._damaged(path, f"it holds no data or no {self.labels}")
        if pixels.array.shape != (len(labels), PIXELS):
            raise self._damaged(path, f"data of shape {pixels.array.shape} for {len(labels)} labels")
        if not all(isinstance(label, int) and 0 <= label < classes for label in labels):
            raise self._damaged(path, f"labels outside 0..{classes - 1}")
        return torch.tensor(pixels.array).view(-1, *SHAPE), torch.tensor(labels, dtype=torch.int64)

    def classes(self, path: Path) -> tuple[str, ...]:
        """Names of the classes."""
        names = self._content(path).get(self.names)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self._damaged(path, f"it holds no {self.names}")
        return tuple(names)

    def _content(self, path: Path) -> dict[str, Any]:
        try:
            with path.open("rb") as file:
                content = _CifarUnpickler(file, encoding="latin1").load()
        except DatasetError:
            raise
        except Exception as error:  # damaged pickles raise almost anything
            raise self._damaged(path, str(error)[:200] or type(error).__name__) from error
        if not isinstance(content, dict):
            raise self._damaged(path, f"it holds a {type(content).__name__}, not a dict")
        return content

    def _damaged(self, path: Path, why: str) -> DatasetError:
        return DatasetError(
            f"{path} is truncated or damaged ({why}); unpack {self.known.sources[0].url} again"
        )


class _Bytes:
    """Stands in for a pickled numpy array of bytes, whose state is its shape, order and data."""

    def __init__(self) -> None:
        self.array: ByteArray = np.empty(0, np.uint8)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, _, by_column, data = state
        raw = data.encode("latin1") if isinstance(data, str) else data
        if not isinstance(raw, bytes):  # of a number, bytes() would make as many zeros
            raise TypeError(f"data of an array are {brief(raw)}")
        self.array = np.frombuffer(raw, np.uint8).reshape(shape, order="F" if by_column else "C")


class _ByteType:
    """Stands in for numpy's dtype: bytes, whatever else is said."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Nothing in it matters to bytes."""


def _array(*_: object) -> _Bytes:
    return _Bytes()


def _dtype(kind: object, *_: object) -> _ByteType:
    if kind != "u1":
        raise ValueError(f"an array of {brief(kind)} instead of bytes")
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
                f"a CIFAR file asks for {f'{module}.{name}'[:99]}, which no published one needs, and "
                f"was not read any further; get the published files again"
            ) from None
