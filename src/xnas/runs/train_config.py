"""Options of a training; `train_plan` merges them with a recipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, get_type_hints

from xnas.data_options import LARGEST_ALPHA, Policy
from xnas.errors import ConfigError
from xnas.options import (
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    at_least,
    at_most,
    changed,
    option,
    require_within,
)
from xnas.runs.options import ImageRunOptions

if TYPE_CHECKING:  # --help does without torch
    from xnas.runs.results import SampleResult, SearchResult
    from xnas.space import Architecture, Genotype, Wiring

Trained = TypeVar("Trained", bound="TrainOptions")

PAPERS_SIDE = 32  # of the images that a cutout is said for


@dataclass(frozen=True, kw_only=True)
class TrainOptions(ImageRunOptions):
    """How to train. What is left open follows from the recipe, the data and the device."""

    GROUP: ClassVar[str] = "Training"

    recipe: str = "quick"
    """Training settings to start from: quick (short), darts-600 (used by most papers on cells),
    nasbench301 (the benchmark's own), xnas-1500 or imagenet-250 (the paper's)."""
    epochs: int | None = option(None, at_least(1))
    """Passes over the training images. Default: the recipe's."""
    batch_size: int | None = option(None, at_least(2), at_most(1 << 20))
    """Images per step. Default: the recipe's."""
    accumulate: int = option(1, at_least(1))
    """Split each batch into this many parts, computed one after another to save memory (gradient
    accumulation). Batch norm then sees each part alone."""
    learning_rate: float | None = option(None, POSITIVE)
    """Initial learning rate. Default: the recipe's."""
    weight_decay: float | None = option(None, NOT_NEGATIVE)
    """Weight decay of the optimizer. Default: the recipe's."""
    gradient_clip: float | None = option(None, NOT_NEGATIVE)
    """Clip the gradient to this norm; 0: no clipping. Default: the recipe's."""
    label_smoothing: float | None = option(None, SHARE)
    """Label smoothing of the loss; 0: none. Default: the recipe's."""
    auxiliary_weight: float | None = option(None, NOT_NEGATIVE)
    """Weight of the auxiliary head's loss; 0: no head. Default: the recipe's."""
    drop_path_rate: float | None = option(None, SHARE)
    """Probability of dropping an edge (drop path), as reached at the end of the training; 0: none.
    Default: the recipe's."""
    cutout: int | None = option(None, at_least(0))
    """Side in pixels of the square cut out of each training image, for images of 32 pixels and scaled
    for others; 0: none. Default: the recipe's."""
    mixup: float | None = option(None, NOT_NEGATIVE, at_most(LARGEST_ALPHA))
    """Mix each training image with another one, weighted by a draw from Beta(MIXUP, MIXUP); 0: none.
    Training accuracy then weights each prediction by its label's share. Default: the recipe's."""
    auto_augment: Literal["none", Policy] | None = None
    """AutoAugment policy. Those that end in -original use the magnitudes of the policies' published
    code, the others torchvision's. Default: the recipe's."""
    average: float | None = option(None, SHARE)
    """Decay of an exponential moving average (EMA) of the weights, such as 0.999, which is then saved
    instead of them; 0: none. Default: the recipe's."""
    validation: float | None = option(None, SHARE)
    """Fraction of the training images held out to choose the best weights, saved in RUN/best. The test
    at the end uses the last weights. Default: the recipe's, 0.2 for nasbench301 and none for the
    others."""
    network: str | None = option(None, group="Network")
    """Network layout (stem and stages): cifar, imagenet, or another of the cell's search space. Default:
    the recipe's, or the first of a space that has neither."""
    cells: int | None = option(None, at_most(1000), group="Network")
    """Cells of the network. Default: the recipe's."""
    channels: int | None = option(None, at_least(1), at_most(1 << 16), group="Network")
    """Channels of the first cell. Default: the recipe's."""
    compile: bool = option(False, on_resume="change", group="Hardware")
    """Compile the cells with torch.compile. Takes minutes at the start; pays off in long trainings on a
    GPU."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig(TrainOptions):
    """Options of one training and the cell that is trained. Those left open follow from the recipe.

    >>> TrainConfig(cell="xnas", recipe="quick", epochs=2).recipe
    'quick'
    """

    cell: str | Path | Genotype | Wiring | SearchResult | SampleResult = option("xnas", on_resume="free")
    """A published cell's name, a preset, a wiring's name, a file of either, a run folder or what a
    search returned."""

    def __post_init__(self) -> None:
        if not isinstance(self.cell, str | Path):
            object.__setattr__(self, "cell", _cell_of(self.cell))
        super().__post_init__()
        if self.cutout is not None and self.cutout > PAPERS_SIDE:
            raise ConfigError(
                f"cutout is given for {PAPERS_SIDE}-pixel images and must be at most {PAPERS_SIDE}, got "
                f"{self.cutout}; the paper's is 16"
            )
        from xnas.runs.recipes import recipe_for  # noqa: PLC0415 - imports torch

        recipe_for(self.recipe, "")

    @classmethod
    def _types(cls) -> dict[str, Any]:
        from xnas.runs.results import SampleResult, SearchResult  # noqa: PLC0415 - imports torch
        from xnas.space import Genotype, Wiring  # noqa: PLC0415 - imports torch

        known = (Genotype, Wiring, SampleResult, SearchResult)
        return get_type_hints(cls, localns={kind.__name__: kind for kind in known})


def _cell_of(cell: object) -> object:
    """The run folder of what a search returned, or its genotype if that folder is gone."""
    from xnas.runs.results import SampleResult, SearchResult  # noqa: PLC0415 - imports torch

    if not isinstance(cell, SampleResult | SearchResult):
        return cell
    folder = Path(cell.out)
    return folder if (folder / "genotype.json").exists() else cell.genotype


def require_cells(config: TrainConfig, architecture: Architecture) -> None:
    """Raise for fewer cells than the network of an architecture needs."""
    require_within("cells", config.cells, at_least(architecture.defaults.least_cells))


def resolve_images(config: Trained, dataset: str) -> Trained:
    """Settings that say how the images of a dataset are to be loaded, as the recipe has it."""
    from xnas.runs.recipes import recipe_for  # noqa: PLC0415 - imports torch

    recipe = recipe_for(config.recipe, dataset)
    return changed(
        config,
        image_size=config.image_size or recipe.images.image_size,
        resize=config.resize or recipe.images.resize,
    )
