"""Images as a test sees them: each once, standardised, not augmented."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from xnas.data import BatchSettings, ImageFiles, StreamSource, standardize
from xnas.data.sizes import Size, centre_crop
from xnas.errors import ConfigError
from xnas.model.image_inputs import ImageReader
from xnas.process.advance import Advance, unwatched


@dataclass(frozen=True, kw_only=True, slots=True)
class Preparation:
    """What is done to test images."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    reader: ImageReader | None = None
    """Converts images to the network's channels and size; None if they have them."""
    centre: Size | None = None
    """Height and width of the centre crop, after the reader if there is one."""
    batch_size: int = 250
    skip_bad_images: bool = False
    """Whether files that cannot be read are skipped."""
    advance: Advance = unwatched
    """Called after each batch with the number of images."""


def plain_batches(
    images: Tensor | ImageFiles, labels: Tensor, preparation: Preparation
) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of every image once, with its label, of images in memory or in files."""
    source = _in_memory if isinstance(images, Tensor) else _in_files
    done = 0
    for prepared, some in source(images, labels, preparation):  # type: ignore[arg-type]  # by its type
        centre = preparation.centre
        yield prepared if centre is None else centre_crop(prepared, centre), some
        done += len(some)
        preparation.advance(done, len(labels))


def _in_memory(
    images: Tensor, labels: Tensor, preparation: Preparation
) -> Iterator[tuple[Tensor, Tensor]]:
    reader, size = preparation.reader, preparation.batch_size
    for pixels, some in zip(torch.split(images, size), torch.split(labels, size), strict=True):
        if reader is not None and pixels.shape[1:] != (reader.channels, *reader.size):
            fitted = torch.stack(list(reader(pixels)))
            yield standardize(fitted, preparation.mean, preparation.std), some
        else:
            yield standardize(pixels, preparation.mean, preparation.std), some


def _in_files(
    files: ImageFiles, labels: Tensor, preparation: Preparation
) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches that worker processes decode, always in the same order."""
    reader = preparation.reader
    if reader is not None and files.shape != (reader.channels, *reader.size):
        raise ConfigError(
            f"images such as {files.paths[0]} are read as {files.shape} (channels, height, width), "
            f"the network takes {(reader.channels, *reader.size)}; save them in that shape"
        )
    source = StreamSource(
        files,
        labels,
        torch.arange(len(labels)),
        BatchSettings(
            batch_size=preparation.batch_size,
            mean=preparation.mean,
            std=preparation.std,
            seed=0,
            name="test",
        ),
        skip_bad_images=preparation.skip_bad_images,
    )
    try:
        yield from source.whole()
    finally:
        source.close()
