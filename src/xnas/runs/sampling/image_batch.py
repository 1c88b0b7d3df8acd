"""One batch of a run's images, for a sampler that judges untrained networks by it."""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.data import ImageData, Images, StreamedImages, standardize, stream
from xnas.errors import DatasetError
from xnas.samplers import Sampler, TakesImages


def hand_images(sampler: Sampler, data: Images | str | None, *, seed: int) -> None:
    """Give a sampler that takes images a batch of the run's own, if the run has any."""
    if isinstance(sampler, TakesImages) and isinstance(data, ImageData | StreamedImages):
        sampler.use_images(drawn_batch(data, sampler.wanted_images, seed=seed))


def drawn_batch(data: Images, count: int, *, seed: int) -> Tensor:
    """Return `count` training images, or all if there are fewer, standardised, on the CPU.

    They are (count, channels, height, width), drawn by a stream of their own. Files that are to be
    skipped when they are bad are replaced by others.
    """
    order: list[int] = torch.randperm(len(data.labels), generator=stream(seed, "proxy")).tolist()
    if isinstance(data, ImageData):
        pixels = data.images[order[:count]].cpu()
    else:
        read: list[Tensor] = []
        for index in order:
            if len(read) == count:
                break
            try:
                read.append(data.images.read(index))
            except DatasetError:
                if not data.skip_bad_images:
                    raise
        pixels = torch.stack(read)
    return standardize(pixels, data.mean, data.std)
