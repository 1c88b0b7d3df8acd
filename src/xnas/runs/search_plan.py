"""The plan of a search: every option that the user left open is decided here, and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Literal

import torch

from xnas.errors import ConfigError
from xnas.methods import METHODS, Recipe, Stage
from xnas.runs.search_config import SearchConfig, parse_skip_dropout
from xnas.runs.stage_plan import StagePlan, plan_stages
from xnas.space import SPACES
from xnas.space.guards import OVERFITS_BELOW, UNGUARDED, Guards

LEAST_ROUNDS = 1000
PAPERS_EPOCHS = 50
ROUNDS_PER_EPOCH = 20
LARGEST_BATCH = 96
WEIGHTS_LR = 0.025
SIZES = ("cells", "channels", "partial_channels")


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchPlan:
    """What a search will do, with nothing left open."""

    options: SearchConfig
    """The user's options; read those from here that always have a value."""
    epochs: int
    batch_size: int
    cells: int
    channels: int
    partial_channels: int
    """K: 1/K of the channels pass the experts."""
    weights_lr: float
    single_level: bool
    experts_lr: str | float
    relaxation: float
    guards: Guards
    include_none: bool
    auto_augment: bool
    backend: Literal["reference", "captured", "fused"]
    """Of an automatic choice the best for the device; `fuse_if_possible` may step back from it."""
    precision: Literal["fp32", "bf16"]
    recipe: Recipe
    """The method's own, for numbers that no option sets."""
    stages: tuple[StagePlan, ...]
    """One, unless the method has several."""
    notes: tuple[str, ...] = ()
    """A line for each choice."""

    @property
    def config(self) -> SearchConfig:
        """The options with every choice filled in."""
        return replace(
            self.options,
            epochs=self.epochs,
            batch_size=self.batch_size,
            cells=self._size("cells"),
            channels=self._size("channels"),
            partial_channels=self._size("partial_channels"),
            weights_lr=self.weights_lr,
            single_level=self.single_level,
            experts_lr=self.experts_lr,
            relaxation=self.relaxation,
            include_none=self.include_none,
            auto_augment=self.auto_augment,
            backend=self.backend,
            precision=self.precision,
            **asdict(self.guards),
        )

    def _size(self, name: str) -> int | None:
        """A size as the user gave it where stages change it, as a given one would hold for all."""
        alike = len({getattr(stage, name) for stage in self.stages}) == 1
        size: int | None = getattr(self if alike else self.options, name)
        return size

    @property
    def warmup_epochs(self) -> int:
        """Whole epochs of warm-up; at least one epoch is left to learn in."""
        return min(round(self.guards.warmup * self.epochs), self.epochs - 1)

    @property
    def skip_dropout_range(self) -> tuple[float, float]:
        """Skip dropout in the first and in the last epoch."""
        return parse_skip_dropout(self.guards.skip_dropout)


def resolve(options: SearchConfig, *, examples: int, device: torch.device) -> SearchPlan:
    """Decide everything that the options leave open: by the method's recipe, else by our own rules.

    `examples` is the number of images that mixtures learn from, or weights if those are fewer.
    """
    notes: list[str] = []
    method = METHODS[options.method]
    recipe, published = method.recipe_on(options.space), method.stages_on(options.space)
    batch = _batch_size(options, recipe, examples, notes)
    epochs = _epochs(options, recipe, published, examples // batch, notes)
    gpu = device.type == "cuda"
    usual = SPACES[options.space].defaults
    stages = plan_stages(
        published,
        epochs=epochs,
        cells=options.cells or recipe.cells or usual.cells(gpu=gpu),
        channels=options.channels or recipe.channels or usual.channels(gpu=gpu),
        partial_channels=options.partial_channels or recipe.partial_channels or 1,
        weights_lr=options.weights_lr or recipe.weights_lr or WEIGHTS_LR,
        final_weights_lr=recipe.final_weights_lr,
        given=[name for name in SIZES if getattr(options, name) is not None],
    )
    first = stages[0]
    if options.cells is None or options.channels is None:
        whose = f"for a {'GPU' if gpu else 'CPU'}"
        if recipe.cells or recipe.channels or len(stages) > 1:
            whose = f"of the method {options.method}"
        notes.append(f"{first.cells} {usual.cells_unit} of {first.channels} channels, {whose}")
    if len(stages) > 1:
        notes.append(f"{len(stages)} stages of {', '.join(str(s.span.epochs) for s in stages)} epochs")
    backend = options.backend
    if backend == "auto":
        backend = "fused" if gpu else "reference"
    if backend == "captured" and not gpu:
        raise ConfigError("backend captured needs a GPU; use --backend reference or auto")
    plan = SearchPlan(
        options=options,
        epochs=epochs,
        batch_size=batch,
        cells=first.cells,
        channels=first.channels,
        partial_channels=first.partial_channels,
        weights_lr=first.weights_lr,
        single_level=is_single_level(options),
        experts_lr=options.experts_lr or ("paper" if options.faithful else "matched"),
        relaxation=options.relaxation or 1.0,
        guards=_guards(options, recipe, examples, notes),
        include_none=none_by_default(options) if options.include_none is None else options.include_none,
        auto_augment=options.faithful if options.auto_augment is None else options.auto_augment,
        backend=backend,
        precision=_precision(options, recipe, bf16=gpu and backend != "reference"),
        recipe=recipe,
        stages=stages,
        notes=tuple(notes),
    )
    _require_learning(plan)
    return plan


def _require_learning(plan: SearchPlan) -> None:
    """Raise if the warm-up leaves the method of the first stage no epoch to learn in."""
    first, warm = plan.stages[0].game.epochs, plan.warmup_epochs
    if warm >= first:
        most = math.floor(1000 * (first - 0.5) / plan.epochs) / 1000  # shares of epochs are rounded
        raise ConfigError(
            f"a warm-up of {warm} epochs leaves nothing of the first stage, which has {first}; use a "
            f"--warmup below {most:g}"
        )


def is_single_level(options: SearchConfig) -> bool:
    """Whether weights and mixtures learn from the same images."""
    if options.single_level is not None:
        return options.single_level
    return METHODS[options.method].recipe_on(options.space).halves == 1


def _guarded(options: SearchConfig) -> bool:
    """Whether the guards of the space are on unless the user says otherwise."""
    return METHODS[options.method].guarded and not options.faithful


def _guards(options: SearchConfig, recipe: Recipe, examples: int, notes: list[str]) -> Guards:
    """The guards that the user set; the others are the space's if the method has them, else its own."""
    guarded, measures = _guarded(options), METHODS[options.method].measures
    usual = SPACES[options.space].defaults.guards if guarded else UNGUARDED
    if recipe.skip_dropout is not None and not options.faithful:
        usual = replace(usual, skip_dropout=recipe.skip_dropout)
    if guarded and examples < OVERFITS_BELOW and not usual.best_temperature:
        usual = replace(usual, best_temperature=True)
        if options.best_temperature is None:
            notes.append(f"rewards at the best temperature, as {examples} images are few")
    if measures:
        usual = replace(usual, edges="share")
    if measures and options.edges == "absence":
        raise ConfigError(
            f"the method {options.method} chooses edges by measurements of its own; leave out "
            "--edges absence"
        )
    given = {guard.name: getattr(options, guard.name) for guard in fields(Guards)}
    return replace(usual, **{name: value for name, value in given.items() if value is not None})


def none_by_default(options: SearchConfig) -> bool:
    """Whether `none` is in the space by default: if the method's recipe or the benchmark has it."""
    of_recipe = METHODS[options.method].recipe_on(options.space).include_none
    if of_recipe is not None:
        return of_recipe
    return options.faithful and SPACES[options.space].defaults.none_if_faithful


def _batch_size(options: SearchConfig, recipe: Recipe, examples: int, notes: list[str]) -> int:
    """The user's, or as many images as give about 20 rounds per epoch, up to the recipe's."""
    batch = options.batch_size
    if batch is None:
        most = recipe.batch_size or LARGEST_BATCH
        batch = max(8, min(most, examples // ROUNDS_PER_EPOCH // 8 * 8))
        notes.append(f"batch size {batch}: {examples // batch} rounds per epoch from {examples} images")
    if examples < batch:
        where = "all" if is_single_level(options) else "in a half"
        raise ConfigError(
            f"batch of {batch}, but only {examples} images {where}; use a smaller --batch-size"
        )
    return batch


def _epochs(
    options: SearchConfig, recipe: Recipe, stages: Sequence[Stage], rounds: int, notes: list[str]
) -> int:
    if options.epochs is not None:
        return options.epochs
    published = sum(stage.epochs for stage in stages) or recipe.epochs
    if published is not None:
        notes.append(f"{published} epochs: {published * rounds} rounds (the method's)")
        return published
    usual = SPACES[options.space].defaults.epochs if _guarded(options) else PAPERS_EPOCHS
    epochs = max(usual, math.ceil(LEAST_ROUNDS / rounds))
    notes.append(f"{epochs} epochs: {epochs * rounds} rounds (at least {LEAST_ROUNDS})")
    return epochs


def _precision(options: SearchConfig, recipe: Recipe, *, bf16: bool) -> Literal["fp32", "bf16"]:
    """The user's, unless the method needs a better one; a faithful search has the paper's fp32."""
    bf16 = bf16 and not options.faithful
    if recipe.least_precision == "bf16":
        return options.precision or ("bf16" if bf16 else "fp32")
    if options.precision == "bf16":
        raise ConfigError(
            f"the method {options.method} takes differences of gradients, which bf16 rounds away; use "
            "--precision fp32"
        )
    return "fp32"
