"""The record of a search by sampling, made of what was told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from xnas.records import Sampled
from xnas.runs.sampling.loop import Evaluated
from xnas.space import Genotype
from xnas.space.network_size import NetworkSize


def records_of(
    told: Iterable[Evaluated],
    size_of: Callable[[Genotype], NetworkSize],
    seconds: Mapping[int, float],
) -> list[Sampled]:
    """All evaluations with sums and the best so far; refused cells are left out.

    An evaluation that resumes its parent's, of the same cell, counts the epochs that it adds.
    """
    records: list[Sampled] = []
    first: dict[Genotype, int] = {}
    epochs_of: dict[int, tuple[Genotype, int]] = {}
    best: tuple[int, float] | None = None  # of a higher rung before those of lower ones
    epochs, spent = 0, 0.0
    for one in (one for one in told if not one.refused):
        trial, value = one.trial, one.result.value
        if value is not None:
            best = max(filter(None, (best, (trial.budget or 0, value))))
        at = one.result.at or 0
        cell, had = epochs_of.get(-1 if trial.parent is None else trial.parent, (None, 0))
        epochs += at - had if cell == trial.genotype and had < at else at
        epochs_of[trial.number] = trial.genotype, at
        spent += seconds.get(trial.number, 0.0)
        size = size_of(trial.genotype)
        records.append(
            Sampled(
                number=trial.number,
                value=value,
                best=None if best is None else best[1],
                epochs=epochs,
                seconds=spent if trial.number in seconds else None,
                parameters=size.parameters,
                macs=size.macs,
                same_as=first.get(trial.genotype),
                budget=trial.budget,
            )
        )
        first.setdefault(trial.genotype, trial.number)
    return records
