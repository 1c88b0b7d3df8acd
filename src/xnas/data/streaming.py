"""Batches of images that stay in files: decoded by worker processes, ahead of the search.

A `StreamSource` is a `BatchSource` over a stand-in, one black byte in the shape of the whole dataset.
The order of the images, augmentation, labels and resuming are therefore those of a source in memory.
What differs is one step: before augmentation, the stand-in's batch gives way to the decoded one.

Memory does not grow with the dataset: at most `workers * prefetch` batches wait, and one is in use.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from xnas.data.augment import Augmentation, standardize
from xnas.data.batches import BatchSettings, BatchSource, rows_of
from xnas.data.image_files import ImageFiles
from xnas.data.reader import Decoded, Decoder, Reader, Request
from xnas.data.sizes import centre_crop
from xnas.errors import ConfigError

SPARES = 16  # images after a batch that may stand in for a bad one at its end


def default_workers(*, sources: int = 1) -> int:
    """Worker processes for each of so many sources: all cores but one, shared; at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max((cores - 1) // sources, 1)


class StreamSource:
    """Endless batches of one half of the images, as `BatchSource` gives them, from files.

    `labels` are those of the whole dataset, as there. `workers`
    processes decode, each `prefetch` batches ahead; with 0 workers this process does. For a CUDA
    `device` batches are pinned, so that copying them waits for nothing. They come from the host, so
    `fill` cannot be part of a CUDA graph. Of several processes each decodes its own part alone.

    A file that is no image is a DatasetError; with `skip_bad_images` the next image in the epoch's order
    takes its place, always the same. `close`, the end of the program and errors end the workers. The
    source can be used again afterwards.
    """

    capturable = False

    def __init__(
        self,
        images: ImageFiles,
        labels: Tensor,
        indices: Tensor,
        settings: BatchSettings,
        *,
        device: torch.device | str = "cpu",
        workers: int | None = None,
        prefetch: int = 2,
        skip_bad_images: bool = False,
    ) -> None:
        workers = default_workers() if workers is None else workers
        if workers < 0 or prefetch < 1:
            raise ConfigError(
                f"the {settings.name} half needs workers >= 0 and prefetch >= 1, got {workers} and "
                f"{prefetch}; "
                f"leave them out for {default_workers()} and 2"
            )
        self._bad: set[int] = set()
        self._reader = Reader(
            Decoder(images, labels.cpu(), skip_bad_images=skip_bad_images),
            workers=workers,
            prefetch=prefetch,
            pinned=torch.device(device).type == "cuda",
        )
        self._swap = _Swap(self._reader, settings.augment, rows_of(settings.part, settings.batch_size))
        self._plan = BatchSource(
            torch.zeros(1, dtype=torch.uint8, device=device).expand(len(images), *images.shape),
            labels,
            indices,
            replace(settings, augment=self._swap),
        )
        weakref.finalize(self, self._reader.close)  # before the interpreter takes modules apart

    @property
    def examples(self) -> int:
        """Images of this source."""
        return self._plan.examples

    @property
    def batch_size(self) -> int:
        """Images in a batch."""
        return self._plan.batch_size

    @property
    def name(self) -> str:
        """The half's, in messages and streams of randomness."""
        return self._plan.name

    @property
    def order(self) -> Tensor:
        """Indices (rounds, batch_size) of the present epoch."""
        return self._plan.order

    @property
    def generator(self) -> Generator:
        """What augmentation draws from."""
        return self._plan.generator

    @property
    def skipped(self) -> int:
        """Files passed over so far because they could not be read, each counted once."""
        return len(self._bad)

    def begin_epoch(self, epoch: int, rounds: int) -> None:
        """Lay down the order of an epoch of `rounds` batches and begin to decode it."""
        self._plan.begin_epoch(epoch, rounds)
        self._reader.begin(_with_spares(self._plan.order, self._plan.rows), position=0)

    def buffers(self) -> tuple[Tensor, Tensor]:
        """Room for one batch: float32 images and int64 labels, on the device."""
        return self._plan.buffers()

    def fill(self, images_out: Tensor, labels_out: Tensor) -> None:
        """Write the next batch into the buffers and move on by one round."""
        try:
            self._plan.fill(images_out, labels_out)
        except BaseException:
            self._reader.close()
            raise
        batch = self._swap.take()
        if batch.bad:
            labels_out.copy_(batch.labels)
            self._bad.update(batch.bad)
        self._reader.position += 1

    def whole(self, limit: int | None = None, skip: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Every image once, standardised but not augmented, for evaluation; at most `limit` batches.

        Batches are those of `BatchSource.whole`. Bad images that are to be skipped are left out, as
        another in their place would count twice. Workers of its own, for as long as it lasts.
        """
        rows = [row.cpu() for row in self._plan.whole_order(limit, skip)]
        reader = self._reader.like(workers=min(self._reader.workers, len(rows)))
        reader.begin([Request(row.numpy(), None) for row in rows], position=0)
        device = self._plan.images.device
        try:
            for _ in rows:
                batch = reader.next()
                self._bad.update(batch.bad)
                if len(batch.labels):
                    images = centre_crop(batch.images.to(device, non_blocking=True), self._plan.size)
                    labels = batch.labels.to(device, non_blocking=True)
                    yield standardize(images, self._plan.mean, self._plan.std), labels
        finally:
            reader.close()

    def state_dict(self) -> dict[str, Any]:
        """Where the source stands, in the middle of an epoch or between two."""
        return self._plan.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where a source with the same settings stood, bit for bit, in memory or in files."""
        self._plan.load_state_dict(state)
        requests = _with_spares(self._plan.order, self._plan.rows)
        self._reader.begin(requests, position=int(self._plan.position))

    def close(self) -> None:
        """End the worker processes; the next `fill` starts new ones."""
        self._reader.close()


class _Swap:
    """The first step of augmentation: decoded images in place of the stand-in's."""

    def __init__(self, reader: Reader, augment: Augmentation | None, rows: slice) -> None:
        self.reader, self.augment, self.rows = reader, augment, rows
        self._batch: Decoded | None = None

    def __call__(self, stand_in: Tensor, generator: Generator) -> Tensor:
        self._batch = self.reader.next()
        images = self._batch.images.to(stand_in.device, non_blocking=True)
        if len(images) < len(stand_in):  # other processes' images stay black, but take their draws
            whole = torch.zeros_like(stand_in, memory_format=torch.contiguous_format)
            whole[self.rows] = images
            images = whole
        return images if self.augment is None else self.augment(images, generator)

    def take(self) -> Decoded:
        """The batch that was swapped in last; it is not kept."""
        batch, self._batch = self._batch, None
        assert batch is not None  # noqa: S101 - fill came first
        return batch


def _with_spares(order: Tensor, part: slice) -> list[Request]:
    """Part of each row of an epoch's order with the images that follow it, from the start at the end."""
    rows = order.cpu().numpy()
    flat = rows.reshape(-1)
    endless = np.concatenate([flat, np.resize(flat, SPARES)])
    ends = range(part.stop, len(flat) + 1, order.shape[1])
    return [
        Request(row, endless[end : end + SPARES]) for row, end in zip(rows[:, part], ends, strict=True)
    ]
