"""Images that stay in files, for datasets that memory does not hold.

What is kept of an image is its path and its label, some hundred bytes; its pixels are decoded when a
batch needs them. Paths lie end to end in one tensor, which worker processes share; a list of a million
Python objects they would copy, page by page, because reading an object writes its reference count.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from xnas.data.consistency import Part, require_labelled, require_names, require_statistics
from xnas.data.decoding import decode_image
from xnas.data.images import DARKEST_DEVIATION, ImageData
from xnas.data.sizes import Size, require_resize
from xnas.data.splits import stream
from xnas.errors import DatasetError
from xnas.words import counted

STATISTICS_SAMPLE = 2048  # images; the mean of so many is within 1 % of a deviation of the whole
NAME_PARTS = 2  # of a path: class folder and file, which stay when a dataset moves


class Paths:
    """Many paths in two tensors: their bytes, end to end, and where each begins."""

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        text, starts = bytearray(), array("q", [0])
        for path in paths:
            text += os.fsencode(path)
            starts.append(len(text))
        self._text = torch.frombuffer(text or bytearray(1), dtype=torch.uint8)  # never of no bytes
        self._starts = torch.frombuffer(starts, dtype=torch.int64)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, index: int) -> Path:
        """The path of one image."""
        if not 0 <= index < len(self):
            raise IndexError(f"path {index} of {len(self)}")
        start, end = self._starts[index : index + 2].tolist()
        return Path(os.fsdecode(self._text[start:end].numpy().tobytes()))

    def __iter__(self) -> Iterator[Path]:
        return (self[index] for index in range(len(self)))

    def decode(self, index: int, *, channels: int, size: Size, resize: str) -> Tensor:
        """One image, uint8 (channels, height, width)."""
        return decode_image(self[index], channels=channels, size=size, resize=resize)

    def identities(self, *, may_lack: bool) -> Iterator[bytes]:
        """Folder, name and length in bytes of each file; -1 for one that is gone, if it may."""
        for path in self:
            yield os.fsencode(Path(*path.parts[-NAME_PARTS:]))
            yield f"\0{_bytes_of(path, may_lack=may_lack)}\0".encode()


class Store(Protocol):
    """Where images are that memory does not hold: files (`Paths`) or items of a dataset."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Path | str:
        """What messages call one image."""

    def decode(self, index: int, *, channels: int, size: Size, resize: str) -> Tensor:
        """One image, uint8 (channels, height, width); DatasetError names one that is none."""

    def identities(self, *, may_lack: bool) -> Iterator[bytes]:
        """Identifies these images among others."""


@dataclass(frozen=True, slots=True, eq=False)
class ImageFiles:
    """Images to be decoded one by one, all to one shape."""

    paths: Store
    channels: int
    size: Size
    resize: str

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of every image."""
        return self.channels, *self.size

    def read(self, index: int) -> Tensor:
        """One image, uint8 (channels, height, width); DatasetError names a file that is no image."""
        return self.paths.decode(index, channels=self.channels, size=self.size, resize=self.resize)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StreamedImages:
    """Labelled images in files: what `ImageData` is for images in memory.

        names = ("cat", "dog")
        StreamedImages(name="mine", files=Paths(files), labels=labels, classes=names, size=(64, 64))

    Searches split `files` and never see `test_files`.
    """

    name: str
    files: Store
    """Files of the training images, or items of a dataset."""
    labels: Tensor
    """Their classes, int64 (examples,), as indices into `classes`."""
    classes: tuple[str, ...]
    test_files: Store | None = None
    test_labels: Tensor | None = None
    channels: int = 3
    """1 for grey images, 3 for colour; the others are converted."""
    size: Size
    """Height and width that every image gets."""
    resize: str = "crop"
    """How it gets them: crop, pad or stretch."""
    mean: tuple[float, ...] = ()
    """Of each channel, with 0 for black and 1 for white; of a sample of training images unless given."""
    std: tuple[float, ...] = ()
    """Deviation of each channel, likewise."""
    flip: bool = True
    """Whether a mirrored image still shows its class; not so for digits and letters."""
    note: str = ""
    """What was done to the images, in one line."""
    skip_bad_images: bool = False
    """Whether files that cannot be read are passed over rather than an error.

    `load_data` leaves out those whose headers are bad, as it does in memory. A file that fails only when
    it is decoded is left out in memory, and here replaced by the next in the order: batches differ then.
    """

    def __post_init__(self) -> None:
        require_resize(self.resize)
        require_names(self.name, self.classes)
        test = None if self.test_files is None else (len(self.test_files), *self.images.shape)
        require_labelled(
            self.name,
            self.classes,
            Part("images", (len(self.files), *self.images.shape), self.labels),
            Part("test images", test, self.test_labels),
        )
        if not self.mean and not self.std:
            mean, std = sampled_statistics(self.images, skip_bad_images=self.skip_bad_images)
            object.__setattr__(self, "mean", mean)
            object.__setattr__(self, "std", std)
        require_statistics(self.name, self.channels, self.mean, self.std)

    @property
    def images(self) -> ImageFiles:
        """The training images."""
        return ImageFiles(self.files, self.channels, self.size, self.resize)

    @property
    def test_images(self) -> ImageFiles | None:
        """The test images, if there are any."""
        if self.test_files is None:
            return None
        return ImageFiles(self.test_files, self.channels, self.size, self.resize)

    def __repr__(self) -> str:
        images, height, width = counted(len(self.images), "image"), *self.size
        return (
            f"StreamedImages({self.name!r}: {images} of {self.channels} x {height} x {width}, "
            f"{len(self.classes)} classes)"
        )

    def fingerprint(self) -> str:
        """A hash of the training files' names and sizes in bytes, of labels, classes and image shape.

        Pixels are not read: a file that was changed and kept both name and length goes unnoticed. Of a
        path its folder and name count, so that a dataset may move.
        """
        return self._hash(self.files, self.labels)

    def test_fingerprint(self) -> str | None:
        """The same of the test files; None without any."""
        if self.test_files is None or self.test_labels is None:
            return None
        return self._hash(self.test_files, self.test_labels)

    def _hash(self, files: Store, labels: Tensor) -> str:
        digest = blake2b(digest_size=16)
        digest.update(f"{len(files)} files {self.images.shape} {self.resize}\0".encode())
        for identity in files.identities(may_lack=self.skip_bad_images):
            digest.update(identity)
        digest.update(labels.cpu().contiguous().numpy().tobytes())
        digest.update("\0".join(self.classes).encode())
        return digest.hexdigest()


Images = ImageData | StreamedImages
"""Images that a run takes: in memory, or in files."""


def sampled_statistics(
    images: ImageFiles, *, skip_bad_images: bool = False
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of each channel, as `channel_statistics` has them, of at most 2,048 images.

    The sample is drawn at random, always alike, and decoded one image after another.
    """
    drawn = torch.randperm(len(images), generator=stream(0, "statistics"))[:STATISTICS_SAMPLE]
    totals = torch.zeros(images.channels, dtype=torch.int64)
    squares, read = totals.clone(), 0
    for index in drawn.sort().values.tolist():
        try:
            pixels = images.read(index).int()
        except DatasetError:
            if not skip_bad_images:
                raise
            continue
        totals += pixels.sum((1, 2), dtype=torch.int64)
        squares += pixels.square().sum((1, 2), dtype=torch.int64)
        read += 1
    if read == 0:
        first = images.paths[int(drawn[0])]
        raise DatasetError(f"none of {len(drawn)} images can be read, such as {first}; fix the files")
    count = read * images.size[0] * images.size[1]
    mean = tuple(total / count / 255 for total in totals.tolist())
    std = tuple(
        max((count * square - total**2) ** 0.5 / count / 255, DARKEST_DEVIATION)
        for total, square in zip(totals.tolist(), squares.tolist(), strict=True)
    )
    return mean, std


def _bytes_of(path: Path, *, may_lack: bool) -> int:
    """Length of a file; -1 for one that is not there, if that is no error."""
    try:
        return path.stat().st_size
    except OSError as error:
        if may_lack:
            return -1
        why = error.strerror or type(error).__name__
        raise DatasetError(
            f"cannot find the image {path} ({why}); bring it back or list again"
        ) from error
