"""The plan of a search: every option that the user left open is decided here, and nowhere else."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Literal

import torch

from xnas.errors import ConfigError
from xnas.runs.search_config import SearchConfig, parse_skip_dropout
from xnas.space import SPACES
from xnas.space.guards import UNGUARDED, Guards

LEAST_ROUNDS = 1000
PAPERS_EPOCHS = 50
ROUNDS_PER_EPOCH = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchPlan:
    """What a search will do, with nothing left open."""

    options: SearchConfig
    """The user's options; read those from here that always have a value."""
    epochs: int
    batch_size: int
    cells: int
    channels: int
    experts_lr: Literal["paper", "matched"] | float
    relaxation: float
    guards: Guards
    include_none: bool
    auto_augment: bool
    backend: Literal["reference", "fused"]
    """Of an automatic choice the best for the device; `fuse_if_possible` may step back from it."""
    precision: Literal["fp32", "bf16"]
    notes: tuple[str, ...] = ()
    """A line for each choice."""

    @property
    def config(self) -> SearchConfig:
        """The options with every choice filled in, as config.json records them."""
        return replace(
            self.options,
            epochs=self.epochs,
            batch_size=self.batch_size,
            cells=self.cells,
            channels=self.channels,
            experts_lr=self.experts_lr,
            relaxation=self.relaxation,
            include_none=self.include_none,
            auto_augment=self.auto_augment,
            backend=self.backend,
            precision=self.precision,
            **asdict(self.guards),
        )

    @property
    def warmup_epochs(self) -> int:
        """Whole epochs of warm-up; at least one epoch is left to learn in."""
        return min(round(self.guards.warmup * self.epochs), self.epochs - 1)

    @property
    def skip_dropout_range(self) -> tuple[float, float]:
        """Skip dropout in the first and in the last epoch."""
        return parse_skip_dropout(self.guards.skip_dropout)


def resolve(options: SearchConfig, *, examples: int, device: torch.device) -> SearchPlan:
    """Decide everything that the options leave open.

    `examples` is the size of the smaller half of the training images.
    """
    notes = []
    gpu = device.type == "cuda"
    batch = options.batch_size
    if batch is None:
        batch = max(8, min(96, examples // ROUNDS_PER_EPOCH // 8 * 8))
        notes.append(f"batch size {batch}: {examples // batch} rounds per epoch from {examples} images")
    if examples < batch:
        raise ConfigError(
            f"batch of {batch}, but only {examples} images in a half; use a smaller --batch-size"
        )
    rounds = examples // batch
    usual = SPACES[options.space].defaults
    guarded = options.method == "xnas" and not options.faithful
    epochs = options.epochs
    if epochs is None:
        epochs = max(usual.epochs if guarded else PAPERS_EPOCHS, math.ceil(LEAST_ROUNDS / rounds))
        notes.append(f"{epochs} epochs: {epochs * rounds} rounds (at least {LEAST_ROUNDS})")
    cells = options.cells or usual.cells(gpu=gpu)
    channels = options.channels or usual.channels(gpu=gpu)
    if options.cells is None or options.channels is None:
        where = "GPU" if gpu else "CPU"
        notes.append(f"{cells} {usual.cells_unit} of {channels} channels, for a {where}")
    fused = options.backend == "fused" or (options.backend == "auto" and gpu)
    return SearchPlan(
        options=options,
        epochs=epochs,
        batch_size=batch,
        cells=cells,
        channels=channels,
        experts_lr=options.experts_lr or ("paper" if options.faithful else "matched"),
        relaxation=options.relaxation or 1.0,
        guards=_guards(options, usual.guards if guarded else UNGUARDED),
        include_none=none_by_default(options) if options.include_none is None else options.include_none,
        auto_augment=options.faithful if options.auto_augment is None else options.auto_augment,
        backend="fused" if fused else "reference",
        precision=options.precision or ("bf16" if fused and gpu else "fp32"),
        notes=tuple(notes),
    )


def _guards(options: SearchConfig, usual: Guards) -> Guards:
    """The guards that the user set; the others are the usual ones."""
    given = {guard.name: getattr(options, guard.name) for guard in fields(Guards)}
    return replace(usual, **{name: value for name, value in given.items() if value is not None})


def none_by_default(options: SearchConfig) -> bool:
    """Whether `none` is in the space by default: DARTS and the benchmark have it."""
    return options.method == "darts" or (
        options.faithful and SPACES[options.space].defaults.none_if_faithful
    )
