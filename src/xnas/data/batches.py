"""Where a search's batches come from: images on the device, in an order laid down for each epoch.

Nothing in a round waits for the host: the order of an epoch is a tensor on the device, the position in
it another, and a batch is written into buffers that stay where they are. A round can so be captured
once, in a CUDA graph, and replayed; `position` moves on inside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

from xnas.data.augment import Augmentation, standardize
from xnas.data.imbalance import balanced_order
from xnas.data.sizes import Size, centre_crop
from xnas.data.splits import stream, stream_seed
from xnas.errors import ConfigError


def rounds(examples: int, batch_size: int, *, name: str = "validation") -> int:
    """Rounds in an epoch: whole batches that `examples` images give; a short one is dropped."""
    _require_batch(batch_size, examples, name)
    return examples // batch_size


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchSettings:
    """How batches are drawn from images, in memory or in files."""

    batch_size: int
    mean: Sequence[float]
    """Per channel, as `std`; images are standardised with both."""
    std: Sequence[float]
    seed: int
    name: str
    """The half's name in messages and in the streams of randomness: the order of the images and their
    augmentation follow from (seed, name, epoch) alone."""
    augment: Augmentation | None = None
    """Acts on bytes, before images are standardised."""
    finish: Augmentation | None = None
    """Acts on standardised images, as cutout does."""
    balance: bool = False
    """Let every class come equally often in an epoch: images of rare classes are repeated, and some of
    frequent ones wait for another epoch."""
    size: Size | None = None
    """Height and width of a batch where they are not those of the images: `augment` brings images to
    it, and evaluation sees their centre."""
    part: tuple[int, int] = (0, 1)
    """Which part, of how many, for several processes that share batches. Each fills its buffers with its
    own part of the same batch, augmented as it would be by one process, which draws for all of it."""


class BatchSource:
    """Endless batches of one half of the images, augmented and standardised.

    `images`, uint8 (examples, channels, height, width), and `labels`, int64 (examples,), hold a whole
    dataset on a device, shared with other sources; `indices`, int64 (own examples,), says which of them
    are this source's own.

    In a CUDA graph, register `generator` with the graph; `order`, `position` and the generator keep
    their places from epoch to epoch as long as the number of rounds stays.
    """

    capturable = True
    """Whether `fill` can be part of a CUDA graph."""

    def __init__(
        self,
        images: Tensor,
        labels: Tensor,
        indices: Tensor,
        settings: BatchSettings,
    ) -> None:
        s = settings
        if s.batch_size < 1 or len(indices) == 0:
            raise ConfigError(
                f"a batch and the {s.name} half need at least 1 image, got {s.batch_size} and "
                f"{len(indices)}"
            )
        self.rows = rows_of(s.part, s.batch_size)
        device = images.device
        self.images, self.labels = images, labels.to(device)
        self.indices = indices.to(device)
        self.batch_size, self.seed, self.name = s.batch_size, s.seed, s.name
        self.augment, self.finish = s.augment, s.finish
        self.size: Size = (images.shape[2], images.shape[3]) if s.size is None else s.size
        self._classes = labels.cpu()[indices.cpu()] if s.balance else None
        self.mean = torch.tensor(s.mean, dtype=torch.float32, device=device)
        self.std = torch.tensor(s.std, dtype=torch.float32, device=device)
        self.epoch: int | None = None
        self.order = torch.empty((0, s.batch_size), dtype=torch.int64, device=device)
        self.position = torch.zeros((), dtype=torch.int64, device=device)
        self.generator = Generator(device)
        self._asked = 0  # fills since the epoch began, as far as the host knows

    @property
    def examples(self) -> int:
        """Images of this source."""
        return len(self.indices)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a batch, or this process's part of it: images, channels, height and width."""
        return self.rows.stop - self.rows.start, self.images.shape[1], *self.size

    def begin_epoch(self, epoch: int, rounds: int) -> None:
        """Lay down the order of an epoch of `rounds` batches and go to its start.

        Every image comes once before any comes again; with `balance` that holds within each class. More
        rounds than the images give are allowed: a half that is smaller than the other goes round in step
        with it.
        """
        if rounds < 1:
            raise ConfigError(f"an epoch needs at least 1 round, got {rounds}")
        _require_batch(self.batch_size, self.examples, self.name)
        order = self._draw_order(epoch, rounds)
        if self.order.shape == order.shape:
            self.order.copy_(order)
        else:
            self.order = order
        self.position.zero_()
        self.generator.manual_seed(stream_seed(self.seed, f"{self.name}/augmentation/{epoch}"))
        self.epoch, self._asked = epoch, 0

    def buffers(self) -> tuple[Tensor, Tensor]:
        """Room for one batch: float32 images and int64 labels, on the device."""
        device = self.images.device
        images = torch.empty(self.shape, device=device)
        return images, torch.empty(len(images), dtype=torch.int64, device=device)

    def fill(self, images_out: Tensor, labels_out: Tensor) -> None:
        """Write the next batch into the buffers and move on by one round, without a host read."""
        if self._asked >= len(self.order):
            raise ConfigError(
                f"the {self.name} half has no batch left after {self._asked} of {len(self.order)} "
                f"rounds; call begin_epoch"
            )
        expected = self.shape
        if images_out.shape != expected or labels_out.shape != expected[:1]:
            raise ConfigError(
                f"buffers of the {self.name} half must be {expected} and {expected[:1]}, got "
                f"{tuple(images_out.shape)} and {tuple(labels_out.shape)}; buffers() makes a pair"
            )
        indices = self.order.index_select(0, self.position.view(1)).view(-1)
        images = self.images.index_select(0, indices)
        if self.augment is not None:
            images = self.augment(images, self.generator)
        if self.finish is None:
            images = images[self.rows]
        images = standardize(centre_crop(images, self.size), self.mean, self.std)
        if self.finish is not None:
            images = self.finish(images, self.generator)[self.rows]
        images_out.copy_(images)
        labels_out.copy_(self.labels.index_select(0, indices[self.rows]))
        self.position.add_(1)
        self._asked += 1

    def whole(self, limit: int | None = None, skip: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Every image once, standardised but not augmented, for evaluation; at most `limit` batches.

        The order is shuffled, always alike, so that batch statistics see all classes; batches differ by
        at most one image and none is larger than `batch_size`. It is a ring, which begins `skip` batches
        later if that is given.
        """
        for batch in self.whole_order(limit, skip):
            images = centre_crop(self.images[batch], self.size)
            yield standardize(images, self.mean, self.std), self.labels[batch]

    def whole_order(self, limit: int | None = None, skip: int = 0) -> tuple[Tensor, ...]:
        """Indices of the images in each batch of `whole`, int64 (batch,)."""
        if limit is not None and limit < 1:
            raise ConfigError(f"limit must be at least 1 batch, got {limit}; None takes all")
        most = self.examples if limit is None else limit * self.batch_size
        shuffled = torch.randperm(self.examples, generator=stream(self.seed, f"{self.name}/whole"))
        turned = shuffled.roll(-skip * self.batch_size)
        chosen = self.indices[turned[:most].to(self.indices.device)]
        return chosen.tensor_split(-(-len(chosen) // self.batch_size))

    def state_dict(self) -> dict[str, Any]:
        """Where the source stands, in the middle of an epoch or between two."""
        return {
            "epoch": self.epoch,
            "rounds": len(self.order),
            "position": int(self.position),
            "generator": self.generator.get_state(),
            "device": self.images.device.type,
            "examples": self.examples,
            "batch_size": self.batch_size,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where a source with the same settings stood, bit for bit.

        On another kind of device the order is the same, but augmentation draws anew until the next
        epoch: generators of different devices have no common state.
        """
        for key, mine in (("examples", self.examples), ("batch_size", self.batch_size)):
            if state[key] != mine:
                raise ConfigError(
                    f"{key} of the {self.name} half was {state[key]} when this was saved and is {mine} "
                    f"now; continue with the data and settings of the saved run"
                )
        if state["epoch"] is None:
            self.epoch, self.order, self._asked = None, self.order[:0], 0
            return
        if not 0 <= state["position"] <= state["rounds"]:
            raise ConfigError(
                f"the {self.name} half was saved after {state['position']} of {state['rounds']} rounds; "
                "what was saved is damaged"
            )
        self.begin_epoch(state["epoch"], state["rounds"])
        self.position.fill_(state["position"])
        self._asked = state["position"]
        if state["device"] == self.images.device.type:
            self.generator.set_state(state["generator"].cpu())  # a checkpoint may lie on the device

    def _draw_order(self, epoch: int, rounds: int) -> Tensor:
        """Indices (rounds, batch_size) of an epoch: permutations, one after another and cut."""
        generator = stream(self.seed, f"{self.name}/order/{epoch}")
        wanted = rounds * self.batch_size
        if self._classes is not None:
            drawn = balanced_order(self._classes, wanted, generator)
        else:
            times = -(-wanted // self.examples)
            drawn = torch.cat([torch.randperm(self.examples, generator=generator) for _ in range(times)])
        order = self.indices.index_select(0, drawn[:wanted].to(self.indices.device))
        return order.view(rounds, self.batch_size)


def rows_of(part: tuple[int, int], batch_size: int) -> slice:
    """The images of a batch that one of several processes computes with; all parts are equal."""
    which, parts = part
    if parts < 1 or not 0 <= which < parts or batch_size % parts:
        raise ConfigError(
            f"part {which} of a batch of {batch_size} in {parts} parts is none; parts must be equal "
            "and are counted from 0"
        )
    share = batch_size // parts
    return slice(which * share, (which + 1) * share)


def _require_batch(batch_size: int, examples: int, name: str) -> None:
    if batch_size < 1:
        raise ConfigError(f"batch_size must be at least 1, got {batch_size}; 32 is common")
    if batch_size > examples:
        fits = 2 ** (max(examples, 1).bit_length() - 1)
        raise ConfigError(
            f"batch of {batch_size} but only {examples} images in the {name} half; "
            f"use a --batch-size of {fits} or less"
        )
