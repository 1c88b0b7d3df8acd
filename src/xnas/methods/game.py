"""What a method knows of the search that it is about to play, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

Accounting = Literal["update", "sample"]
Rate = Literal["paper", "matched", "matched-by-kind"] | float
"""A learning rate of mixtures: one that follows from the game, or a number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Game:
    """The search that a method is about to play.

    With several stages: the present one for a method that each stage makes afresh, all of them for one
    that lives on.
    """

    updates: int
    """Architecture steps in all: epochs x floor(d / batch)."""
    examples: int
    """Size of the validation half, d."""
    epochs: int
    """In which mixtures learn: those of a warm-up are not among them."""
    batch_size: int
    replications: Mapping[str, int]
    """Cells that share a mixture, by kind: r_c."""
    accounting: Accounting = "update"
    """Count one round per update, or one per sample and replica."""
    experts_lr: Rate | Mapping[str, Rate] = "matched"
    """One for all kinds of cell, or one for each, by kind."""
    reward_bound: float = 1.0
    relaxation: float = 1.0
    wipeout: bool = True
    logits_lr: float | None = None
    """Adam's rate for methods that learn logits; None: the method's own."""
    logits_weight_decay: float | None = None
    """Adam's weight decay for methods that learn logits; None: the method's own."""
    seed: int = 0
    rounds_per_epoch: int = 0
    """`updates` of one epoch."""
    operations: tuple[str, ...] = ()
    """Names of the experts, the columns of a mixture; empty for a supernet of no registered space."""
    edges: tuple[tuple[int, int], ...] = ()
    """Pairs (source, node), the rows of a mixture: node by node, sources rising."""
    kept_edges: int | None = None
    """Incoming edges that a node keeps at the end; None: all."""
    identities: Mapping[str, Tensor] = field(default_factory=dict, compare=False)
    """Mask (forecasters, experts) of the skip connections of stride 1, by kind of cell."""
    alive: Mapping[str, Tensor] = field(default_factory=dict, compare=False)
    """Mask (forecasters, experts) of the experts that the game begins with, by kind; empty: all.

    A method that a stage makes afresh keeps the others at weight 0.
    """
    stages: tuple[int, ...] = ()
    """Epochs of every stage of the search, as it will be played, with its warm-up; empty: one stage."""
    stage: int = 0
    """In which of them the method is made, from 0."""
    partial_channels: int = 1
    """K: of the channels of a cell the first C/K pass the experts, the others go by."""

    def rounds(self, kind: str) -> int:
        """Rounds that the experts of one kind of cell play: their horizon T."""
        if self.accounting == "update":
            return self.updates
        return self.updates * self.batch_size * self.replications[kind]
