"""Weights that the paper's authors released, evaluated as they prepare test images."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from xnas.data import Images
from xnas.data.cifar import MEAN as CIFAR_MEAN
from xnas.data.cifar import STD as CIFAR_STD
from xnas.data.sizes import Size
from xnas.engine.evaluate import evaluate
from xnas.model.evaluation import chosen_images, skips_bad_images
from xnas.model.plain_batches import Preparation, plain_batches
from xnas.process.advance import Advance, unwatched
from xnas.records import Evaluation
from xnas.space import create_model
from xnas.space.authors_weights import load_authors_weights


@dataclass(frozen=True, slots=True)
class Released:
    """How the paper's authors prepare test images for one kind of network."""

    data: str
    mean: tuple[float, ...]
    std: tuple[float, ...]
    load_size: int | None
    """Side that images are resized to first; None does not resize."""
    centre: Size | None
    """Height and width of the centre crop after that; None crops nothing."""


RELEASED = {
    "cifar": Released("cifar10", CIFAR_MEAN, CIFAR_STD, None, None),
    "imagenet": Released(
        "imagenet", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), load_size=256, centre=(224, 224)
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleasedWeights:
    """A file of released weights, and the network that they belong to."""

    path: Path
    cell: str
    network: str
    channels: int | None = None
    """Of the first cell; None for those of the small network."""
    cells: int | None = None
    """None for the paper's number of cells."""


def evaluate_released(
    weights: ReleasedWeights,
    images: Images,
    *,
    device: torch.device,
    every_image: bool = False,
    batch_size: int = 250,
    skip_bad_images: bool = False,
    advance: Advance = unwatched,
) -> tuple[Evaluation, str]:
    """Evaluate released weights on the test images of some data, with a note on their preparation."""
    kind = RELEASED[weights.network]
    channels = int(images.images.shape[-3])
    model = create_model(
        weights.cell,
        network=weights.network,
        num_classes=len(images.classes),
        in_chans=channels,
        channels=weights.channels,
        cells=weights.cells,
    )
    load_authors_weights(weights.path, model)
    mean, std, theirs = kind.mean, kind.std, f"the authors' mean and deviation of {kind.data}"
    if channels != len(mean):
        mean, std, theirs = images.mean, images.std, f"mean and deviation of {images.name} itself"
    pixels, labels = chosen_images(images, every_image=every_image)
    prepared = Preparation(
        mean=mean,
        std=std,
        centre=kind.centre,
        batch_size=batch_size,
        skip_bad_images=skips_bad_images(images, asked=skip_bad_images),
        advance=advance,
    )
    batches = plain_batches(pixels, labels, prepared)
    return evaluate(model.to(device), batches, images.classes), f"standardised with {theirs}"
