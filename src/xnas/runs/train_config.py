"""Settings of a training: what a user says, and what follows from the recipe where they say nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import ClassVar, Literal

import torch

from xnas.data import DataOptions
from xnas.errors import ConfigError
from xnas.options import NOT_NEGATIVE, POSITIVE, SHARE, at_least, at_most, option, require_within
from xnas.runs.options import ComputeOptions, RunOptions
from xnas.runs.recipes import Recipe, recipe_for, seen_size
from xnas.space import (
    NETWORKS,
    PRESETS,
    SPACES,
    Genotype,
    build_network,
    count_macs,
    count_parameters,
    network_spec,
)
from xnas.words import counted

MOST_CHANNELS = 1024
PAPERS_SIDE = 32  # of the images that a cutout is said for


@dataclass(frozen=True, kw_only=True)
class TrainOptions(DataOptions, ComputeOptions, RunOptions):
    """How to train. What is left open follows from the recipe, the data and the device."""

    GROUP: ClassVar[str] = "Training"

    recipe: str = "quick"
    """Numbers to start from: quick, darts-600 (used by most papers on cells), xnas-1500 or imagenet-250
    (the paper's)."""
    epochs: int | None = option(None, at_least(1))
    """Passes over the training images. Default: the recipe's."""
    batch_size: int | None = option(None, at_least(2), at_most(1 << 20))
    """Images per step. Default: the recipe's."""
    accumulate: int = option(1, at_least(1))
    """Split each batch into this many parts that are computed one after another, to save memory. Batch
    statistics are then those of the parts."""
    learning_rate: float | None = option(None, POSITIVE)
    """Initial learning rate. Default: the recipe's."""
    weight_decay: float | None = option(None, NOT_NEGATIVE)
    """Default: the recipe's."""
    gradient_clip: float | None = option(None, NOT_NEGATIVE)
    """Largest norm of the gradient; 0 does not clip. Default: the recipe's."""
    label_smoothing: float | None = option(None, SHARE)
    """Default: the recipe's."""
    auxiliary_weight: float | None = option(None, NOT_NEGATIVE)
    """Weight of the auxiliary head's loss; 0 builds none. Default: the recipe's."""
    drop_path_rate: float | None = option(None, SHARE)
    """Share of edges dropped at the end of the training. Default: the recipe's."""
    cutout: int | None = option(None, at_least(0))
    """Side of the square cut out of each training image, given for 32-pixel images; 0 cuts none.
    Default: the recipe's."""
    auto_augment: Literal["none", "cifar10", "svhn", "imagenet"] | None = None
    """AutoAugment policy. Default: the recipe's."""
    average: float | None = option(None, SHARE)
    """Decay of a moving average of the weights, which is then saved instead of them; 0 for none.
    Default: the recipe's."""
    validation: float = option(0.0, SHARE)
    """Share of the training images that is held out to choose the best weights, saved in RUN/best.
    Default: none, as in the paper; the last weights count."""
    network: Literal["cifar", "imagenet"] | None = option(None, group="Network")
    """Stem and sizes. Default: the recipe's."""
    cells: int | None = option(None, at_most(1000), group="Network")
    """Cells of the network. Default: the recipe's."""
    channels: int | None = option(None, at_least(1), at_most(1 << 16), group="Network")
    """Channels of the first cell. Default: the recipe's."""
    max_params: float | None = option(None, POSITIVE, group="Network")
    """Choose the most channels whose network has at most this many parameters."""
    max_macs: float | None = option(None, POSITIVE, group="Network")
    """Choose the most channels whose network needs at most this many multiply-accumulates per image."""
    compile: bool = option(False, on_resume="change", group="Hardware")
    """Compile the cells. Takes minutes at the start; pays off in long trainings on a GPU."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig(TrainOptions):
    """One training: how, and of which cell."""

    cell: str | Path | Genotype = option("xnas", on_resume="free")
    """A published cell's name, a preset, a genotype's file or a run folder."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cutout is not None and self.cutout > PAPERS_SIDE:
            raise ConfigError(
                f"cutout is given for {PAPERS_SIDE}-pixel images and must be at most {PAPERS_SIDE}, got "
                f"{self.cutout}; the paper's is 16"
            )
        if self.channels is not None and (self.max_params is not None or self.max_macs is not None):
            raise ConfigError("give channels, or max-params and max-macs to pick them, not both")
        recipe_for(self.recipe, "")


def require_cells(config: TrainConfig, genotype: Genotype) -> None:
    """Raise for fewer cells than the network of a genotype needs, two of them reductions."""
    require_within("cells", config.cells, at_least(SPACES[genotype.space].defaults.least_cells))


def resolve_images(config: TrainConfig, dataset: str) -> TrainConfig:
    """Settings that say how the images of a dataset are to be loaded, as the recipe has it."""
    recipe = recipe_for(config.recipe, dataset)
    return replace(
        config,
        image_size=config.image_size or recipe.image_size,
        resize=config.resize or recipe.resize,  # type: ignore[arg-type]  # checked by the settings
    )


def resolve(
    config: TrainConfig,
    genotype: Genotype,
    *,
    dataset: str,
    examples: int,
    classes: int,
    shape: tuple[int, int, int],
    device: torch.device,
) -> tuple[TrainConfig, Recipe, list[str]]:
    """Settings with nothing left open, the recipe they amount to, and a line for each choice.

    `shape` is that of the images: channels, height and width.
    """
    recipe = recipe_for(config.recipe, dataset)
    if isinstance(config.cell, str) and config.cell in PRESETS:
        kind = NETWORKS[config.network or recipe.network]
        recipe = replace(recipe, channels=PRESETS[config.cell], cells=kind.cells)
    notes = []
    if not SPACES[genotype.space].defaults.recipe_sizes:
        own = network_spec(genotype.space, config.network or recipe.network)
        recipe = replace(
            recipe,
            channels=own.channels,
            cells=own.cells,
            auxiliary_weight=0.0,
            drop_path_rate=0.0,
        )
        notes.append(f"the network of the space {genotype.space}: no auxiliary tower, no drop path")
    changed = {
        name: getattr(config, name)
        for name in (f.name for f in fields(Recipe))
        if getattr(config, name, None) is not None
    }
    if changed.get("auto_augment") == "none":
        changed["auto_augment"] = None
    recipe = replace(recipe, **changed | {"image_size": config.image_size, "resize": config.resize})
    recipe = _fitting_batch(config, recipe, examples, notes)
    if examples < recipe.batch_size:
        raise ConfigError(
            f"batch of {recipe.batch_size}, but only {examples} training images; use a smaller "
            "--batch-size"
        )
    if recipe.batch_size % config.accumulate:
        raise ConfigError(
            f"a batch of {recipe.batch_size} cannot be cut into {config.accumulate} equal parts; use a "
            "--batch-size that --accumulate divides"
        )
    if recipe.batch_size == config.accumulate:
        raise ConfigError(
            f"a batch of {recipe.batch_size} in {config.accumulate} parts leaves 1 image a part, which "
            "has no batch statistics; use fewer parts with --accumulate"
        )
    steps = examples // recipe.batch_size
    if config.epochs is None and recipe.epochs * steps < recipe.least_steps:
        recipe = replace(recipe, epochs=math.ceil(recipe.least_steps / steps))
        notes.append(f"{recipe.epochs} epochs: {recipe.epochs * steps} steps from {examples} images")
    if config.max_params is not None or config.max_macs is not None:
        seen = (shape[0], *seen_size(recipe, shape[1:]))
        recipe = replace(recipe, channels=_channels(config, recipe, genotype, classes, seen))
        notes.append(f"{recipe.channels} channels, the most within the limits")
    gpu = device.type == "cuda"
    backend = config.backend if config.backend != "auto" else "fused" if gpu else "reference"
    if backend == "fused" and not gpu:
        raise ConfigError("backend fused needs a GPU; use --backend reference or auto")
    resolved = replace(
        config,
        **{f.name: getattr(recipe, f.name) for f in fields(Recipe) if hasattr(config, f.name)}
        | {"auto_augment": recipe.auto_augment or "none"},
        max_params=None,
        max_macs=None,
        precision=config.precision or ("bf16" if gpu else "fp32"),
        backend=backend,
    )
    return resolved, recipe, notes


SMALLEST_BATCH = 16


def _fitting_batch(config: TrainConfig, recipe: Recipe, examples: int, notes: list[str]) -> Recipe:
    """Smaller batches for few images, where the recipe allows it; the rate goes with the batch."""
    if not recipe.least_batches:
        return recipe
    usual = recipe_for(config.recipe, "").batch_size
    batch = recipe.batch_size
    if config.batch_size is None:
        while batch > SMALLEST_BATCH and examples // batch < recipe.least_batches:
            batch //= 2
    if batch == usual:
        return recipe
    rate = recipe.learning_rate if config.learning_rate else recipe.learning_rate * batch / usual
    steps = counted(examples // batch, "step")
    notes.append(f"batch {batch}, learning rate {rate:.3g}: {steps} an epoch")
    return replace(recipe, batch_size=batch, learning_rate=rate)


def _channels(
    config: TrainConfig,
    recipe: Recipe,
    genotype: Genotype,
    classes: int,
    shape: tuple[int, int, int],
) -> int:
    """The most even channels whose network stays within the limits; costs grow with channels."""
    spec = network_spec(genotype.space, recipe.network).but(
        num_classes=classes, in_chans=shape[0], cells=recipe.cells
    )

    def fits(channels: int) -> bool:
        with torch.device("meta"):
            model = build_network(genotype, spec.but(channels=channels))
        within = config.max_params is None or count_parameters(model) <= config.max_params
        return within and (config.max_macs is None or count_macs(model, shape) <= config.max_macs)

    if not fits(2):
        given = {"max-params": config.max_params, "max-macs": config.max_macs}
        limits = [f"{name} {value:.7g}" for name, value in given.items() if value is not None]
        raise ConfigError(
            f"no network of {recipe.cells} cells is within {' and '.join(limits)}; raise "
            f"{'it' if len(limits) == 1 else 'them'}, or use fewer --cells"
        )
    least, most = 1, MOST_CHANNELS // 2
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if fits(2 * middle) else (least, middle - 1)
    return 2 * least
