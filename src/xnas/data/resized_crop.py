"""Random resized crop: a part of each image, of random size and shape, brought to one size.

Resizing is separable and linear, so it is two products with matrices of weights, one for each side of
each image, whatever the box: shapes never depend on what was drawn. Weights are triangles that widen
where an image shrinks (antialiasing), in whole numbers and with a rounding after each product, as
torchvision has them for bytes. Sums stay below 2 to the power of 24, where single precision counts
exactly. Products in TF32 would not: runs turn it off (`process.devices.full_fp32`), and torch has it off
for products elsewhere unless somebody turns it on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from xnas.errors import ConfigError

ATTEMPTS = 10
FINEST = 22  # bits of a weight at most


@dataclass(frozen=True, slots=True)
class RandomResizedCrop:
    """Cut out a random box and resize it, bilinear, to `size`: height and width."""

    size: tuple[int, int]
    scale: tuple[float, float] = (0.08, 1.0)
    """Area of the box, least and most, as a share of the image's."""
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    """Width of the box divided by its height, least and most."""

    def __post_init__(self) -> None:
        if min(self.size) < 1:
            raise ConfigError(f"a crop needs at least 1 pixel per side, got {self.size}")
        for name, (least, most) in (("scale", self.scale), ("ratio", self.ratio)):
            if not 0 < least <= most:
                raise ConfigError(
                    f"{name} must be two positive numbers, the lesser first, got {least, most}"
                )

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        """A box of each image, resized; uint8 alone."""
        if images.dtype != torch.uint8:
            raise ConfigError(
                f"a resized crop takes uint8 images, got {images.dtype}; standardize after it"
            )
        return resized_crops(images, self.boxes(images, generator), self.size)

    def boxes(self, images: Tensor, generator: Generator) -> Tensor:
        """Top, left, height and width of a box in each image, int64 (n, 4).

        The first of ten attempts that fits; if none does, the largest box of an allowed shape, in the
        centre.
        """
        count, height, width = images.shape[0], images.shape[2], images.shape[3]
        chances = torch.rand(
            (4, ATTEMPTS, count), generator=generator, device=images.device, dtype=torch.float64
        )
        area = height * width * _between(self.scale[0], self.scale[1], chances[0])
        ratio = _between(math.log(self.ratio[0]), math.log(self.ratio[1]), chances[1]).exp()
        tall, wide = (area / ratio).sqrt().round(), (area * ratio).sqrt().round()
        top = (chances[2] * (height - tall + 1)).floor()
        left = (chances[3] * (width - wide + 1)).floor()
        fits = (tall >= 1) & (tall <= height) & (wide >= 1) & (wide <= width)
        first = fits.byte().argmax(0)
        found = torch.stack((top, left, tall, wide)).gather(1, first.expand(4, 1, -1)).squeeze(1)
        central = self.central_box(height, width)
        otherwise = torch.stack([torch.full_like(found[0], side) for side in central])
        return torch.where(fits.any(0), found, otherwise).long().T

    def central_box(self, height: int, width: int) -> tuple[int, int, int, int]:
        """The largest box in the centre whose shape is allowed."""
        tall, wide = height, width
        if width / height < self.ratio[0]:
            tall = round(width / self.ratio[0])
        elif width / height > self.ratio[1]:
            wide = round(height * self.ratio[1])
        return (height - tall) // 2, (width - wide) // 2, tall, wide


def resized_crops(images: Tensor, boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Boxes (n, 4) of uint8 images, as top, left, height and width, brought to `size`."""
    top, left, tall, wide = boxes.unbind(1)
    across, across_unit = _weights(left, wide, images.shape[3], size[1])
    down, down_unit = _weights(top, tall, images.shape[2], size[0])
    narrowed = _rounded(images.float() @ across.unsqueeze(1).mT, across_unit)
    return _rounded(down.unsqueeze(1) @ narrowed, down_unit).to(torch.uint8)


def _weights(start: Tensor, length: Tensor, side: int, wanted: int) -> tuple[Tensor, Tensor]:
    """How much each of `side` pixels gives to each of `wanted`, in whole parts of `unit`, a power of 2.

    Weights are float32 (n, wanted, side), `unit` is float32 (n, 1, 1, 1).
    """
    start, length = start.double().view(-1, 1, 1), length.double().view(-1, 1, 1)
    device = start.device
    scale = length / wanted
    reach = scale.clamp(min=1)
    centre = (torch.arange(wanted, device=device, dtype=torch.float64).view(-1, 1) + 0.5) * scale
    pixel = torch.arange(side, device=device, dtype=torch.float64) - start
    weights = (1 - ((pixel + 0.5 - centre) / reach).abs()).clamp(min=0)
    weights = weights * ((pixel >= 0) & (pixel < length))
    weights = weights / weights.sum(2, keepdim=True)
    largest = weights.amax((1, 2), keepdim=True)
    powers = torch.arange(1, FINEST + 1, device=device, dtype=torch.float64).exp2()
    bits = (0.5 + largest * powers < 2**15).sum(2, keepdim=True)
    unit = torch.ones_like(bits) << bits
    return (weights * unit + 0.5).floor().float(), unit.float().unsqueeze(1)


def _rounded(sums: Tensor, unit: Tensor) -> Tensor:
    """Sums in whole units, rounded half up and kept within a byte's levels."""
    return ((sums + unit / 2) / unit).floor().clamp_(0, 255)


def _between(least: float, most: float, chances: Tensor) -> Tensor:
    return least + (most - least) * chances
