"""Any folder of class folders, in whatever format Pillow reads.

    flowers/rose/1.jpg                 classes alone: a fifth of each class is held out as test
    flowers/train/rose/1.jpg           parts: `train`, with `val` and `test` if they are there

Classes are the folders' names, sorted. Hidden files, folders inside a class folder and files without
the ending of an image format are left out. A first pass reads sizes and modes from the headers alone,
a second decodes image by image into one tensor, so that large photographs never pile up in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from xnas.data.images import SMALLEST_SIDE, ImageData
from xnas.data.sizes import Size, fit, fitting_size, require_image_size, resizing_note
from xnas.data.splits import TEST_SEED, TEST_SHARE, held_out
from xnas.errors import DatasetError

if TYPE_CHECKING:
    from PIL import Image

VALIDATION_NAMES = ("val", "valid", "validation")
FEWEST_IMAGES = 4  # of a class, so that both halves of a search and the test part get some
GREY_MODES = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N")


@dataclass(frozen=True, slots=True)
class _Part:
    """Image files of one part of a dataset, with their classes."""

    files: list[Path]
    labels: Tensor
    left_out: int
    """Files and folders that are no images."""

    def chosen(self, indices: Tensor) -> _Part:
        return _Part([self.files[index] for index in indices.tolist()], self.labels[indices], 0)


def load_folder(root: Path, *, image_size: int | None = None, use_val: bool = True) -> ImageData:
    """Images of a folder of class folders, brought to one size and one number of channels.

    If the training images are all grey there is one channel, otherwise all become RGB; transparency is
    dropped. The size is `image_size`, or what `fitting_size` says of the training images. Images of
    `val` join those of `train`, because a search makes halves of its own and a training uses both; with
    `use_val=False` they are left out.
    """
    require_image_size(image_size)
    classes, train, test, notes = _parts(root, use_val=use_val)
    _survey(test.files, enlarge=image_size is not None)  # faults are told; test images decide nothing
    sizes, modes = _survey(train.files, enlarge=image_size is not None)
    size = (image_size, image_size) if image_size is not None else fitting_size(sizes)
    channels = 1 if all(mode in GREY_MODES for mode in modes) else 3
    notes += [_conversion_note(modes, channels), resizing_note(sizes, size)]
    return ImageData(
        name=root.resolve().name or str(root),
        images=_decoded(train.files, channels, size),
        labels=train.labels,
        classes=classes,
        test_images=_decoded(test.files, channels, size),
        test_labels=test.labels,
        note="; ".join(note for note in notes if note),
    )


def _parts(root: Path, *, use_val: bool) -> tuple[tuple[str, ...], _Part, _Part, list[str]]:
    """Classes, training files, test files, and what there is to say about them."""
    parted = _has_parts(root)
    first = root / "train" if parted else root
    classes = tuple(_class_folders(first))
    more = [root / name for name in VALIDATION_NAMES if (root / name).is_dir()] if parted else []
    notes = [f"{part.name} {'joins train' if use_val else 'left out'}" for part in more]
    train = _listed([first, *more] if use_val else [first], classes)
    _require_enough(root, classes, train.labels)
    if train.left_out:
        notes.append(f"{train.left_out} other files or folders left out")
    if parted and (root / "test").is_dir():
        test = _listed([root / "test"], classes)
        if test.files:
            return classes, train, test, notes
    kept, held = held_out(train.labels, share=TEST_SHARE, seed=TEST_SEED)
    notes.append(f"{len(held)} images, a fifth of each class, held out as test")
    return classes, train.chosen(kept), train.chosen(held), notes


def _visible_folders(folder: Path) -> list[Path]:
    return [
        p for p in sorted(folder.iterdir()) if p.is_dir() and not p.name.startswith((".", "__MACOSX"))
    ]


def _class_folders(folder: Path) -> list[str]:
    names = [path.name for path in _visible_folders(folder)]
    if not names:
        raise DatasetError(
            f"{folder} has no class folders; put the images of each class into a folder there"
        )
    if len(names) == 1:
        raise DatasetError(
            f"{folder} has one class, {names[0]!r}; telling apart needs at least 2 folders"
        )
    return names


def _has_parts(root: Path) -> bool:
    """Whether `train` is a part rather than a class of locomotives: it holds folders and no images."""
    train = root / "train"
    return train.is_dir() and bool(_visible_folders(train)) and not _images_in(train)[0]


def _images_in(folder: Path) -> tuple[list[Path], int]:
    """Image files of a folder by name, and how many other visible things are in it."""
    from PIL import Image  # noqa: PLC0415 - needed for folders alone

    endings = {end for end, kind in Image.registered_extensions().items() if kind in Image.OPEN}
    visible = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    images = [path for path in visible if path.suffix.lower() in endings and path.is_file()]
    return images, len(visible) - len(images)


def _listed(parts: Sequence[Path], classes: tuple[str, ...]) -> _Part:
    """Files of all parts together. Classes that the first part lacks are an error."""
    files: list[Path] = []
    labels: list[int] = []
    left_out = 0
    for part in parts:
        unknown = {path.name for path in _visible_folders(part)} - set(classes)
        if unknown:
            raise DatasetError(
                f"{part} has a class {min(unknown)!r} that the training images lack; class folders of "
                f"all parts must agree"
            )
        for label, name in enumerate(classes):
            found, others = _images_in(part / name) if (part / name).is_dir() else ([], 0)
            files += found
            labels += [label] * len(found)
            left_out += others
    return _Part(files, torch.tensor(labels, dtype=torch.int64), left_out)


def _require_enough(root: Path, classes: tuple[str, ...], labels: Tensor) -> None:
    counts = torch.bincount(labels, minlength=len(classes)).tolist()
    fewest = min(counts)
    name = classes[counts.index(fewest)]
    if fewest == 0:
        raise DatasetError(
            f"class folder {name!r} in {root} holds no image that Pillow reads; add some or remove it"
        )
    if fewest < FEWEST_IMAGES:
        raise DatasetError(
            f"class {name!r} in {root} has too few images to split: {fewest}; every class needs at "
            f"least {FEWEST_IMAGES}"
        )


def _survey(files: Sequence[Path], *, enlarge: bool) -> tuple[list[Size], Counter[str]]:
    """Sizes and modes of all images, from their headers."""
    sizes: list[Size] = []
    modes: Counter[str] = Counter()
    for path in files:
        with _opened(path) as image:
            width, height = image.size
            if min(width, height) < SMALLEST_SIDE and not enlarge:
                raise DatasetError(
                    f"{path} is {height} x {width} pixels; images need at least {SMALLEST_SIDE} a side: "
                    f"remove it, or enlarge all with --image-size"
                )
            sizes.append((height, width))
            modes[image.mode] += 1
    return sizes, modes


def _conversion_note(modes: Counter[str], channels: int) -> str:
    if channels == 1:
        return "grey"
    others = [f"{count} {mode}" for mode, count in sorted(modes.items()) if mode != "RGB"]
    return f"converted to RGB: {', '.join(others)} of {modes.total()}" if others else ""


def _decoded(files: Sequence[Path], channels: int, size: Size) -> Tensor:
    """All images as one uint8 tensor (n, channels, height, width)."""
    images = torch.empty((len(files), channels, *size), dtype=torch.uint8)
    for index, path in enumerate(files):
        with _opened(path) as image:
            pixels = torch.from_numpy(_eight_bits(image, channels))
        images[index] = fit(pixels.movedim(-1, 0)[None], size)[0]
    return images


def _eight_bits(image: Image.Image, channels: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Pixels (height, width, channels), upright as the camera was held."""
    from PIL import ImageOps  # noqa: PLC0415 - needed for folders alone

    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I"):  # 16 bits, which Pillow would cut off at 255
        wide = np.asarray(upright)
        if wide.min() < 0 or wide.max() > 0xFFFF:
            raise ValueError("its grey values need more than 16 bits; save it with 8 or 16")
        return np.repeat((wide >> 8).astype(np.uint8)[..., None], channels, axis=2)
    if upright.mode == "F":
        raise ValueError("its grey values are floats of unknown range; save it with 8 or 16 bits")
    if upright.mode == "P":  # a palette may hold transparency, which only RGBA can take over
        upright = upright.convert("RGBA")
    converted = np.array(upright.convert("L" if channels == 1 else "RGB"))
    return converted.reshape(*converted.shape[:2], channels)


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """An image while it is read; whatever Pillow stumbles over becomes an error that names the file."""
    from PIL import Image  # noqa: PLC0415 - needed for folders alone

    try:
        with Image.open(path) as image:
            yield image
    except DatasetError:
        raise
    except Exception as error:  # decoders raise almost anything
        raise DatasetError(f"cannot read the image {path} ({error}); mend or remove it") from error
