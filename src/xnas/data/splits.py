"""Who sees which images, and the named streams of randomness behind one seed.

A search learns its weights on one half of the training images and its mixtures on the other. Splits
are stratified and follow from a seed alone. Every use of randomness has a stream of its own, whose
seed is a hash of the run's seed and the stream's name, so that drawing more from one moves no other.
"""

from __future__ import annotations

from hashlib import blake2b

import torch
from torch import Tensor

from xnas.errors import ConfigError, DatasetError

TEST_SHARE = 0.2
HELD_OUT = "held out as test"
TEST_SEED = 0  # never a run's seed: what one run tests on, no other run may have searched on


def stream_seed(seed: int, name: str) -> int:
    """Seed of a named stream, below 2^63: the BLAKE2b hash of `seed/name`, on every machine alike.

    The first 63 of its 64 bits; `printf 7/weights | b2sum -l 64` shows all of them.
    """
    digest = blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def stream(seed: int, name: str) -> torch.Generator:
    """A generator of its own, on the CPU, for one use of randomness, such as `split` or `weights`."""
    return torch.Generator().manual_seed(stream_seed(seed, name))


def halves(labels: Tensor, *, seed: int) -> tuple[Tensor, Tensor]:
    """Indices of a search's training and validation half (Sec. 3.2.2: 50:50), each in rising order.

    Stratified: no class, and not the whole, differs by more than one image between the halves.
    """
    grouped = _grouped_by_class(labels, stream(seed, "split"))
    return grouped[0::2].sort().values, grouped[1::2].sort().values


def held_out(labels: Tensor, *, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """Indices that stay and indices that are held out, each in rising order.

    Stratified: of each class the nearest number to `share`, at least one image and never all.
    """
    if not 0 < share < 1:
        raise ConfigError(f"share must lie between 0 and 1, got {share}; a fifth is common")
    kept, held = [], []
    grouped = _grouped_by_class(labels, stream(seed, "held out"))
    counts = torch.bincount(labels.cpu())
    for members in torch.split(grouped, counts[counts > 0].tolist()):
        out = held_of_class(len(members), share)
        held.append(members[:out])
        kept.append(members[out:])
    return torch.cat(kept).sort().values, torch.cat(held).sort().values


def held_of_class(images: int, share: float) -> int:
    """How many images of a class `held_out` holds out.

    >>> [held_of_class(images, 0.2) for images in (1, 2, 8)]
    [0, 1, 2]
    """
    return min(max(round(share * images), 1), max(images - 1, 0))


def held_out_note(count: int) -> str:
    """A phrase for the images that `TEST_SHARE` holds out."""
    return f"{count} images, a fifth of each class, {HELD_OUT}"


def _grouped_by_class(labels: Tensor, generator: torch.Generator) -> Tensor:
    """All indices, class after class, shuffled within each: every other one makes a half."""
    labels = labels.cpu()
    if len(labels) == 0:
        raise DatasetError("there are no images to split: the labels are empty; add images")
    counts = torch.bincount(labels).tolist()
    if 1 in counts:
        raise DatasetError(f"class {counts.index(1)} has 1 image; a class needs at least 2 to be split")
    shuffled = torch.randperm(len(labels), generator=generator)
    return shuffled[labels[shuffled].argsort(stable=True)]
