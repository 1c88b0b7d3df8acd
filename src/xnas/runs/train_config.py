"""Settings of a training: what a user says, and what follows from the recipe where they say nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Literal

import torch

from xnas.errors import ConfigError
from xnas.runs.checks import require_kinds, require_least
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
from xnas.space.benchmark_network import BENCHMARK
from xnas.words import counted

MOST_CHANNELS = 1024
PAPERS_SIDE = 32  # of the images that a cutout is said for


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainOptions:
    """How to train. What is left open follows from the recipe, the data and the device."""

    recipe: str = "quick"
    """xnas-1500 and imagenet-250 (the paper's), darts-600 (the plain one that others use) or quick."""
    out: Path | None = None
    """Run folder; it must be new or empty. By default runs/train-DATA-NUMBER."""
    seed: int = 0
    """One seed for everything; it makes named streams for split, weights, order, augmentation."""
    device: str = "auto"
    """auto (a GPU if there is one), cpu, cuda or cuda:NUMBER."""
    epochs: int | None = None
    """Passes over the training images. By default the recipe's."""
    batch_size: int | None = None
    """By default the recipe's."""
    accumulate: int = 1
    """Parts of a batch that are computed one after another, where it does not fit into memory. Batch
    statistics are then those of the parts."""
    channels: int | None = None
    """Channels of the first cell. By default the recipe's."""
    cells: int | None = None
    """Cells of the network. By default the recipe's."""
    max_params: float | None = None
    """Pick the most channels whose network has no more parameters than this."""
    max_macs: float | None = None
    """Pick the most channels whose network needs no more multiply-accumulates an image than this."""
    network: Literal["cifar", "imagenet"] | None = None
    """Stem and sizes. By default the recipe's."""
    learning_rate: float | None = None
    """At the start. By default the recipe's."""
    weight_decay: float | None = None
    """By default the recipe's."""
    gradient_clip: float | None = None
    """On the norm of the gradient; 0 clips nothing. By default the recipe's."""
    label_smoothing: float | None = None
    """By default the recipe's."""
    auxiliary_weight: float | None = None
    """Weight of the auxiliary tower's loss; 0 builds none. By default the recipe's."""
    drop_path_rate: float | None = None
    """Share of edges dropped at the end of the training. By default the recipe's."""
    cutout: int | None = None
    """Side of the hole in each training image, for images of 32 pixels; 0 cuts none. By default the
    recipe's."""
    auto_augment: Literal["none", "cifar10", "svhn", "imagenet"] | None = None
    """Policy of AutoAugment. By default the recipe's."""
    average: float | None = None
    """Decay of a moving average of the weights, which is then kept instead of them; 0 for none."""
    validation: float = 0.0
    """Share of the training images held back: the best weights by them are kept too, in RUN/best. By
    default none, as in the paper: the last weights count."""
    backend: Literal["auto", "reference", "fused"] = "auto"
    """reference: plain eager steps; fused: channels-last and a captured step, on a GPU; auto: fused
    where there is a GPU."""
    compile: bool = False
    """Compile the cells; takes minutes at the start and pays in long trainings on a GPU."""
    precision: Literal["fp32", "bf16"] | None = None
    """bf16 computes in bfloat16 where that is safe. By default on a GPU."""
    image_size: int | None = None
    """Height and width of the images. By default the recipe's, or what fits their size."""
    data_dir: Path | None = None
    """Where datasets are looked for; also XNAS_DATA."""
    resize: Literal["crop", "pad", "stretch"] | None = None
    """How images of another shape get their size. By default crop; pad for freiburg."""
    use_val: bool | None = None
    """Let the images of a val part join those of train. By default for folders, not for cinic10."""
    fold: int | None = None
    """Fold of freiburg, 0 to 4. By default 0."""
    skip_bad_images: bool = False
    """Leave out image files that cannot be read, instead of stopping."""
    stream: bool | None = None
    """Leave the images of a folder in their files, or hold them in memory. By default by their size."""
    balance: bool = False
    """Draw every class equally often, however many images it has."""
    checkpoint_minutes: float = 10.0
    """Write a checkpoint inside an epoch when the last one is so old; 0 for one a step. There is one
    after every epoch."""
    quiet: bool = False
    """Print warnings and errors only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig(TrainOptions):
    """One training: how, and of which cell."""

    cell: str | Path | Genotype = "xnas"
    """A published cell's name, a preset, a genotype's file or a run folder."""

    def __post_init__(self) -> None:
        require_kinds(self)
        for name, least in (
            ("seed", 0),
            ("epochs", 1),
            ("batch_size", 2),
            ("accumulate", 1),
            ("channels", 1),
            ("image_size", 8),
            ("cutout", 0),
        ):
            require_least(name, getattr(self, name), least)
        for name in ("max_params", "max_macs", "learning_rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ConfigError(f"{name.replace('_', '-')} must be positive and finite, got {value}")
        for name in ("weight_decay", "gradient_clip", "auxiliary_weight", "checkpoint_minutes"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise ConfigError(f"{name.replace('_', '-')} must be 0 or more and finite, got {value}")
        for name in ("label_smoothing", "drop_path_rate", "average", "validation"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1:
                raise ConfigError(f"{name.replace('_', '-')} must lie in [0, 1), got {value}")
        if self.cutout is not None and self.cutout > PAPERS_SIDE:
            raise ConfigError(
                f"cutout must be at most {PAPERS_SIDE}, the side of the images that it is said for, got "
                f"{self.cutout}; the paper's is 16"
            )
        if self.channels is not None and (self.max_params is not None or self.max_macs is not None):
            raise ConfigError("give channels, or max-params and max-macs to pick them, not both")
        recipe_for(self.recipe, "")


def require_cells(config: TrainConfig, genotype: Genotype) -> None:
    """Raise for fewer cells than the network of a genotype needs, two of them reductions."""
    require_least("cells", config.cells, 1 if SPACES[genotype.space].as_string else 3)


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
    if SPACES[genotype.space].as_string:
        recipe = replace(
            recipe,
            channels=BENCHMARK.channels,
            cells=BENCHMARK.cells,
            auxiliary_weight=0.0,
            drop_path_rate=0.0,
        )
        notes.append("the benchmark's own network: no auxiliary tower, no drop path")
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
