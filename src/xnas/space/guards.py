"""Guards against collapse that a search uses by default; a search space has its own.

A supernet leans on the operations that are easy to train, and rewards follow. Each guard takes one cause
away. None of them is in the paper, so each is a `Departure:`, and a faithful search has none. What they
change was measured (docs/results.md, "What helps on the DARTS space"); no single setting was found that
suits every space. With few images every space has one guard more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Edges = Literal["absence", "share"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Guards:
    """What the options of the same names are where a user leaves them open."""

    skip_dropout: str = "0"
    """Probability of dropping an identity in the weight step; `0.6:0` fades out."""
    expert_dropout: float = 0.0
    """Probability of dropping any other operation in the weight step."""
    best_temperature: bool = False
    """Whether rewards are paid for the loss at its best temperature."""
    warmup: float = 0.0
    """Share of the epochs in which the weights learn alone."""
    edges: Edges = "share"
    """What a node's edges are chosen by."""


UNGUARDED = Guards()
"""The paper's search."""
SKIPS_DROPPED = Guards(skip_dropout="0.5")
"""One guard, against too many skip connections."""
ALL_GUARDS = Guards(
    skip_dropout="0.5", expert_dropout=0.5, best_temperature=True, warmup=0.18, edges="absence"
)
"""For spaces with many operations, of which each has to learn to work alone."""

OVERFITS_BELOW = 5000
"""With fewer images to learn from, any space pays rewards at the best temperature. On NAS-Bench-201 that
changed nothing with 25,000, and with 1,200 it kept searches from ending at skip connections alone."""
