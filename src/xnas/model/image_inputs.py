"""Images of any kind, converted to the bytes that a network was trained on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import torch
from torch import Tensor

from xnas.data import decode_image, fit
from xnas.data.decoding import eight_bit_pixels
from xnas.data.sizes import Size, centre_crop, require_resize
from xnas.errors import ConfigError, DatasetError
from xnas.model.model_card import ModelCard

if TYPE_CHECKING:
    from PIL import Image

CHANNELS = (1, 3, 4)  # grey, RGB, RGB with transparency
RANGE_SLACK = 1e-6  # floats that were bytes, or were resized, may miss 0..1 by rounding


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageReader:
    """Converts images to one number of channels and one size, uint8 (channels, height, width)."""

    channels: int
    size: Size
    resize: str
    example: str
    """Name of the training data, for messages."""
    centre: Size | None = None
    """Height and width of the centre crop, which is done last; None crops nothing."""

    @classmethod
    def of(cls, card: ModelCard) -> ImageReader:
        """Return the reader that a trained network needs."""
        return cls(
            channels=card.network.in_chans,
            size=card.size,
            resize=card.resize,
            example=card.trained_on,
            centre=card.centre,
        )

    def __call__(self, images: object) -> Iterator[Tensor]:
        """Yield the images one by one; each is read when it is needed."""
        if isinstance(images, (str, PathLike)):
            yield self._file(Path(fspath(images)))
        elif isinstance(images, Tensor):
            yield from self._tensor(images)
        elif isinstance(images, np.ndarray):
            yield from self._tensor(_channels_first(images))
        elif _is_pil(images):
            yield self._picture(images)
        elif isinstance(images, Iterable) and not isinstance(images, (bytes, dict)):
            for image in images:
                yield from self(image)
        else:
            raise ConfigError(
                f"an image is a path, a PIL image, a tensor or a numpy array, got a "
                f"{type(images).__name__}; convert it to one of these"
            )

    def _file(self, path: Path) -> Tensor:
        self._require_colours(f"the image {path}")
        if path.is_dir():
            raise DatasetError(f"{path} is a folder; give its image files")
        if path.exists() and not path.is_file():
            raise DatasetError(f"{path} is a pipe or a device; give image files")
        image = decode_image(path, channels=self.channels, size=self.size, resize=self.resize)
        return self._middle(image)

    def _picture(self, image: Image.Image) -> Tensor:
        self._require_colours("a PIL image")
        try:
            pixels = eight_bit_pixels(image, self.channels)
        except (OSError, ValueError, SyntaxError) as error:  # it may be read only now
            name = getattr(image, "filename", "") or f"of mode {image.mode}"
            raise DatasetError(f"cannot read the image {name} ({error}); fix or remove it") from error
        return self._fitted(torch.from_numpy(pixels).movedim(-1, 0))

    def _tensor(self, images: Tensor) -> Iterator[Tensor]:
        if images.dim() not in (3, 4) or 0 in images.shape[-3:]:
            raise ConfigError(
                f"a tensor of images is (channels, height, width) or (n, channels, height, width), got "
                f"{tuple(images.shape)}; add or move dimensions"
            )
        for image in images if images.dim() == 4 else images[None]:
            yield self._fitted(self._converted(_bytes(image.detach().cpu())))

    def _converted(self, image: Tensor) -> Tensor:
        """Bytes with the network's number of channels."""
        given = len(image)
        if given == self.channels:
            return image
        if given not in CHANNELS or self.channels not in CHANNELS:
            raise ConfigError(
                f"an image has {given} channels and the network takes {self.channels}, as those of "
                f"{self.example} have; only grey and colour are converted into each other"
            )
        if given == 1:
            return image.expand(self.channels, -1, -1)
        return self._grey(image[:3]) if self.channels == 1 else image[:3]

    def _grey(self, image: Tensor) -> Tensor:
        from PIL import Image  # noqa: PLC0415 - needed for this conversion alone

        colour = Image.fromarray(image.movedim(0, -1).contiguous().numpy())
        return torch.from_numpy(np.array(colour.convert("L")))[None]

    def _fitted(self, image: Tensor) -> Tensor:
        return self._middle(fit(image[None], self.size, require_resize(self.resize))[0])

    def _middle(self, image: Tensor) -> Tensor:
        return image if self.centre is None else centre_crop(image, self.centre)

    def _require_colours(self, what: str) -> None:
        if self.channels not in (1, 3):
            raise ConfigError(
                f"{what} is grey or RGB and the network takes {self.channels} channels; give tensors"
            )


def _bytes(image: Tensor) -> Tensor:
    """Bytes of an image that has bytes, or floats in 0..1."""
    if image.dtype == torch.uint8:
        return image
    if not image.is_floating_point():
        raise ConfigError(f"images are bytes (uint8) or floats in 0..1, got {image.dtype}; convert them")
    low, high = image.aminmax()
    if not (low >= -RANGE_SLACK and high <= 1 + RANGE_SLACK):  # nor a NaN
        raise ConfigError(
            f"float images must lie in 0..1, got {float(low):.4g}..{float(high):.4g}; divide bytes by "
            "255; images are standardised here"
        )
    return image.clamp(0, 1).mul(255).round().to(torch.uint8)


def _channels_first(array: np.ndarray[Any, Any]) -> Tensor:
    """An array (h, w), (h, w, c), (c, h, w) or with n before either, as a tensor with channels first."""
    if array.dtype.kind not in "uif" or array.ndim not in (2, 3, 4):
        raise ConfigError(
            f"an array of images holds numbers (height, width), (height, width, channels) or (n, "
            f"height, width, channels), got {array.dtype} {array.shape}"
        )
    whole = torch.from_numpy(np.array(array, dtype=array.dtype.newbyteorder("="), order="C"))
    if array.ndim == 2:
        return whole[None]
    if array.shape[-3] in CHANNELS:
        return whole
    if array.shape[-1] in CHANNELS:
        return whole.movedim(-1, -3)
    raise ConfigError(
        f"no dimension of an array of shape {array.shape} is for channels; put 1, 3 or 4 channels "
        "last, or before height and width"
    )


def _is_pil(image: object) -> TypeGuard[Image.Image]:
    from PIL import Image  # noqa: PLC0415 - needed for images alone

    return isinstance(image, Image.Image)
