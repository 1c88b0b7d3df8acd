"""Numbers of a search that are not the method's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSettings:
    """Numbers of a search that are not the method's."""

    epochs: int
    rounds_per_epoch: int
    accounting: str = "update"
    skip_dropout: tuple[float, float] = (0.0, 0.0)
    """In the first and in the last epoch; linear between them."""
    expert_dropout: float = 0.0
    """Probability of dropping any expert in the weight step. Departure: the paper has none. Where all
    experts of an edge are always there they share one job, and one more of any is worth little; where
    some are absent each learns to do it alone."""
    best_temperature: bool = False
    """Pay rewards for the validation loss at its best temperature. Departure: the paper pays for the
    loss itself, which also falls when a network that is too confident becomes less so."""
    warmup_epochs: int = 0
    """Epochs at the start in which the weights learn alone and mixtures stay uniform. Departure: the
    paper has none. Before the weights are any good, rewards go to the operations that learn fastest."""
    absence_batches: int = 0
    """Validation batches per epoch on which the absence of edges is measured; 0 for none."""
    learning_rate: float = 0.025
    """Of the weights, at the start; DARTS's recipe, as the paper states none."""
    final_learning_rate: float = 0.001
    rate_epochs: tuple[int, int] | None = None
    """First epoch and length of the schedule that the rate follows; None: all epochs."""
    schedule: Callable[[int, int], float] | None = None
    """Share of the rate's fall that is still to come, at an epoch of so many; None: a cosine."""
    momentum: float = 0.9
    nesterov: bool = False
    weight_decay: float = 3e-4
    gradient_clip: float = 5.0
    """On the norm of the weights' gradient. The paper's "gradient clipping of 1" is the reward bound."""
    stage: int = 0
    """Number of the stage of the search, from 0."""
    game_from: int = 0
    """Epoch in which the game of the method began."""
    joint: bool = False
    """One pass over the training batch gives the gradients of weights and mixtures. Departure: the paper
    has two halves of the images, and a pass over each."""
    autocast: bool = False
    """Compute in bfloat16 where that is safe."""
    seed: int = 0
