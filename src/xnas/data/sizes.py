"""What size images get, and how they get it.

A cell is searched on small images; what it learns there is carried to larger ones by the network that
is built from it. Images that are small already stay as they are, others become 32 or 64 a side.

Three rules bring an image to a shape that is not its own: `crop` covers the shape and cuts off what
sticks out, `pad` fits inside it and fills up with black, `stretch` bends the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own habit

from xnas.data.images import ImageData
from xnas.data_options import SMALLEST_SIDE
from xnas.data_options import Resize as Resize  # noqa: PLC0414 - found here by others
from xnas.errors import ConfigError

Size = tuple[int, int]
"""Height and width."""

RESIZE_WORDS: dict[Resize, str] = {
    "crop": "cover, then crop the centre",
    "pad": "fit inside, then pad with black",
    "stretch": "stretch, whatever the proportions",
}
SMALL, MEDIUM, LARGE = 32, 48, 64
LONGEST = 8  # times what is kept of an image; a longer one is cut before it is enlarged, not after


def fitting_size(sizes: Sequence[Size]) -> Size:
    """Size to search at, for images of these heights and widths.

    Images whose larger side is at most 32 keep their size if all agree; up to 48 they become 32 x 32,
    above that 64 x 64. Where sizes differ the median of the larger sides decides, so that a few odd
    images do not decide for all.
    """
    if not sizes:
        raise ConfigError("fitting_size needs the size of at least one image, got none")
    larger = sorted(max(size) for size in sizes)
    typical = larger[len(larger) // 2]
    if typical <= SMALL and len(set(sizes)) == 1:
        return sizes[0]
    side = SMALL if typical <= MEDIUM else LARGE
    return side, side


def fit(images: Tensor, size: Size, resize: Resize = "crop") -> Tensor:
    """Bring uint8 images (n, channels, height, width) to `size`, by one of three rules.

    All scale with antialiasing. `crop`: until they just cover `size`; what sticks out is cut off equally
    on both sides. For a square that means: resize the shorter side, then crop the centre. `pad`: until
    they just fit inside; what is missing is black, equally on both sides. `stretch`: both sides.

    Of images over 8 times as long as their crop, only the middle is scaled.
    """
    if tuple(images.shape[-2:]) == size:
        return images
    if resize == "crop":
        images = _shortened(images, size)
    scaled = F.interpolate(images, _scaled_size(images, size, resize), mode="bilinear", antialias=True)
    if resize == "pad":
        down, across = size[0] - scaled.shape[-2], size[1] - scaled.shape[-1]
        return F.pad(scaled, (across // 2, across - across // 2, down // 2, down - down // 2))
    return centre_crop(scaled, size).contiguous()


def centre_crop(images: Tensor, size: Size) -> Tensor:
    """The middle of images (..., height, width), of this height and width; a view.

    An odd surplus is divided as torchvision's `center_crop` divides it: halves are rounded to even.
    """
    height, width = images.shape[-2:]
    if height < size[0] or width < size[1]:
        raise ConfigError(
            f"{_by(size)} pixels cannot be cut out of images of {height} x {width}; enlarge them"
        )
    top, left = round((height - size[0]) / 2), round((width - size[1]) / 2)
    return images[..., top : top + size[0], left : left + size[1]]


def _shortened(images: Tensor, size: Size) -> Tensor:
    """Images whose longer side is at most 8 times what a crop keeps of it; most are so already.

    Or a picture of 8 x 400,000 pixels, some kilobytes on the disk, would be enlarged to gigabytes.
    """
    height, width = images.shape[-2:]
    tallest = LONGEST * -(-width * size[0] // size[1])
    widest = LONGEST * -(-height * size[1] // size[0])
    return centre_crop(images, (min(height, tallest), min(width, widest)))


def _scaled_size(images: Tensor, size: Size, resize: Resize) -> Size:
    """Size that images get before they are cut or padded."""
    height, width = images.shape[-2:]
    wider = size[0] * width >= size[1] * height  # the images, than the shape they have to get
    if resize == "stretch":
        return size
    if wider == (resize == "crop"):
        return size[0], max(size[0] * width // height, 1)
    return max(size[1] * height // width, 1), size[1]


def resized(data: ImageData, image_size: int, resize: Resize = "crop") -> ImageData:
    """`data` with square images of this side, its statistics measured again and its note extended."""
    require_image_size(image_size)
    size = (image_size, image_size)
    if data.size == size:
        return data
    step = resizing_note([data.size], size, resize)
    return replace(
        data,
        images=fit(data.images, size, resize),
        test_images=None if data.test_images is None else fit(data.test_images, size, resize),
        mean=(),
        std=(),
        resize=resize,
        note=f"{data.note}; {step}" if data.note else step,
    )


def resizing_note(sizes: Sequence[Size], size: Size, resize: Resize = "crop") -> str:
    """One line that says how images of these sizes came to `size`; empty if they had it."""
    smallest, largest = min(sizes), max(sizes)
    if smallest == largest == size:
        return ""
    origin = _by(smallest) if smallest == largest else f"{_by(smallest)} .. {_by(largest)}"
    return f"resized from {origin} to {_by(size)} ({RESIZE_WORDS[resize]})"


def require_image_size(image_size: int | None) -> None:
    """Refuse sides that a network cannot reduce twice."""
    if image_size is not None and image_size < SMALLEST_SIDE:
        raise ConfigError(f"image_size must be at least {SMALLEST_SIDE}, got {image_size}; 32 is common")


def require_resize(resize: str) -> Resize:
    """The rule of this name."""
    for rule in RESIZE_WORDS:
        if resize == rule:
            return rule
    raise ConfigError(f"no rule for resizing called {resize!r}; there are: {', '.join(RESIZE_WORDS)}")


def _by(size: Size) -> str:
    return f"{size[0]} x {size[1]}"
