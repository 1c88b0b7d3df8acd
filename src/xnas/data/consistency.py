"""Names, labels, shapes and statistics of a dataset fit together, or one line says what does not.

The same checks serve images in memory (`ImageData`) and in files (`StreamedImages`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from reprlib import repr as brief

import torch
from torch import Tensor

from xnas.data_options import SMALLEST_SIDE
from xnas.errors import DatasetError

LONGEST_NAME = 1000  # characters; a file's may have 255 bytes


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Training or test images as far as checks need them."""

    what: str
    """The word for them in messages."""
    shape: tuple[int, ...] | None
    """Examples, channels, height and width; None if there are none."""
    labels: Tensor | None
    """int64 (examples,)."""


def require_names(name: str, classes: tuple[str, ...]) -> None:
    """Raise unless the dataset and its classes have distinct names that files can hold."""
    if not isinstance(name, str):
        raise DatasetError(
            f'the name of the data must be a string, got {brief(name)}; write name="mine"'
        )
    given: object = classes
    if not isinstance(given, tuple | list) or not all(isinstance(one, str) for one in given):
        raise DatasetError(
            f"classes of {name} must be a tuple of their names, got {brief(given)}; write "
            'classes=("cat", "dog")'
        )
    for what, text in (("the name", name), *(("a class", text) for text in classes)):
        if len(text) > LONGEST_NAME:
            raise DatasetError(
                f"{what} of the data, {brief(text)}, has {len(text):,} characters; a name may have "
                f"{LONGEST_NAME}: rename it"
            )
        if not is_plain_text(text):
            raise DatasetError(f"{what} of the data, {text!r}, is not UTF-8 text; rename it")
    if len(classes) < 2:
        found = ", ".join(map(repr, classes)) or "none"
        raise DatasetError(f"{name} has too few classes ({found}); a classifier needs at least 2")
    if len(set(classes)) < len(classes):
        twice = Counter(classes).most_common(1)[0][0]
        raise DatasetError(f"{name} has two classes called {twice!r}; give each a name of its own")


def is_plain_text(name: str) -> bool:
    """Whether files can be written with a name; one that is no UTF-8 on the disk has lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def require_labelled(name: str, classes: tuple[str, ...], train: Part, test: Part) -> None:
    """Raise unless every image has a label, every class an image, and both parts one shape."""
    _require_part(name, classes, train)
    assert train.labels is not None  # noqa: S101 - just checked
    counts = torch.bincount(train.labels, minlength=len(classes)).tolist()
    if 0 in counts:
        empty = classes[counts.index(0)]
        raise DatasetError(f"{name} has no training image of class {empty!r}; add some or drop it")
    if test.shape is None and test.labels is None:
        return
    if test.shape is None or test.labels is None:
        raise DatasetError(f"{name} has test images or test labels alone; give both or neither")
    _require_part(name, classes, test)
    assert train.shape is not None  # noqa: S101 - just checked
    if test.shape[1:] != train.shape[1:]:
        raise DatasetError(
            f"test images of {name} are {test.shape[1:]} (channels, height, width), its images "
            f"{train.shape[1:]}; bring both to one shape"
        )


def _require_part(name: str, classes: tuple[str, ...], part: Part) -> None:
    assert part.shape is not None  # noqa: S101 - the caller's
    assert part.labels is not None  # noqa: S101 - the caller's
    examples, channels, height, width = part.shape
    labels = part.labels
    if labels.dtype != torch.int64 or labels.shape != (examples,):
        raise DatasetError(
            f"labels of {name} must be int64 ({examples},), one for each of its {part.what}, "
            f"got {labels.dtype} {tuple(labels.shape)}"
        )
    if min(height, width) < SMALLEST_SIDE:
        raise DatasetError(
            f"{part.what} of {name} are {height} x {width} pixels; they need {SMALLEST_SIDE} per side: "
            "enlarge them with --image-size"
        )
    if examples == 0 or channels == 0:
        raise DatasetError(f"{name} has no {part.what}, got shape {part.shape}; add some")
    if int(labels.min()) < 0 or int(labels.max()) >= len(classes):
        raise DatasetError(
            f"labels of {name} run from {int(labels.min())} to {int(labels.max())}; "
            f"with {len(classes)} classes they must lie in 0..{len(classes) - 1}"
        )


def require_statistics(name: str, channels: int, mean: Sequence[float], std: Sequence[float]) -> None:
    """Raise unless there is a mean and a positive deviation for each channel."""
    for what, values in (("mean", mean), ("std", std)):
        if len(values) != channels:
            raise DatasetError(
                f"{what} of {name} has {len(values)} values for {channels} channels; "
                "give one for each, or leave mean and std out to measure them"
            )
    if min(std) <= 0:
        raise DatasetError(f"std of {name} must be positive, got {std}; leave it out to measure it")
