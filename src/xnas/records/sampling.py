"""What a search by sampling has evaluated, trial by trial."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """One evaluation, in the order in which results came."""

    number: int
    """The trial."""
    value: float | None
    """Validation accuracy, a share; None if the evaluation failed."""
    best: float | None
    """The largest so far, of the highest rung so far where there are rungs."""
    epochs: int
    """Trained so far in all, as far as evaluators say."""
    seconds: float | None
    """Spent so far in all, on whatever machines; None if that was not kept."""
    parameters: int
    macs: int
    same_as: int | None = None
    """The first trial that had the same cell; None if this is the first."""
    budget: int | None = None
    """The rung: epochs that its trial asked for; None without rungs."""
