"""A dataset in memory: images as bytes, their labels, and what a network has to know of them.

Images stay uint8 from the file to the device, a quarter of what floats would take; they become floats
batch by batch, when they are standardised with the mean and deviation stored here with them.
Training and test images are two tensors, so that no index into the one can reach the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from reprlib import repr as brief

import torch
from torch import Tensor

from xnas.data.statistics_cache import remembered
from xnas.errors import DatasetError

SMALLEST_SIDE = 8  # two reductions leave 2 x 2
STATISTICS_CHUNK = 4096  # images squared at a time, as 32-bit numbers
REMEMBERED = 10_000  # images; what takes longer to measure than to hash is measured once
LONGEST_NAME = 1000  # characters; a file's may have 255 bytes
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
        _require_names(self)
        _require_classes(self)
        _require_images(self, "images", self.images, self.labels)
        _require_every_class(self)
        _require_test_part(self)
        if not self.mean and not self.std:
            mean, std = _statistics(self)
            object.__setattr__(self, "mean", mean)
            object.__setattr__(self, "std", std)
        _require_statistics(self)

    def fingerprint(self) -> str:
        """A hash of the training images, their labels and classes: what a search must find again."""
        digest = blake2b(digest_size=16)
        for part in (self.images.cpu().contiguous().numpy(), self.labels.cpu().contiguous().numpy()):
            digest.update(f"{part.dtype} {part.shape} ".encode())
            digest.update(part.tobytes())
        digest.update("\0".join(self.classes).encode())
        return digest.hexdigest()

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


def is_plain_text(name: str) -> bool:
    """Whether files can be written with a name; one that is no UTF-8 on the disk has lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _require_names(data: ImageData) -> None:
    if not isinstance(data.name, str):
        raise DatasetError(
            f'the name of the data must be a string, got {brief(data.name)}; write name="mine"'
        )
    classes: object = data.classes
    if not isinstance(classes, tuple | list) or not all(isinstance(name, str) for name in classes):
        raise DatasetError(
            f"classes of {data.name} must be a tuple of their names, got {brief(classes)}; write "
            'classes=("cat", "dog")'
        )
    for what, name in (("the name", data.name), *(("a class", name) for name in data.classes)):
        if len(name) > LONGEST_NAME:
            raise DatasetError(
                f"{what} of the data, {brief(name)}, has {len(name):,} characters; a name may have "
                f"{LONGEST_NAME}: rename it"
            )
        if not is_plain_text(name):
            raise DatasetError(f"{what} of the data, {name!r}, is not UTF-8 text; rename it")


def _require_classes(data: ImageData) -> None:
    if len(data.classes) < 2:
        found = ", ".join(map(repr, data.classes)) or "none"
        raise DatasetError(f"{data.name} has too few classes ({found}); a classifier needs at least 2")
    if len(set(data.classes)) < len(data.classes):
        twice = Counter(data.classes).most_common(1)[0][0]
        raise DatasetError(f"{data.name} has two classes called {twice!r}; give each a name of its own")


def _require_images(data: ImageData, what: str, images: Tensor, labels: Tensor) -> None:
    for part, given in ((what, images), ("labels", labels)):
        if not isinstance(given, Tensor):
            raise DatasetError(
                f"{part} of {data.name} must be a tensor, got {type(given).__name__}; torch.as_tensor "
                "makes one"
            )
    if images.dtype != torch.uint8 or images.dim() != 4:
        raise DatasetError(
            f"{what} of {data.name} must be uint8 (examples, channels, height, width), "
            f"got {images.dtype} {tuple(images.shape)}"
        )
    if labels.dtype != torch.int64 or labels.shape != images.shape[:1]:
        raise DatasetError(
            f"labels of {data.name} must be int64 ({len(images)},), one for each of its {what}, "
            f"got {labels.dtype} {tuple(labels.shape)}"
        )
    if min(images.shape[2:]) < SMALLEST_SIDE:
        height, width = images.shape[2:]
        raise DatasetError(
            f"{what} of {data.name} are {height} x {width} pixels; they need {SMALLEST_SIDE} per side: "
            f"enlarge them with image-size"
        )
    if len(images) == 0 or images.shape[1] == 0:
        raise DatasetError(f"{data.name} has no {what}, got shape {tuple(images.shape)}; add some")
    if int(labels.min()) < 0 or int(labels.max()) >= len(data.classes):
        raise DatasetError(
            f"labels of {data.name} run from {int(labels.min())} to {int(labels.max())}; "
            f"with {len(data.classes)} classes they must lie in 0..{len(data.classes) - 1}"
        )


def _require_every_class(data: ImageData) -> None:
    counts = torch.bincount(data.labels, minlength=len(data.classes)).tolist()
    if 0 in counts:
        empty = data.classes[counts.index(0)]
        raise DatasetError(f"{data.name} has no training image of class {empty!r}; add some or drop it")


def _require_test_part(data: ImageData) -> None:
    if data.test_images is None and data.test_labels is None:
        return
    if data.test_images is None or data.test_labels is None:
        raise DatasetError(f"{data.name} has test images or test labels alone; give both or neither")
    _require_images(data, "test images", data.test_images, data.test_labels)
    if data.test_images.shape[1:] != data.images.shape[1:]:
        raise DatasetError(
            f"test images of {data.name} are {tuple(data.test_images.shape[1:])} (channels, height, "
            f"width), its images {tuple(data.images.shape[1:])}; bring both to one shape"
        )


def _require_statistics(data: ImageData) -> None:
    _require_per_channel(data, "mean", data.mean)
    _require_per_channel(data, "std", data.std)
    if min(data.std) <= 0:
        raise DatasetError(
            f"std of {data.name} must be positive, got {data.std}; leave it out to measure it"
        )


def _require_per_channel(data: ImageData, what: str, values: Sequence[float]) -> None:
    if len(values) != data.channels:
        raise DatasetError(
            f"{what} of {data.name} has {len(values)} values for {data.channels} channels; "
            f"give one for each, or leave mean and std out to measure them"
        )
