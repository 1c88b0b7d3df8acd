"""The plan of a training: recipe and options merged, everything left open decided, in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import torch

from xnas.engine.train import TrainSettings
from xnas.errors import ConfigError
from xnas.options import changed
from xnas.runs.channels import channels_within
from xnas.runs.limits import UNLIMITED
from xnas.runs.recipes import Recipe, recipe_for
from xnas.runs.train_config import TrainConfig
from xnas.space import (
    NETWORKS,
    PRESETS,
    Architecture,
    NetworkSpec,
    network_spec,
)
from xnas.words import counted

SMALLEST_BATCH = 16

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainPlan:
    """What a training will do, with nothing left open."""

    options: TrainConfig
    """The user's options; read those from here that always have a value."""
    recipe: Recipe
    """The recipe that they amount to."""
    network: NetworkSpec
    steps_per_epoch: int
    backend: Literal["reference", "captured", "fused"]
    precision: Literal["fp32", "bf16"]
    notes: tuple[str, ...] = ()
    """A line for each choice."""

    @property
    def config(self) -> TrainConfig:
        """The options with every choice filled in, as config.json records them."""
        recipe, learning, images = self.recipe, self.recipe.optimization, self.recipe.images
        return changed(
            self.options,
            network=recipe.network,
            channels=recipe.channels,
            cells=recipe.cells,
            epochs=recipe.epochs,
            batch_size=recipe.batch_size,
            learning_rate=recipe.rate.learning_rate,
            weight_decay=learning.weight_decay,
            gradient_clip=learning.gradient_clip,
            label_smoothing=learning.label_smoothing,
            auxiliary_weight=learning.auxiliary_weight,
            drop_path_rate=learning.drop_path_rate,
            average=learning.average,
            validation=recipe.validation,
            cutout=images.cutout,
            mixup=images.mixup,
            auto_augment=images.auto_augment or "none",
            image_size=images.image_size,
            resize=images.resize,
            precision=self.precision,
            backend=self.backend,
            **UNLIMITED,
        )

    @property
    def settings(self) -> TrainSettings:
        """What the engine needs of it."""
        return TrainSettings(
            epochs=self.recipe.epochs,
            steps_per_epoch=self.steps_per_epoch,
            schedule=self.recipe.rate.over(self.recipe.epochs, self.steps_per_epoch),
            optimization=self.recipe.optimization,
            accumulate=self.options.accumulate,
            autocast=self.precision == "bf16",
        )


def resolve(
    options: TrainConfig,
    architecture: Architecture,
    *,
    dataset: str,
    examples: int,
    classes: int,
    shape: tuple[int, int, int],
    device: torch.device,
) -> TrainPlan:
    """Merge the options with their recipe, and decide everything that both leave open.

    `examples` are the training images, `shape` is theirs: channels, height and width.
    """
    recipe, notes = _merged(options, architecture, dataset)
    recipe, lines = _fitting_batch(options, recipe, examples)
    notes += lines
    _require_divisible(recipe.batch_size, options.accumulate, examples)
    steps = examples // recipe.batch_size
    if options.epochs is None and recipe.epochs * steps < recipe.least_steps:
        recipe = replace(recipe, epochs=math.ceil(recipe.least_steps / steps))
        notes.append(f"{recipe.epochs} epochs: {recipe.epochs * steps} steps from {examples} images")
    spec = network_spec(architecture, recipe.network).but(
        num_classes=classes,
        in_chans=shape[0],
        channels=recipe.channels,
        cells=recipe.cells,
        auxiliary=recipe.optimization.auxiliary_weight > 0,
        drop_path_rate=recipe.optimization.drop_path_rate,
    )
    if options.limited:
        seen = (shape[0], *recipe.images.seen(shape[1:]))
        channels, note = channels_within(options, spec, architecture, seen, device)
        recipe, spec = replace(recipe, channels=channels), spec.but(channels=channels)
        notes += [note] if note else []
    gpu = device.type == "cuda"
    backend = options.backend
    if backend == "auto":
        backend = "fused" if gpu else "reference"
    if backend != "reference" and not gpu:
        raise ConfigError(f"backend {backend} needs a GPU; use --backend reference or auto")
    return TrainPlan(
        options=options,
        recipe=recipe,
        network=spec,
        steps_per_epoch=steps,
        backend=backend,
        precision=options.precision or ("bf16" if gpu else "fp32"),
        notes=tuple(notes),
    )


def _network_name(options: TrainConfig, recipe: Recipe, architecture: Architecture) -> str:
    """The user's network, else the recipe's, else the first of a space that has networks of its own."""
    if options.network is not None:
        return options.network
    names = architecture.defaults.networks
    return next(iter(names)) if NETWORKS.keys().isdisjoint(names) else recipe.network


def _merged(options: TrainConfig, architecture: Architecture, dataset: str) -> tuple[Recipe, list[str]]:
    """The recipe for the dataset and the cell, with the user's numbers in place of its own."""
    recipe, notes = recipe_for(options.recipe, dataset), []
    recipe = replace(recipe, network=_network_name(options, recipe, architecture))
    kind = network_spec(architecture, recipe.network)
    if isinstance(options.cell, str) and options.cell in PRESETS:
        recipe = replace(recipe, channels=PRESETS[options.cell], cells=kind.cells)
    if not architecture.defaults.recipe_sizes:
        rate = kind.drop_path_rate
        plain = replace(recipe.optimization, auxiliary_weight=0.0, drop_path_rate=rate)
        recipe = replace(recipe, channels=kind.channels, cells=kind.cells, optimization=plain)
        drops = f"edges dropped at rate {rate:g}" if rate else "no drop path"
        notes.append(f"the network of {architecture.origin}: no auxiliary tower, {drops}")
    own, images = recipe.optimization, recipe.images
    policy = _given(options.auto_augment, images.auto_augment or "none")
    merged = replace(
        recipe,
        channels=_given(options.channels, recipe.channels),
        cells=_given(options.cells, recipe.cells),
        epochs=_given(options.epochs, recipe.epochs),
        batch_size=_given(options.batch_size, recipe.batch_size),
        validation=held_out_share(options, dataset),
        rate=replace(
            recipe.rate, learning_rate=_given(options.learning_rate, recipe.rate.learning_rate)
        ),
        optimization=replace(
            own,
            weight_decay=_given(options.weight_decay, own.weight_decay),
            gradient_clip=_given(options.gradient_clip, own.gradient_clip),
            label_smoothing=_given(options.label_smoothing, own.label_smoothing),
            auxiliary_weight=_given(options.auxiliary_weight, own.auxiliary_weight),
            drop_path_rate=_given(options.drop_path_rate, own.drop_path_rate),
            average=_given(options.average, own.average),
        ),
        images=replace(
            images,
            cutout=_given(options.cutout, images.cutout),
            mixup=_given(options.mixup, images.mixup),
            auto_augment=None if policy == "none" else policy,
            image_size=options.image_size,  # those that the images were loaded with
            resize=options.resize,
        ),
    )
    return merged, notes


def held_out_share(options: TrainConfig, dataset: str) -> float:
    """Share of the training images that a training on a dataset holds out."""
    return _given(options.validation, recipe_for(options.recipe, dataset).validation)


def _given(value: T | None, otherwise: T) -> T:
    return otherwise if value is None else value


def _fitting_batch(options: TrainConfig, recipe: Recipe, examples: int) -> tuple[Recipe, list[str]]:
    """Smaller batches for few images, where the recipe allows it; the rate is scaled with the batch."""
    if not recipe.least_batches:
        return recipe, []
    usual = recipe_for(options.recipe, "").batch_size
    batch, rate = recipe.batch_size, recipe.rate.learning_rate
    if options.batch_size is None:
        while batch > SMALLEST_BATCH and examples // batch < recipe.least_batches:
            batch //= 2
    if batch == usual:
        return recipe, []
    rate = rate if options.learning_rate else rate * batch / usual
    fitting = replace(recipe, batch_size=batch, rate=replace(recipe.rate, learning_rate=rate))
    steps = counted(examples // batch, "step")
    return fitting, [f"batch {batch}, learning rate {rate:.3g}: {steps} per epoch"]


def _require_divisible(batch: int, parts: int, examples: int) -> None:
    if examples < batch:
        raise ConfigError(
            f"batch of {batch}, but only {examples} training images; use a smaller --batch-size"
        )
    if batch % parts:
        raise ConfigError(
            f"a batch of {batch} cannot be cut into {parts} equal parts; use a --batch-size that "
            "--accumulate divides"
        )
    if batch == parts:
        raise ConfigError(
            f"a batch of {batch} in {parts} parts leaves 1 image per part, which has no batch "
            "statistics; use fewer parts with --accumulate"
        )
