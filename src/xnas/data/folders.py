"""Images of files: a first pass reads sizes and modes, a second decodes, image by image.

All images go into one tensor, so that large photographs never pile up in memory, or, where that tensor
would take too much of it, they stay in their files. Files that cannot be read are counted before one of
them is complained about, or left out if that was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from xnas.data.any_folder import list_images
from xnas.data.budget import available_memory, streams
from xnas.data.decoding import GREY_MODES, decode_image, image_header
from xnas.data.folder_index import FolderIndex, LabelledFiles
from xnas.data.image_files import Images, Paths, StreamedImages
from xnas.data.images import ImageData
from xnas.data.sizes import Resize, Size, fitting_size, resizing_note
from xnas.data_options import SMALLEST_SIDE, DataOptions
from xnas.errors import DatasetError
from xnas.words import counted

FEWEST_LEFT = 2  # of a class, one for each half of a search


def load_folder(root: Path, options: DataOptions = DataOptions()) -> Images:  # noqa: B008 - frozen
    """Images of a folder or a table, brought to one size and one number of channels.

    If the training images are all grey there is one channel, otherwise all become RGB; transparency is
    dropped. The size is `image_size`, or what `fitting_size` says of the training images.
    """
    return load_files(list_images(root, use_val=options.use_val), options)


def load_files(
    index: FolderIndex,
    options: DataOptions,
    *,
    size: Size | None = None,
    channels: int | None = None,
    resize: Resize = "crop",
) -> Images:
    """Images of an index. Where a size or the channels are not given, the training images decide.

    `resize` is the dataset's own rule, which that of the options overrides.
    """
    bad = BadImages()
    rule = options.resize or resize
    if options.image_size is not None:
        size = (options.image_size, options.image_size)
    shape = shape_of(index, bad, size=size, channels=channels, resize=rule, skip=options.skip_bad_images)
    needed = (len(index.train) + len(index.test)) * shape.channels * shape.size[0] * shape.size[1]
    if options.stream is True or (options.stream is None and streams(needed, available_memory())):
        return _streamed(index, shape, bad, options, needed)
    train, train_labels = _decoded(index.train, shape, bad)
    test, test_labels = _decoded(index.test, shape, bad)
    bad.refuse(len(index.train) + len(index.test), skip=options.skip_bad_images)
    require_enough_left(index, train_labels, bad)
    notes = (*index.notes_with(len(test)), shape.note(bad), bad.note())
    return ImageData(
        name=index.name,
        images=train,
        labels=train_labels,
        classes=index.classes,
        test_images=test if len(test) else None,
        test_labels=test_labels if len(test) else None,
        note="; ".join(note for note in notes if note),
        resize=rule,
    )


@dataclass(slots=True)
class BadImages:
    """Files that cannot be read, with what was wrong with the first."""

    files: set[Path] = field(default_factory=set)
    first: DatasetError | None = None

    def add(self, path: Path, error: DatasetError) -> None:
        """Note one."""
        self.first = self.first or error
        self.files.add(path)

    def refuse(self, total: int, *, skip: bool) -> None:
        """Raise an error that names the first and counts all, unless they shall be skipped."""
        if self.first is None or skip:
            return
        if len(self.files) == 1:
            raise DatasetError(f"{self.first}, or leave it out with --skip-bad-images")
        raise DatasetError(
            f"{len(self.files)} of {total} images cannot be used; the first: {self.first}, or leave all "
            "of them out with --skip-bad-images"
        )

    def without(self, files: LabelledFiles) -> LabelledFiles:
        """Those that are not bad."""
        if not self.files:
            return files
        good = [index for index, path in enumerate(files.files) if path not in self.files]
        return files.chosen(torch.tensor(good, dtype=torch.int64))

    def note(self) -> str:
        """One phrase for those that were left out."""
        if self.first is None:
            return ""
        return f"{counted(len(self.files), 'bad image')} left out (first: {self.first})"


@dataclass(frozen=True, slots=True)
class Shape:
    """What images are brought to, and what the headers of the training images say of them."""

    channels: int
    size: Size
    resize: Resize
    sizes: dict[Path, Size] = field(default_factory=dict)
    modes: dict[Path, str] = field(default_factory=dict)

    def note(self, bad: BadImages) -> str:
        """What is done to those that are not bad; empty if no header was read."""
        sizes = [size for path, size in self.sizes.items() if path not in bad.files]
        modes = Counter(mode for path, mode in self.modes.items() if path not in bad.files)
        if not sizes:
            return ""
        notes = conversion_note(modes, self.channels), resizing_note(sizes, self.size, self.resize)
        return "; ".join(note for note in notes if note)


def survey(files: Sequence[Path], bad: BadImages) -> tuple[dict[Path, Size], dict[Path, str]]:
    """Sizes and modes of all images, from their headers; what cannot be read goes to `bad`."""
    sizes: dict[Path, Size] = {}
    modes: dict[Path, str] = {}
    for path in files:
        try:
            size, mode = image_header(path)
        except DatasetError as error:
            bad.add(path, error)
            continue
        sizes[path] = size
        modes[path] = mode
    return sizes, modes


def conversion_note(modes: Counter[str], channels: int) -> str:
    """One phrase that says which images became RGB, or that all are grey."""
    if channels == 1:
        return "grey"
    others = [f"{count} {mode}" for mode, count in sorted(modes.items()) if mode != "RGB"]
    return f"converted to RGB: {', '.join(others)} of {modes.total()}" if others else ""


def shape_of(
    index: FolderIndex,
    bad: BadImages,
    *,
    size: Size | None,
    channels: int | None,
    resize: Resize,
    skip: bool,
) -> Shape:
    """The shape that was asked for, or else the one that the training images have.

    Headers are read if they decide something, or with `skip`, so that bad images are known. An image
    that is too small counts as bad, unless a given `size` enlarges it.
    """
    if size is not None and channels is not None and not skip:
        return Shape(channels, size, resize)
    sizes, modes = survey(index.train.files, bad)
    test_sizes = survey(index.test.files, bad)[0] if size is None or skip else {}
    if size is None:
        for part in (sizes, test_sizes):  # test images decide nothing else
            add_small(part, bad)
    sizes = {path: found for path, found in sizes.items() if path not in bad.files}
    modes = {path: mode for path, mode in modes.items() if path in sizes}
    if not sizes:
        bad.refuse(len(index.train) + len(index.test), skip=False)
    if size is None:
        size = fitting_size(list(sizes.values()))
    if channels is None:
        channels = 1 if all(mode in GREY_MODES for mode in modes.values()) else 3
    return Shape(channels, size, resize, sizes, modes)


def add_small(sizes: dict[Path, Size], bad: BadImages) -> None:
    """Add images to `bad` that are too small to be reduced twice."""
    for path, (height, width) in sizes.items():
        if min(height, width) < SMALLEST_SIDE:
            error = DatasetError(
                f"{path} is {height} x {width} pixels; images need at least {SMALLEST_SIDE} per side: "
                "remove it, or enlarge all with --image-size"
            )
            bad.add(path, error)


def _streamed(
    index: FolderIndex, shape: Shape, bad: BadImages, options: DataOptions, needed: int
) -> StreamedImages:
    """The images left in their files, to be decoded by worker processes batch by batch.

    Those whose headers cannot be read are left out, as in memory, and those at the beginning of a class
    that cannot be decoded.
    """
    for part in (index.train, index.test):
        _try_each_class(part, shape, bad)
    bad.refuse(len(index.train) + len(index.test), skip=options.skip_bad_images)
    train, test = bad.without(index.train), bad.without(index.test)
    require_enough_left(index, train.labels, bad)
    how = f"streamed from their files: in memory they would take {needed / 2**30:.2g} GiB"
    notes = (*index.notes_with(len(test)), shape.note(bad), bad.note(), how)
    return StreamedImages(
        name=index.name,
        files=Paths(train.files),
        labels=train.labels,
        classes=index.classes,
        test_files=Paths(test.files) if len(test) else None,
        test_labels=test.labels if len(test) else None,
        channels=shape.channels,
        size=shape.size,
        resize=shape.resize,
        note="; ".join(note for note in notes if note),
        skip_bad_images=options.skip_bad_images,
    )


def _try_each_class(files: LabelledFiles, shape: Shape, bad: BadImages) -> None:
    """Decode images of each class until one can be; the others go to `bad`.

    So a class of files that only look like images is reported at the start, not in the middle of a run.
    """
    found: set[int] = set()
    for path, label in zip(files.files, files.labels.tolist(), strict=True):
        if label in found or path in bad.files:
            continue
        try:
            decode_image(path, channels=shape.channels, size=shape.size, resize=shape.resize)
        except DatasetError as error:
            bad.add(path, error)
        else:
            found.add(label)


def _decoded(files: LabelledFiles, shape: Shape, bad: BadImages) -> tuple[Tensor, Tensor]:
    """Images that can be read, as one uint8 tensor (n, channels, height, width), and their labels."""
    images = torch.empty((len(files), shape.channels, *shape.size), dtype=torch.uint8)
    kept: list[int] = []
    for index, path in enumerate(files.files):
        if path in bad.files:
            continue
        try:
            images[len(kept)] = decode_image(
                path, channels=shape.channels, size=shape.size, resize=shape.resize
            )
        except DatasetError as error:
            bad.add(path, error)
        else:
            kept.append(index)
    if len(kept) == len(files):
        return images, files.labels
    return images[: len(kept)].clone(), files.labels[kept]


def require_enough_left(index: FolderIndex, labels: Tensor, bad: BadImages) -> None:
    """After bad images were left out, each class still needs an image for each half of a search."""
    if not bad.files:
        return
    counts = torch.bincount(labels, minlength=len(index.classes)).tolist()
    if min(counts) < FEWEST_LEFT:
        name = index.classes[counts.index(min(counts))]
        raise DatasetError(
            f"class {name!r} of {index.name} has {min(counts)} training images left without the bad "
            f"ones; it needs at least {FEWEST_LEFT}: fix some ({bad.first})"
        )
