"""Training recipes: every number of the paper's, of the plain one that others use, and a quick one.

A recipe may differ by dataset; `recipe_for` gives the one that applies. Nothing is adapted silently: a
run prints the recipe it follows and writes every number of it into its recipe.json.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xnas.errors import UnknownNameError
from xnas.registry import known_names


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """How a network is built and trained."""

    network: str = "cifar"
    channels: int
    cells: int
    epochs: int
    least_steps: int = 0
    """Small datasets are trained for more epochs, until these steps are made."""
    least_batches: int = 0
    """Of an epoch: batches are halved until there are so many, and the learning rate with them. 0 keeps
    batch and rate as they are."""
    batch_size: int
    learning_rate: float
    cycles: int = 1
    cycle_decay: float = 1.0
    power: float = 1.0
    lowest_rate: float = 0.0
    warmup: float = 0.0
    """Epochs in which the learning rate rises from nothing, as a share of all."""
    rate_by_step: bool = False
    nesterov: bool = True
    momentum: float = 0.9
    weight_decay: float
    gradient_clip: float = 5.0
    label_smoothing: float
    auxiliary_weight: float
    drop_path_rate: float
    cutout: int
    """Side of the hole, for images of 32 pixels; it grows with the images."""
    auto_augment: str | None
    resized_crop: bool = False
    """Random resized crops of 0.08 to 1 of the image, instead of padding and cropping."""
    average: float = 0.0
    image_size: int | None = None
    """Side to which images are brought; None takes them as they come."""
    crop_share: float = 1.0
    """Side of what the network sees, of the resized image's: of the random crops in training, of the
    central one in evaluation."""
    resize: str | None = None
    """Rule by which images get their size; None leaves it to the data."""


PAPER = Recipe(  # Sec. 9.3; the gradient clip is DARTS's
    channels=36,
    cells=20,
    epochs=1500,
    batch_size=96,
    learning_rate=0.025,
    cycles=5,
    cycle_decay=0.5,
    power=2.0,
    lowest_rate=1e-8,
    weight_decay=3e-4,
    label_smoothing=0.1,
    auxiliary_weight=0.4,
    drop_path_rate=0.2,
    cutout=16,
    auto_augment="cifar10",
)
PAPER_ON_IMAGENET = Recipe(
    # Sec. 9.3. Departure: the paper states no initial rate and no label smoothing; 0.5 is 0.1 for every
    # 256 images of a batch, 0.1 is DARTS's.
    network="imagenet",
    channels=46,
    cells=14,
    epochs=250,
    batch_size=1280,
    learning_rate=0.5,
    power=10.0,
    weight_decay=1e-4,
    label_smoothing=0.1,
    auxiliary_weight=0.4,
    drop_path_rate=0.0,
    cutout=0,
    auto_augment="imagenet",
    resized_crop=True,
    image_size=256,
    crop_share=224 / 256,
)
PLAIN = Recipe(  # DARTS's, which most papers on cells follow
    channels=36,
    cells=20,
    epochs=600,
    batch_size=96,
    learning_rate=0.025,
    nesterov=False,
    weight_decay=3e-4,
    label_smoothing=0.0,
    auxiliary_weight=0.4,
    drop_path_rate=0.2,
    cutout=16,
    auto_augment=None,
)
QUICK = Recipe(  # 5 cells: most of the time goes into the first stage, which has one of them
    channels=40,
    cells=5,
    epochs=24,  # 100 s on one H200
    least_steps=1000,
    least_batches=20,
    batch_size=256,
    learning_rate=0.3,
    warmup=0.15,
    rate_by_step=True,
    weight_decay=5e-4,
    label_smoothing=0.1,
    auxiliary_weight=0.0,
    drop_path_rate=0.0,
    cutout=0,
    auto_augment=None,
)

RECIPES = {"xnas-1500": PAPER, "imagenet-250": PAPER_ON_IMAGENET, "darts-600": PLAIN, "quick": QUICK}

BY_DATASET = {
    "xnas-1500": {
        "svhn": replace(PAPER, auto_augment="svhn"),
        "cinic10": replace(PAPER, epochs=800),
        "freiburg": replace(
            PAPER, batch_size=16, image_size=96, resize="pad", auto_augment="imagenet", cutout=16
        ),
    },
}
"""Where the paper differs by dataset (Sec. 9.3); the policies of AutoAugment are those learned on the
most similar data, which the paper does not state."""


def seen_size(recipe: Recipe, size: tuple[int, int]) -> tuple[int, int]:
    """Height and width of what the network sees of images of this size."""
    return round(recipe.crop_share * size[0]), round(recipe.crop_share * size[1])


def recipe_for(name: str, dataset: str) -> Recipe:
    """The recipe of that name, as it applies to a dataset."""
    if name not in RECIPES:
        raise UnknownNameError(f"no recipe called {name!r}; {known_names(name, RECIPES)}")
    return BY_DATASET.get(name, {}).get(dataset, RECIPES[name])
