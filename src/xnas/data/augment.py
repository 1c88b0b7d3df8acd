"""Augmentation, on the device and whole batches at a time.

An augmentation takes images (n, channels, height, width), uint8 or float, and a generator on their
device, and returns images of the same kind and, resized crops aside, of the same shape. Every image gets
its own draw. The order is that of the paper's search (Sec. 9.2): pad, crop, flip, AutoAugment,
standardise; a training adds cutout.

On a GPU nothing is read on the host, so that a CUDA graph can hold all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Generator, Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own habit

from xnas.data.autoaugment import AutoAugmentTrain
from xnas.data.resized_crop import RandomResizedCrop
from xnas.errors import ConfigError

Augmentation = Callable[[Tensor, Generator], Tensor]
"""Function from images (n, channels, height, width) and a generator to augmented images."""


class Pictures(Protocol):
    """What has to be known of a dataset, in memory or in files, to augment its images."""

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""

    @property
    def flip(self) -> bool:
        """Whether a mirrored image still shows its class."""


def standardize(images: Tensor, mean: Sequence[float] | Tensor, std: Sequence[float] | Tensor) -> Tensor:
    """Images as floats, with mean 0 and deviation 1 in each channel if `mean` and `std` are theirs.

    Bytes become 0..1 first; float images are taken to be there already.
    """
    pixels = images.float() * (1 / 255) if images.dtype == torch.uint8 else images.float()
    return (pixels - _by_channel(mean, images)).div_(_by_channel(std, images))


@dataclass(frozen=True, slots=True)
class Crop:
    """Pad with black on all sides and cut out, anywhere, an image of the size it had."""

    padding: int

    def __post_init__(self) -> None:
        if self.padding < 1:
            raise ConfigError(
                f"padding must be at least 1 pixel, got {self.padding}; leave the crop out"
            )

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        """Each image moved by up to `padding` pixels each way."""
        count, _, height, width = images.shape
        device = images.device
        padded = F.pad(images, (self.padding,) * 4)
        top, left = torch.randint(
            2 * self.padding + 1, (2, count), generator=generator, device=device
        )  # of the cut, in the padded image
        cuts = padded.unfold(2, height, 1).unfold(3, width, 1).movedim(1, 3)  # all of them; a view
        return cuts[torch.arange(count, device=device), top, left]


@dataclass(frozen=True, slots=True)
class Flip:
    """Mirror left and right, every other image on average."""

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        """Each image as it is or mirrored."""
        mirrored = torch.rand(len(images), generator=generator, device=images.device) < 0.5
        return torch.where(mirrored[:, None, None, None], images.flip(-1), images)


@dataclass(frozen=True, slots=True)
class Cutout:
    """Set a square to 0 in each image: in standardised images, a hole of the mean colour.

    The centre is any pixel, and what lies outside the image is cut off: of 16 pixels on 32, a mean side
    of 14 is left.
    """

    side: int

    def __post_init__(self) -> None:
        if self.side < 1:
            raise ConfigError(f"cutout must be at least 1 pixel, got {self.side}; leave it out")

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        """Each image with a hole of its own."""
        count, _, height, width = images.shape
        device = images.device
        row = torch.randint(height, (count, 1), generator=generator, device=device)
        column = torch.randint(width, (count, 1), generator=generator, device=device)
        hole = self._reached(row, height)[:, None, :, None] & self._reached(column, width)[:, None, None]
        return images.masked_fill(hole, 0)

    def _reached(self, centre: Tensor, length: int) -> Tensor:
        """Which of `length` rows or columns a square around `centre` (n, 1) reaches: (n, length)."""
        offset = torch.arange(length, device=centre.device) - centre + self.side // 2
        return (offset >= 0) & (offset < self.side)


@dataclass(frozen=True, slots=True)
class Chain:
    """Augmentations one after another."""

    steps: tuple[Augmentation, ...]

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        """Images after every step, in order."""
        for step in self.steps:
            images = step(images, generator)
        return images


def augmentation_for(
    data: Pictures, *, autoaugment: str | None = None, crop: Augmentation | None = None
) -> Chain:
    """Crop with an eighth of the side as padding (4 pixels for 32) and, where the data allow it, flip.

    `autoaugment` names a policy to follow them; `crop` is another crop to begin with.

    Departure: by default there is no AutoAugment, which is part of the paper's search. Its policies were
    learned with labels, and for natural colour images; a search on other data should not rest on them.
    """
    steps: list[Augmentation] = [crop or Crop(max(min(data.size) // 8, 1))]
    if data.flip:
        steps.append(Flip())
    if autoaugment is not None:
        steps.append(AutoAugmentTrain(autoaugment))
    return Chain(tuple(steps))


def training_augmentation(
    data: Pictures,
    *,
    autoaugment: str | None = None,
    cutout: int | None = None,
    resized_crop: tuple[int, int] | None = None,
) -> tuple[Chain, Cutout | None]:
    """What a training does before and after its images are standardised.

    The two are `augment` and `finish` of a `BatchSource`; `cutout` is the side of the hole in pixels,
    16 for 32 in the paper's trainings. `resized_crop` is the height and width of random resized crops
    instead of padding and cropping, as on ImageNet.

    Departure: resized crops are taken from images that all have one size already (256 x 256 for
    ImageNet, resized and cut to a square), not from the files as they are: a batch is one tensor on the
    device. What a square cuts off is never seen, and small boxes are enlarged from fewer pixels.
    """
    crop = None if resized_crop is None else RandomResizedCrop(resized_crop)
    augment = augmentation_for(data, autoaugment=autoaugment, crop=crop)
    return augment, None if cutout is None else Cutout(cutout)


def _by_channel(values: Sequence[float] | Tensor, images: Tensor) -> Tensor:
    """One number a channel, shaped to meet a batch; a tensor on the device is taken as it is."""
    return torch.as_tensor(values, dtype=torch.float32, device=images.device).view(-1, 1, 1)
