"""Training recipes: the paper's, the plain one that others use, a benchmark's and a quick one.

A recipe may differ by dataset; `recipe_for` gives the one that applies. Nothing is adapted silently: a
run prints the recipe it follows and writes every number of it into its recipe.json.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from xnas.data.sizes import Resize, Size
from xnas.engine.schedules import PowerCosine
from xnas.engine.train import Optimization
from xnas.errors import UnknownNameError
from xnas.registry import known_names


@dataclass(frozen=True, kw_only=True, slots=True)
class RateSchedule:
    """The learning rate over a training, whatever its length; see `PowerCosine`."""

    learning_rate: float
    """At the start."""
    cycles: int = 1
    cycle_decay: float = 1.0
    power: float = 1.0
    lowest_rate: float = 0.0
    warmup: float = 0.0
    """Epochs in which the learning rate rises from zero, as a share of all."""

    def over(self, epochs: int, steps_per_epoch: int) -> PowerCosine:
        """The schedule of a training of that length."""
        warmup = self.warmup * epochs
        return PowerCosine(
            top=self.learning_rate,
            epochs=epochs,
            cycles=min(self.cycles, epochs),
            decay=self.cycle_decay,
            power=self.power,
            lowest=self.lowest_rate,
            warmup=warmup if warmup * steps_per_epoch >= 1 else 0.0,  # else only a step of rate 0
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ImagePreparation:
    """How training images are resized, cropped and augmented."""

    cutout: int
    """Side of the hole, for images of 32 pixels; it grows with the images."""
    mixup: float = 0.0
    """Alpha of mixup, whose shares follow Beta(alpha, alpha); 0 mixes nothing."""
    auto_augment: str | None
    resized_crop: bool = False
    """Random resized crops of 0.08 to 1 of the image, instead of padding and cropping."""
    image_size: int | None = None
    """Side that images are resized to; None keeps the size that the data have."""
    crop_share: float = 1.0
    """Side of what the network sees as a share of the resized image's: of the random crops in training,
    of the central one in evaluation."""
    resize: Resize | None = None
    """Rule by which images get their size; None leaves it to the data."""

    def seen(self, size: Size) -> Size:
        """Height and width of what the network sees of images of this size."""
        return round(self.crop_share * size[0]), round(self.crop_share * size[1])


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """How a network is built and trained."""

    network: str = "cifar"
    channels: int
    cells: int
    epochs: int
    batch_size: int
    least_steps: int = 0
    """Small datasets are trained for more epochs, until this many steps are made."""
    least_batches: int = 0
    """Batches and learning rate are halved until an epoch has so many; 0 keeps both as they are."""
    validation: float = 0.0
    """Share of the training images that is held out."""
    rate: RateSchedule
    optimization: Optimization
    images: ImagePreparation

    def to_json(self) -> dict[str, Any]:
        """Every number by name, as recipe.json has them."""
        numbers = asdict(self)
        parts = [numbers.pop(name) for name in ("rate", "optimization", "images")]
        return numbers | {name: value for part in parts for name, value in part.items()}


PAPER = Recipe(  # Sec. 9.3; the gradient clip is DARTS's
    channels=36,
    cells=20,
    epochs=1500,
    batch_size=96,
    rate=RateSchedule(learning_rate=0.025, cycles=5, cycle_decay=0.5, power=2.0, lowest_rate=1e-8),
    optimization=Optimization(
        weight_decay=3e-4, label_smoothing=0.1, auxiliary_weight=0.4, drop_path_rate=0.2
    ),
    images=ImagePreparation(cutout=16, auto_augment="cifar10"),
)
PAPER_ON_IMAGENET = Recipe(
    # Sec. 9.3. Departure: the paper states no initial rate, no lowest rate and no label smoothing; 0.5
    # is 0.1 for every 256 images of a batch, the lowest is 0 (sharpDARTS: 1.6e-4), 0.1 is DARTS's.
    # Departure: crops are taken from squares of 256 pixels, not from the files themselves.
    network="imagenet",
    channels=46,
    cells=14,
    epochs=250,
    batch_size=1280,
    rate=RateSchedule(learning_rate=0.5, power=10.0),
    optimization=Optimization(weight_decay=1e-4, label_smoothing=0.1, auxiliary_weight=0.4),
    images=ImagePreparation(
        cutout=0, auto_augment="imagenet", resized_crop=True, image_size=256, crop_share=224 / 256
    ),
)
PLAIN = Recipe(  # DARTS's, which most papers on cells follow
    channels=36,
    cells=20,
    epochs=600,
    batch_size=96,
    rate=RateSchedule(learning_rate=0.025),
    optimization=Optimization(
        nesterov=False, weight_decay=3e-4, auxiliary_weight=0.4, drop_path_rate=0.2
    ),
    images=ImagePreparation(cutout=16, auto_augment=None),
)
NASBENCH301 = Recipe(
    # Zela et al. (2022, arXiv:2008.09777): how the cells of NAS-Bench-301 were trained. Not stated, and
    # taken from DARTS: weight of the auxiliary tower, gradient clip, linear drop path, no Nesterov.
    channels=32,
    cells=8,
    epochs=100,
    batch_size=96,
    validation=0.2,  # 40,000 and 10,000 of CIFAR-10; the last weights' accuracy on these is the number
    rate=RateSchedule(learning_rate=0.025, lowest_rate=1e-8),
    optimization=Optimization(
        nesterov=False, weight_decay=3e-4, auxiliary_weight=0.4, drop_path_rate=0.2
    ),
    images=ImagePreparation(cutout=16, mixup=0.2, auto_augment=None),
)
QUICK = Recipe(  # 5 cells: most of the time goes into the first stage, which has one of them
    channels=40,
    cells=5,
    epochs=24,  # 100 s on one H200
    batch_size=256,
    least_steps=1000,
    least_batches=20,
    rate=RateSchedule(learning_rate=0.3, warmup=0.15),
    optimization=Optimization(rate_by_step=True, weight_decay=5e-4, label_smoothing=0.1),
    images=ImagePreparation(cutout=0, auto_augment=None),
)

RECIPES = {
    "xnas-1500": PAPER,
    "imagenet-250": PAPER_ON_IMAGENET,
    "darts-600": PLAIN,
    "nasbench301": NASBENCH301,
    "quick": QUICK,
}

BY_DATASET = {
    "xnas-1500": {
        "svhn": replace(PAPER, images=replace(PAPER.images, auto_augment="svhn")),
        "cinic10": replace(PAPER, epochs=800),
        "freiburg": replace(
            PAPER,
            batch_size=16,
            images=ImagePreparation(cutout=16, auto_augment="imagenet", image_size=96, resize="pad"),
        ),
    },
}
"""Where the paper differs by dataset (Sec. 9.3); the policies of AutoAugment are those learned on the
most similar data, which the paper does not state."""


def recipe_for(name: str, dataset: str) -> Recipe:
    """The recipe of that name, as it applies to a dataset."""
    if name not in RECIPES:
        raise UnknownNameError(f"no recipe called {name!r}; {known_names(name, RECIPES)}")
    return BY_DATASET.get(name, {}).get(dataset, RECIPES[name])
