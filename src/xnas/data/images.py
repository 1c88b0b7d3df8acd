"""A dataset in memory: images as bytes, their labels, and what a network has to know of them.

Images stay uint8 from the file to the device, a quarter of what floats would take; they become floats
batch by batch, when they are standardised with the mean and deviation stored here with them.
Training and test images are two tensors, so that no index into the one can reach the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import torch
from torch import Tensor

from xnas.data.consistency import Part, require_labelled, require_names, require_statistics
from xnas.data.statistics_cache import remembered
from xnas.errors import DatasetError
from xnas.words import counted

STATISTICS_CHUNK = 4096  # images squared at a time, as 32-bit numbers
REMEMBERED = 10_000  # images; what takes longer to measure than to hash is measured once
DARKEST_DEVIATION = 1 / 255  # for a channel without variation, which would divide by zero


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ImageData:
    """Labelled images for a search or a training; a user's own tensors make one too.

        ImageData(name="mine", images=images, labels=labels, classes=("cat", "dog"))

    Searches split `images` and never see `test_images`.
    """

    name: str
    images: Tensor
    """Training images, uint8 (examples, channels, height, width)."""
    labels: Tensor
    """Their classes, int64 (examples,), as indices into `classes`."""
    classes: tuple[str, ...]
    test_images: Tensor | None = None
    test_labels: Tensor | None = None
    mean: tuple[float, ...] = ()
    """Of each channel, with 0 for black and 1 for white; of the training images unless given."""
    std: tuple[float, ...] = ()
    """Deviation of each channel, likewise."""
    flip: bool = True
    """Whether a mirrored image still shows its class; not so for digits and letters."""
    note: str = ""
    """What was done to the images, in one line."""
    resize: str = "crop"
    """The rule that brought them to their size, and that others should get it by."""

    def __post_init__(self) -> None:
        require_names(self.name, self.classes)
        _require_tensors(self)
        require_labelled(self.name, self.classes, self._part(), self._test_part())
        if not self.mean and not self.std:
            mean, std = _statistics(self)
            object.__setattr__(self, "mean", mean)
            object.__setattr__(self, "std", std)
        require_statistics(self.name, self.channels, self.mean, self.std)

    def __repr__(self) -> str:
        images, height, width = counted(len(self.images), "image"), *self.size
        return (
            f"ImageData({self.name!r}: {images} of {self.channels} x {height} x {width}, "
            f"{len(self.classes)} classes)"
        )

    def fingerprint(self) -> str:
        """A hash of the training images, their labels and classes: what a search must find again."""
        return self._hash(self.images, self.labels)

    def test_fingerprint(self) -> str | None:
        """The same of the test images, which a resumed training must find again; None without any."""
        if self.test_images is None or self.test_labels is None:
            return None
        return self._hash(self.test_images, self.test_labels)

    def _hash(self, *parts: Tensor) -> str:
        digest = blake2b(digest_size=16)
        for part in (tensor.cpu().contiguous().numpy() for tensor in parts):
            digest.update(f"{part.dtype} {part.shape} ".encode())
            digest.update(part.tobytes())
        digest.update("\0".join(self.classes).encode())
        return digest.hexdigest()

    def _part(self) -> Part:
        return Part("images", tuple(self.images.shape), self.labels)

    def _test_part(self) -> Part:
        shape = None if self.test_images is None else tuple(self.test_images.shape)
        return Part("test images", shape, self.test_labels)

    @property
    def channels(self) -> int:
        """1 for grey images, 3 for colour."""
        return int(self.images.shape[1])

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return int(self.images.shape[2]), int(self.images.shape[3])


def _statistics(data: ImageData) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Measured, or remembered if there are many images."""
    if len(data.images) <= REMEMBERED:
        return channel_statistics(data.images)
    return remembered(data.fingerprint(), lambda: channel_statistics(data.images))


def channel_statistics(images: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of each channel of uint8 images, both in 0..1.

    Sums are whole numbers, so the result does not depend on how the images are cut into chunks. The
    deviation is that of the population, over pixels, and at least one grey level.
    """
    totals = torch.zeros(images.shape[1], dtype=torch.int64)
    squares = torch.zeros(images.shape[1], dtype=torch.int64)
    for chunk in torch.split(images, STATISTICS_CHUNK):
        totals += chunk.sum((0, 2, 3), dtype=torch.int64).cpu()
        squares += chunk.int().square().sum((0, 2, 3), dtype=torch.int64).cpu()
    pixels = images.numel() // images.shape[1]
    mean = tuple(total / pixels / 255 for total in totals.tolist())
    std = tuple(
        max((pixels * square - total**2) ** 0.5 / pixels / 255, DARKEST_DEVIATION)
        for total, square in zip(totals.tolist(), squares.tolist(), strict=True)
    )
    return mean, std


def _require_tensors(data: ImageData) -> None:
    _require_tensor_pair(data.name, "images", data.images, data.labels)
    if data.test_images is not None and data.test_labels is not None:
        _require_tensor_pair(data.name, "test images", data.test_images, data.test_labels)


def _require_tensor_pair(name: str, what: str, images: Tensor, labels: Tensor) -> None:
    for part, given in ((what, images), ("labels", labels)):
        if not isinstance(given, Tensor):
            raise DatasetError(
                f"{part} of {name} must be a tensor, got {type(given).__name__}; torch.as_tensor makes "
                "one"
            )
    if images.dtype != torch.uint8 or images.dim() != 4:
        raise DatasetError(
            f"{what} of {name} must be uint8 (examples, channels, height, width), "
            f"got {images.dtype} {tuple(images.shape)}"
        )
