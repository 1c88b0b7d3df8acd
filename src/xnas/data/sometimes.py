"""An augmentation that happens to each image with a chance that can change while a run is under way."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from xnas.data.augment import Augmentation


@dataclass(frozen=True, slots=True)
class Sometimes:
    """Applies `augment` to each image with probability `chance`.

    `chance` is a tensor of one number on the images' device: captured CUDA graphs read it anew in every
    round.
    """

    augment: Augmentation
    chance: Tensor

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        """Each image augmented or as it is."""
        drawn = torch.rand(len(images), generator=generator, device=images.device) < self.chance
        return torch.where(drawn[:, None, None, None], self.augment(images, generator), images)
