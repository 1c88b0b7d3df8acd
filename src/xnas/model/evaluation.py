"""Evaluation of a trained network on given images."""

from __future__ import annotations

import torch
from torch import Tensor

from xnas.data import ImageData, ImageFiles, Images, StreamedImages
from xnas.data.splits import HELD_OUT
from xnas.engine.evaluate import evaluate
from xnas.errors import ConfigError, DatasetError
from xnas.model.image_inputs import ImageReader
from xnas.model.model_card import ModelCard
from xnas.model.plain_batches import Preparation, plain_batches
from xnas.process.advance import Advance, unwatched
from xnas.records import Evaluation
from xnas.space import Network

MOST_NAMED = 5  # classes that differ, in a message


def evaluate_model(
    model: Network,
    card: ModelCard,
    images: Images,
    *,
    every_image: bool = False,
    batch_size: int = 250,
    skip_bad_images: bool = False,
    advance: Advance = unwatched,
) -> Evaluation:
    """Evaluate a network on the test images of some data, or on all of its images.

    The data need the classes of the network, in any order. Images get the network's size by its card.
    """
    pixels, labels = chosen_images(images, every_image=every_image)
    prepared = Preparation(
        mean=card.mean,
        std=card.std,
        reader=ImageReader.of(card),
        centre=card.centre,
        batch_size=batch_size,
        skip_bad_images=skips_bad_images(images, asked=skip_bad_images),
        advance=advance,
    )
    batches = plain_batches(pixels, _same_labels(labels, images, card.classes), prepared)
    return evaluate(model, batches, card.classes)


def chosen_images(data: Images, *, every_image: bool) -> tuple[Tensor | ImageFiles, Tensor]:
    """The test images of some data with their labels, or all its images."""
    if data.test_images is None or data.test_labels is None:
        if every_image:
            return data.images, data.labels
        raise DatasetError(
            f"{data.name} has no test images; add a folder test next to train, or pass --every-image if "
            "the run has not seen its images"
        )
    if not every_image:
        return data.test_images, data.test_labels
    if not isinstance(data, ImageData) or not isinstance(data.test_images, Tensor):
        raise ConfigError(
            f"--every-image joins images in memory, and those of {data.name} stay in files; leave it out"
        )
    return torch.cat([data.images, data.test_images]), torch.cat([data.labels, data.test_labels])


def notes_on(data: Images, *, every_image: bool) -> list[str]:
    """Notes on how the images were prepared; without the split if all images are evaluated."""
    phrases = [p for p in data.note.split("; ") if p and not (every_image and p.endswith(HELD_OUT))]
    return ["; ".join(phrases)] if phrases else []


def _same_labels(labels: Tensor, data: Images, classes: tuple[str, ...]) -> Tensor:
    """Labels in the network's order of classes; raises unless both have the same names."""
    lacking = [name for name in classes if name not in data.classes]
    extra = [name for name in data.classes if name not in classes]
    if lacking or extra:
        parts = [f"{data.name} lacks {_some(lacking)}"] if lacking else []
        parts += [f"the run does not know {_some(extra)}"] if extra else []
        raise ConfigError(
            f"the classes of {data.name} are not those of the run: {', and '.join(parts)}; name and "
            "choose the class folders as those of the training were"
        )
    return torch.tensor([classes.index(name) for name in data.classes])[labels]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(repr, names[:MOST_NAMED])) + more


def skips_bad_images(data: Images, *, asked: bool) -> bool:
    """Whether files that cannot be read are skipped, by the option or by that of the data."""
    return asked or (isinstance(data, StreamedImages) and data.skip_bad_images)
