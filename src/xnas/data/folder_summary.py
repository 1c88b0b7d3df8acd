"""What a folder of images holds and what would be done to them, from names and headers alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from xnas.data.decoding import GREY_MODES
from xnas.data.folder_index import list_folder
from xnas.data.folders import (
    BadImages,
    conversion_note,
    require_enough_left,
    require_large,
    survey,
)
from xnas.data.options import DataOptions
from xnas.data.sizes import Resize, Size, fitting_size, resizing_note
from xnas.errors import DatasetError


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderSummary:
    """A folder of class folders."""

    name: str
    counts: dict[str, int]
    """Training images of each class."""
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
    refusals: tuple[str, ...]
    """Why a run would not begin, as far as headers tell; bad files it may leave out."""


def summarize_folder(root: Path, options: DataOptions = DataOptions()) -> FolderSummary:  # noqa: B008 - frozen
    """Look at a folder of class folders without decoding any image."""
    index = list_folder(root, use_val=options.use_val is not False)
    bad = BadImages()
    sizes, modes_by_file = survey(index.train.files, bad)
    modes = Counter(modes_by_file.values())
    test_sizes, _ = survey(index.test.files, bad)
    if not sizes:
        raise DatasetError(f"no image in {root} can be read; the first: {bad.first}")
    side = options.image_size
    size = fitting_size(list(sizes.values())) if side is None else (side, side)
    resize = options.resize or "crop"
    channels = 1 if all(mode in GREY_MODES for mode in modes) else 3
    counts = torch.bincount(index.train.labels, minlength=len(index.classes)).tolist()
    notes = (
        *index.told(len(index.test)),
        conversion_note(modes, channels),
        resizing_note(list(sizes.values()), size, resize) or "no resizing",
    )
    small = {} if side is not None else {**sizes, **test_sizes}
    refusals = [_refusal(require_large, small, bad if options.skip_bad_images else None)]
    refusals.append(_refusal(require_enough_left, index, bad.without(index.train).labels, bad))
    return FolderSummary(
        name=index.name,
        counts=dict(zip(index.classes, counts, strict=True)),
        examples=len(index.train),
        test_examples=len(index.test),
        sizes=dict(Counter(sizes.values()).most_common()),
        modes=dict(modes.most_common()),
        channels=channels,
        size=size,
        resize=resize,
        notes=tuple(note for note in notes if note),
        bad=len(bad.files),
        first_bad=str(bad.first or ""),
        refusals=tuple(refusal for refusal in refusals if refusal),
    )


def _refusal(require: Callable[..., None], *given: object) -> str:
    """What a check of a run has against this; empty if nothing."""
    try:
        require(*given)
    except DatasetError as error:
        return str(error)
    return ""
