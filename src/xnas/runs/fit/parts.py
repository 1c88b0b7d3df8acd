"""The settings of the runs that a fit consists of, and the images that each of them sees."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from xnas.data import Images, held_out, stream_seed
from xnas.data.parts import part_of, stratified, without_test
from xnas.records.fitting import PlannedSearch
from xnas.runs.fit.config import FitConfig
from xnas.runs.fit.sizing import Facts
from xnas.runs.limits import UNLIMITED
from xnas.runs.search_config import SearchConfig
from xnas.runs.train_config import TrainConfig

RECIPE = "quick"
TUNED_BATCH, LEAST_BATCHES = 64, 10
"""Images per batch of fine-tuning; batches are halved until an epoch has so many."""
TUNED_RATE, TUNED_DECAY = 0.02, 1e-4
"""Learning rate for that batch, and weight decay: smaller than the recipe's, as the weights are good."""


@dataclass(frozen=True)
class FitData:
    """The images of a fit: none of its runs gets the test images."""

    images: Images
    config: FitConfig
    share: float
    """Of the training images that is held out for validation."""

    @property
    def trained(self) -> Images:
        """For trainings, which hold out the validation part themselves, all of them the same."""
        return without_test(self.images)

    def searched(self, count: int) -> Images:
        """About `count` images for a search, none of them of the validation part."""
        labels, seed = self.images.labels.cpu(), self.config.seed
        kept, _ = held_out(labels, share=self.share, seed=stream_seed(seed, "validation"))
        chosen = stratified(labels[kept], count, seed=stream_seed(seed, "searched"))
        return part_of(self.images, kept[chosen])

    @property
    def validation(self) -> Tensor:
        """Indices of the images that no training learns from."""
        labels, seed = self.images.labels.cpu(), self.config.seed
        return held_out(labels, share=self.share, seed=stream_seed(seed, "validation"))[1]

    @property
    def held(self) -> int:
        """How many validation images there are."""
        return len(self.validation)


def facts_of(images: Images) -> Facts:
    """What the plan has to know of the images."""
    counts = torch.bincount(images.labels.cpu(), minlength=len(images.classes)).tolist()
    fewest = min(counts)
    return Facts(
        images=len(images.labels),
        fewest=fewest,
        fewest_name=images.classes[counts.index(fewest)],
        counts=tuple(counts),
    )


def fine_tuning(images: int) -> dict[str, Any]:
    """Numbers of the recipe that differ where weights are good already."""
    batch = TUNED_BATCH
    while batch > 2 and images < LEAST_BATCHES * batch:
        batch //= 2
    rate = TUNED_RATE * batch / TUNED_BATCH
    return {"batch_size": batch, "learning_rate": rate, "weight_decay": TUNED_DECAY}


def search_settings(config: FitConfig, planned: PlannedSearch, out: Path | None) -> SearchConfig:
    """The settings of the search."""
    return SearchConfig(
        space=planned.space,
        epochs=planned.epochs,
        batch_size=planned.batch_size,
        cells=planned.cells,
        channels=planned.channels,
        out=out,
        seed=config.seed,
        device=config.device,
        backend=config.backend,
        precision=config.precision,
        balance=config.balance,
        checkpoint_minutes=config.checkpoint_minutes,
        report=config.report,
        **{name: getattr(config, name) for name in UNLIMITED},
    )


def train_settings(
    config: FitConfig,
    cell: str | Path,
    *,
    share: float,
    epochs: int,
    out: Path | None = None,
    cells: int | None = None,
    channels: int | None = None,
    tuned: int = 0,
) -> TrainConfig:
    """The settings of a training; sizes are those of the network unless they are given.

    With `tuned`, the number of images to learn from, they are those of fine-tuning.
    """
    return TrainConfig(
        **(fine_tuning(tuned) if tuned else {}),
        cell=cell,
        recipe=RECIPE,
        epochs=epochs,
        validation=share,
        cells=cells,
        channels=channels,
        out=out,
        seed=config.seed,
        device=config.device,
        backend=config.backend,
        precision=config.precision,
        balance=config.balance,
        checkpoint_minutes=config.checkpoint_minutes,
        report=config.report,
    )
