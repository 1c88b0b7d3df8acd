"""A classifier made of a trained network: it takes images of any kind and returns names of classes.

    classifier = xnas.load("runs/train-flowers-1")
    classifier.predict(["rose.jpg", "tulip.jpg"])[0].label

Every image is first converted to bytes, like the training images. It is then resized by the rule of the
training data, and standardised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import torch
from torch import Tensor

from xnas.data import standardize
from xnas.errors import ConfigError, DatasetError
from xnas.model.image_inputs import ImageReader
from xnas.model.model import load_model
from xnas.model.model_card import ModelCard
from xnas.process.devices import pick_device
from xnas.process.folder import run_path
from xnas.records import Prediction
from xnas.space import Network
from xnas.words import counted

if TYPE_CHECKING:
    from PIL import Image

BATCH = 64  # images per forward pass

Given = Union[str, Path, "Image.Image", Tensor, np.ndarray[Any, Any]]
"""An image, or a tensor or array of several."""


def load(run: Path | str, device: str = "auto") -> Classifier:
    """Return the classifier that a training made.

    `run` is the run folder of the training, or a folder that it was exported to.

    >>> from xnas import ImageData, train
    >>> noise = torch.randint(0, 256, (64, 1, 8, 8), dtype=torch.uint8)
    >>> labels = torch.arange(64) % 2
    >>> data = ImageData(name="noise", images=noise, labels=labels, classes=("even", "odd"))
    >>> small = {"epochs": 1, "batch_size": 32, "cells": 3, "channels": 2, "device": "cpu"}
    >>> classifier = load(train("xnas", data, **small, quiet=True).out, device="cpu")
    >>> classifier.predict(noise[:2])[0].label in ("even", "odd")
    True
    """
    model, card = load_model(run_path(run), pick_device(device))
    return Classifier(model, card)


class Classifier:
    """A trained network that takes images of any kind."""

    def __init__(self, model: Network, card: ModelCard) -> None:
        self.model, self.card = model.eval(), card
        self._read = ImageReader.of(card)

    def __repr__(self) -> str:
        spec, (height, width) = self.card.network, self.card.input_size
        unit = self.card.architecture.defaults.cells_unit
        return (
            f"Classifier({spec.network} network of {spec.cells} {unit} and "
            f"{counted(spec.channels, 'channel')}, {len(self.classes)} classes, images of "
            f"{spec.in_chans} x {height} x {width})"
        )

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the logits."""
        return self.card.classes

    def predict(self, images: Given | Iterable[Given], top: int = 1) -> list[Prediction]:
        """The `top` most probable classes of every image, in the order of the images.

        Images are paths, PIL images, tensors (channels, height, width) or (n, channels, height, width)
        or numpy arrays, alone or in a list: bytes, or floats in 0..1, not standardised. Numpy arrays
        may also have their channels last, or none.
        """
        return list(self._ranked(self._read(images), self._shown(top)))

    def predict_files(
        self, files: Iterable[Path], top: int = 1, *, skip_bad_images: bool = False
    ) -> Iterator[tuple[Path, Prediction | DatasetError]]:
        """Yield each file with its prediction.

        With `skip_bad_images`, a file that cannot be read comes with its error instead.
        """
        rest, shown = iter(files), self._shown(top)
        while part := list(islice(rest, BATCH)):
            images: list[Tensor] = []
            faults: dict[Path, DatasetError] = {}
            for file in part:
                try:
                    images += self._read(file)
                except DatasetError as error:
                    if not skip_bad_images:
                        raise
                    faults[file] = error
            answers = self._ranked(iter(images), shown)
            yield from ((file, faults[file] if file in faults else next(answers)) for file in part)

    def logits(self, images: Given | Iterable[Given]) -> Tensor:
        """Return the logits, float32 (images, classes) on the CPU; images are given as to `predict`."""
        empty = torch.empty(0, len(self.classes))
        return torch.cat([empty, *(logits.cpu() for logits in self._answers(self._read(images)))])

    def _shown(self, top: int) -> int:
        """Number of classes to name: `top`, or all if there are fewer."""
        try:
            shown = min(index(top), len(self.classes))
        except TypeError:
            raise ConfigError(
                f"top must be a whole number, got {top!r}; 1 asks for one answer"
            ) from None
        if shown < 1:
            raise ConfigError(f"top must be at least 1, got {top}; 1 asks for the answer alone")
        return shown

    def _ranked(self, prepared: Iterator[Tensor], shown: int) -> Iterator[Prediction]:
        for logits in self._answers(prepared):
            best, classes = logits.double().softmax(-1).topk(shown)
            yield from map(self._prediction, best.tolist(), classes.tolist())

    def _prediction(self, probabilities: list[float], classes: list[int]) -> Prediction:
        names = [self.classes[k] for k in classes]
        ranking = tuple(zip(names, probabilities, strict=True))
        return Prediction(label=names[0], probability=probabilities[0], ranking=ranking)

    @torch.no_grad()
    def _answers(self, prepared: Iterator[Tensor]) -> Iterator[Tensor]:
        """Yield logits batch by batch; the images of a batch are read just before it."""
        device = next(self.model.parameters()).device
        self.model.eval()
        while batch := list(islice(prepared, BATCH)):
            pixels = torch.stack(batch).to(device)
            logits: Tensor = self.model(standardize(pixels, self.card.mean, self.card.std))
            if not bool(logits.isfinite().all()):
                raise ConfigError(
                    "the network's answers are not finite numbers; its weights are damaged or its "
                    "training diverged: take an earlier checkpoint"
                )
            yield logits.float()
