"""One image file, from the disk to bytes of the wanted size and number of channels.

Whatever Pillow stumbles over becomes one error that names the file. Images that would unpack to more
pixels than Pillow holds safe are refused before they are unpacked, and so are formats that Pillow hands
to another program, such as PostScript, which is a language and not an image.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from xnas.data.sizes import Size, fit, require_resize
from xnas.errors import DatasetError

if TYPE_CHECKING:
    from PIL import Image

GREY_MODES = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N")
NOT_DECODED = frozenset({"EPS", "WMF", "BUFR", "GRIB", "HDF5", "MPEG"})
"""Formats that Pillow opens and leaves to others: Ghostscript, Windows, or a plug-in that it lacks."""
ORIENTATION_TAG = 0x0112
QUARTER_TURNS = (5, 6, 7, 8)
"""EXIF orientations that swap height and width."""
SIXTEEN_BITS_AS_I = ("PNG", "PPM")
"""Formats whose 16-bit images have Pillow's 32-bit mode `I`, in some of its versions."""
STEPS = {"P": "RGBA", "LAB": "RGB", "La": "LA"}
"""Modes that Pillow converts well only by way of another: a palette's transparency needs RGBA."""


def decode_image(path: Path, *, channels: int, size: tuple[int, int], resize: str) -> Tensor:
    """The image of a file, uint8 (channels, height, width), upright as the camera was held.

    With one channel it becomes grey, with three RGB; transparency is dropped. `resize` is the rule that
    brings it to `size` (height, width): crop, pad or stretch, as `fit` has them.
    """
    rule = require_resize(resize)
    with _opened(path) as image:
        pixels = torch.from_numpy(eight_bit_pixels(image, channels))
        return fit(pixels.movedim(-1, 0)[None], size, rule)[0]


def image_header(path: Path) -> tuple[Size, str]:
    """Height and width of an image, and Pillow's mode of it, without decoding its pixels.

    The size is that of the upright image, as `decode_image` gives it. A mode that `decode_image` would
    refuse is refused here.
    """
    with _opened(path) as image:
        _require_known_range(image)
        width, height = image.size
        turned = image.getexif().get(ORIENTATION_TAG) in QUARTER_TURNS
        return (width, height) if turned else (height, width), image.mode


@cache
def image_endings() -> frozenset[str]:
    """Endings, such as `.png`, of the formats that are read."""
    from PIL import Image  # noqa: PLC0415 - needed for image files alone

    known = Image.registered_extensions()
    return frozenset(end for end, kind in known.items() if kind in decoded_formats())


@cache
def decoded_formats() -> tuple[str, ...]:
    """Pillow's names of the formats that it decodes by itself."""
    from PIL import Image  # noqa: PLC0415 - needed for image files alone

    Image.init()
    return tuple(kind for kind in Image.OPEN if kind not in NOT_DECODED)


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    from PIL import Image  # noqa: PLC0415 - needed for image files alone

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as camera data that are damaged: pixels are not
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=decoded_formats()) as image:
                yield image
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        limit = f"{Image.MAX_IMAGE_PIXELS or 0:,}"
        raise DatasetError(
            f"the image {path} would unpack to more than {limit} pixels, as images made to fill the "
            f"memory do; remove it or make it smaller"
        ) from error
    except Exception as error:  # decoders raise almost anything
        why = " ".join(str(error).split()) or type(error).__name__
        raise DatasetError(f"cannot read the image {path} ({why}); fix or remove it") from error


def eight_bit_pixels(
    image: Image.Image, channels: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Bytes (height, width, channels) of an upright image, grey or RGB."""
    from PIL import ImageOps  # noqa: PLC0415 - needed for image files alone

    if 0 in image.size:
        raise ValueError("it has no pixels")
    _require_known_range(image)
    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I"):  # 16 bits or more, which Pillow would cut off at 255
        return np.repeat(_narrowed(upright)[..., None], channels, axis=2)
    if upright.mode in STEPS:
        upright = upright.convert(STEPS[upright.mode])
    converted = np.array(upright.convert("L" if channels == 1 else "RGB"))
    return converted.reshape(*converted.shape[:2], channels)


def _narrowed(image: Image.Image) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """The upper 8 of the 16 bits of grey values."""
    return (np.asarray(image) >> 8).astype(np.uint8)


def _require_known_range(image: Image.Image) -> None:
    """Raise for grey values whose range the file does not state.

    Guessing it from the pixels would read two images of one dataset by two scales.
    """
    if image.mode == "F":
        raise ValueError("its grey values are floats of unknown range; save it with 8 or 16 bits")
    if image.mode == "I" and image.format not in SIXTEEN_BITS_AS_I:
        raise ValueError("its grey values have 32 bits of unknown range; save it with 8 or 16 bits")
