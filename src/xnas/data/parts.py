"""Some of the images of some data, as data of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from xnas.data.image_files import Store, StreamedImages
from xnas.data.images import ImageData
from xnas.data.sizes import Size
from xnas.data.splits import stream

LEAST_OF_CLASS = 4  # two for each half of a search


class StorePart:
    """Some of the images of a store."""

    def __init__(self, store: Store, indices: Tensor) -> None:
        self.store, self.indices = store, indices.cpu()

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Path | str:
        """What messages call one image."""
        return self.store[self._place(index)]

    def decode(self, index: int, *, channels: int, size: Size, resize: str) -> Tensor:
        """One image, uint8 (channels, height, width)."""
        return self.store.decode(self._place(index), channels=channels, size=size, resize=resize)

    def identities(self, *, may_lack: bool) -> Iterator[bytes]:
        """Those of the whole store, and the places of these."""
        yield self.indices.numpy().tobytes()
        yield from self.store.identities(may_lack=may_lack)

    def _place(self, index: int) -> int:
        if not 0 <= index < len(self):
            raise IndexError(f"image {index} of {len(self)}")
        return int(self.indices[index])


def without_test(images: ImageData | StreamedImages) -> ImageData | StreamedImages:
    """The same training images, and no test images."""
    if isinstance(images, ImageData):
        return replace(images, test_images=None, test_labels=None)
    return replace(images, test_files=None, test_labels=None)


def part_of(images: ImageData | StreamedImages, indices: Tensor) -> ImageData | StreamedImages:
    """The training images at `indices`, standardised as all of them are, and no test images."""
    alone, labels = without_test(images), images.labels[indices]
    if isinstance(alone, ImageData):
        return replace(alone, images=alone.images[indices], labels=labels)
    return replace(alone, files=StorePart(alone.files, indices), labels=labels)


def stratified(labels: Tensor, count: int, *, seed: int) -> Tensor:
    """Indices of about `count` images, rising; of each class in proportion, but at least four."""
    if count >= len(labels):
        return torch.arange(len(labels))
    order = torch.randperm(len(labels), generator=stream(seed, "part"))
    chosen = []
    for index in labels.unique():  # type: ignore[no-untyped-call]
        members = order[labels[order] == index]
        chosen.append(members[: max(LEAST_OF_CLASS, round(count / len(labels) * len(members)))])
    return torch.cat(chosen).sort().values
