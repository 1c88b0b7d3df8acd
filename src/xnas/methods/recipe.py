"""How a method's authors ran it: what a search takes where a user leaves a number open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from xnas.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """The protocol that a method was published with. None leaves a number to the package.

    A number that the user gives comes first, then the recipe's, then the package's own.
    """

    epochs: int | None = None
    """Of a method with stages, theirs count instead."""
    batch_size: int | None = None
    """Smaller where the images would give fewer than 20 rounds per epoch."""
    weights_lr: float | None = None
    """Of the network's weights, at the start."""
    final_weights_lr: float | None = None
    schedule: Callable[[int, int], float] | None = None
    """Of the rate: at an epoch from 0, of so many, how far it is above its last value, as a share of
    the whole fall. None: the cosine (1 + cos(π epoch / epochs)) / 2."""
    momentum: float | None = None
    nesterov: bool = False
    weight_decay: float | None = None
    gradient_clip: float | None = None
    """On the norm of the weights' gradient."""
    include_none: bool | None = None
    """Whether `none` is among the experts."""
    cells: int | None = None
    """Of the supernet; on nasbench201 per stage of the network."""
    channels: int | None = None
    skip_dropout: str | None = None
    """As `--skip-dropout`: a probability such as 0.5, or two such as 0.6:0."""
    halves: Literal[1, 2] = 2
    """2: weights and mixtures learn from different images. 1: both learn from all training images."""
    joint: bool = False
    """With halves = 1: one pass over one batch gives both gradients."""
    least_precision: Literal["bf16", "fp32"] = "bf16"
    """fp32 for methods that take differences of gradients."""
    partial_channels: int | None = None
    """K: 1/K of the channels pass the experts."""

    def __post_init__(self) -> None:
        if self.halves not in (1, 2):
            raise ConfigError(f"a recipe has 1 or 2 halves of the images, got {self.halves}")
        if self.joint and self.halves == 2:
            raise ConfigError(
                "a recipe with joint gradients takes them from one batch, which two halves do not have; "
                "set halves=1"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """A part of a search with a supernet of its own, trained by a new optimizer.

    What is not given stays as it was in the stage before; in the first, as the recipe has it.
    """

    epochs: int
    """As published; all stages are scaled alike if the user asks for other epochs."""
    cells: int | None = None
    channels: int | None = None
    experts: int | None = None
    """Experts with which each forecaster begins the stage: the strongest ones of the stage before, of
    equals the later columns. None: all that are alive. A method that is kept needs `wipe`."""
    partial_channels: int | None = None
    weights_lr: float | None = None
    """A rate of its own begins a schedule of its own, as fresh weights do; otherwise the schedule runs
    through."""
    final_weights_lr: float | None = None
    fresh_weights: bool = True
    """Whether the network is trained from new random weights; otherwise sizes must stay."""
    fresh_method: bool = True
    """Whether a new method learns this stage."""

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise ConfigError(f"a stage needs at least 1 epoch, got {self.epochs}")
        if self.experts is not None and self.experts < 1:
            raise ConfigError(f"a stage needs at least 1 expert per forecaster, got {self.experts}")
        sizes = (self.cells, self.channels, self.partial_channels)
        if not self.fresh_weights and sizes != (None, None, None):
            raise ConfigError(
                "a stage that keeps its weights keeps its sizes, got cells, channels and partial "
                f"channels {sizes}; leave them out, or set fresh_weights=True"
            )


NO_RECIPE = Recipe()
"""Leaves everything to the package."""
