"""Augmentation, on the device and whole batches at a time.

An augmentation takes images (n, channels, height, width), uint8 or float, and a generator on their
device, and returns images of the same shape and kind. Every image gets its own draw. The order is that
of the paper's search (Sec. 9.2): pad, crop, flip, AutoAugment, standardise.

`Crop` and `Flip` read nothing on the host, so they can be captured in a CUDA graph; AutoAugment is
torchvision's, image by image, and cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own habit

from xnas.data.images import ImageData
from xnas.errors import ConfigError

Augmentation = Callable[[Tensor, Generator], Tensor]
POLICIES = ("cifar10", "imagenet", "svhn")


def standardize(images: Tensor, mean: Sequence[float] | Tensor, std: Sequence[float] | Tensor) -> Tensor:
    """Images as floats, with mean 0 and deviation 1 in each channel if `mean` and `std` are theirs.

    Bytes become 0..1 first; float images are taken to be there already.
    """
    pixels = images.float() * (1 / 255) if images.dtype == torch.uint8 else images.float()
    return (pixels - _by_channel(mean, images)) / _by_channel(std, images)


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
        count, channels, height, width = images.shape
        device = images.device
        padded = F.pad(images, (self.padding,) * 4)
        corner = torch.randint(
            2 * self.padding + 1, (2, count, 1), generator=generator, device=device
        )  # of the cut, from the upper left of the padded image
        rows = corner[0] + torch.arange(height, device=device)
        columns = corner[1] + torch.arange(width, device=device)
        cut = padded.gather(2, rows[:, None, :, None].expand(-1, channels, -1, padded.shape[3]))
        return cut.gather(3, columns[:, None, None, :].expand(-1, channels, height, -1))


@dataclass(frozen=True, slots=True)
class Flip:
    """Mirror left and right, every other image on average."""

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        """Each image as it is or mirrored."""
        mirrored = torch.rand(len(images), generator=generator, device=images.device) < 0.5
        return torch.where(mirrored[:, None, None, None], images.flip(-1), images)


class AutoAugmentTrain:
    """AutoAugment's learned policies, by torchvision: two operations drawn for each image.

    Holes that geometric operations leave are black. The policies were learned with labels (that of
    `cifar10` with labels of CIFAR-10), which a search that uses them should say.
    """

    def __init__(self, policy: str = "cifar10") -> None:
        from torchvision.transforms import v2  # type: ignore[import-untyped]  # noqa: PLC0415

        if policy not in POLICIES:
            known = ", ".join(POLICIES)
            raise ConfigError(f"no AutoAugment policy called {policy!r}; there are: {known}")
        self.policy = policy
        self._transform = v2.AutoAugment(v2.AutoAugmentPolicy(policy))

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        """Each image after operations of its own; uint8 alone, which the policies are made for."""
        if images.dtype != torch.uint8:
            raise ConfigError(
                f"AutoAugment takes uint8 images, got {images.dtype}; standardize after it"
            )
        draw = torch.randint(2**63 - 1, (1,), generator=generator, device=generator.device)
        with torch.random.fork_rng(devices=[]):  # torchvision draws from the global generator
            torch.default_generator.manual_seed(int(draw))
            return torch.stack([self._transform(image) for image in images])

    def __repr__(self) -> str:
        return f"AutoAugmentTrain({self.policy!r})"


@dataclass(frozen=True, slots=True)
class Chain:
    """Augmentations one after another."""

    steps: tuple[Augmentation, ...]

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        """Images after every step, in order."""
        for step in self.steps:
            images = step(images, generator)
        return images


def augmentation_for(data: ImageData, *, autoaugment: str | None = None) -> Chain:
    """Crop with an eighth of the side as padding (4 pixels for 32) and, where the data allow it, flip.

    `autoaugment` names a policy to follow them.

    Departure: by default there is no AutoAugment, which is part of the paper's search. Its policies were
    learned with labels, and for natural colour images; a search on other data should not rest on them.
    """
    steps: list[Augmentation] = [Crop(max(min(data.size) // 8, 1))]
    if data.flip:
        steps.append(Flip())
    if autoaugment is not None:
        steps.append(AutoAugmentTrain(autoaugment))
    return Chain(tuple(steps))


def _by_channel(values: Sequence[float] | Tensor, images: Tensor) -> Tensor:
    """One number a channel, shaped to meet a batch; a tensor on the device is taken as it is."""
    return torch.as_tensor(values, dtype=torch.float32, device=images.device).view(-1, 1, 1)
