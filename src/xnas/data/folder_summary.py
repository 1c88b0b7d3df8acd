"""What a folder of images holds and what would be done to them, from names and headers alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from xnas.data.any_folder import list_images
from xnas.data.decoding import GREY_MODES
from xnas.data.folders import (
    BadImages,
    add_small,
    conversion_note,
    require_enough_left,
    survey,
)
from xnas.data.sizes import Resize, Size, fitting_size, resizing_note
from xnas.data_options import DataOptions
from xnas.errors import DatasetError


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderSummary:
    """A folder of class folders."""

    name: str
    counts: dict[str, int]
    """Training images of each class that can be used."""
    examples: int
    test_examples: int
    sizes: dict[Size, int]
    """How many training images have each height and width."""
    modes: dict[str, int]
    """How many have each of Pillow's modes."""
    channels: int
    size: Size
    """What all would be brought to."""
    resize: Resize
    notes: tuple[str, ...]
    bad: int
    """Image files without a header that can be read and used; pixels are not looked at."""
    first_bad: str
    refusal: str
    """Why a run with these options would not start, as far as headers show; empty if it would."""


def summarize_folder(root: Path, options: DataOptions = DataOptions()) -> FolderSummary:  # noqa: B008 - frozen
    """Look at a folder of class folders without decoding any image."""
    index = list_images(root, use_val=options.use_val)
    bad, skip, side = BadImages(), options.skip_bad_images, options.image_size
    sizes, modes_by_file = survey(index.train.files, bad)
    test_sizes, _ = survey(index.test.files, bad)
    if side is None:
        add_small({**sizes, **test_sizes}, bad)
    sizes = {path: size for path, size in sizes.items() if path not in bad.files}
    modes = Counter(mode for path, mode in modes_by_file.items() if path in sizes)
    if not sizes:
        raise DatasetError(f"no image in {root} can be read; the first: {bad.first}")
    train, test = bad.without(index.train), bad.without(index.test)
    if skip:
        refusal = _refusal(lambda: require_enough_left(index, train.labels, bad))
    else:
        refusal = _refusal(lambda: bad.refuse(len(index.train) + len(index.test), skip=False))
    size = fitting_size(list(sizes.values())) if side is None else (side, side)
    resize = options.resize or "crop"
    channels = 1 if all(mode in GREY_MODES for mode in modes) else 3
    counts = torch.bincount(train.labels, minlength=len(index.classes)).tolist()
    notes = (
        *index.notes_with(len(test)),
        conversion_note(modes, channels),
        resizing_note(list(sizes.values()), size, resize) or "no resizing",
    )
    return FolderSummary(
        name=index.name,
        counts=dict(zip(index.classes, counts, strict=True)),
        examples=len(train),
        test_examples=len(test),
        sizes=dict(Counter(sizes.values()).most_common()),
        modes=dict(modes.most_common()),
        channels=channels,
        size=size,
        resize=resize,
        notes=tuple(note for note in notes if note),
        bad=len(bad.files),
        first_bad=str(bad.first or ""),
        refusal=refusal,
    )


def _refusal(check: Callable[[], None]) -> str:
    """The error of a check that a run makes; empty if it passes."""
    try:
        check()
    except DatasetError as error:
        return str(error)
    return ""
