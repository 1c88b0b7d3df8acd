"""Epochs of trainings, settled once when they are to begin, by the time that is left.

A machine that has become busier or quieter since the plan was made changes how many epochs fit. They are
decided from fresh measurements, and kept in the plan, so that a fit which is stopped and resumed follows
what it has decided before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xnas.records.fitting import FitPlan, Settled, TrainSpeed
from xnas.runs.fit.sizing import (
    AIM,
    LEAST_EPOCHS,
    MOST_EPOCHS,
    MOST_FINE_TUNING,
    epochs_within,
    training_seconds,
)

CELLS = "cells"
"""Both cells are settled together, so that they are trained alike."""
MOST = {CELLS: MOST_EPOCHS, "resnet": MOST_EPOCHS, "pretrained": MOST_FINE_TUNING}


def time_for(plan: FitPlan, stage: str, used: float) -> float:
    """Seconds that a training has if `used` have gone by since the fit began.

    Later trainings keep what was planned for them. If time has become short, all have their share of it.
    """
    planned = _planned(plan)
    names = list(planned)
    later = sum(planned[name] for name in names[names.index(stage) + 1 :])
    left = AIM * 60 * plan.minutes - used - plan.end
    own = planned[stage]
    return left - later if left >= own + later else left * own / (own + later)


def settled(
    plan: FitPlan,
    stage: str,
    speeds: Sequence[TrainSpeed],
    used: float,
    *,
    channels: int | None = None,
) -> FitPlan:
    """The plan with the epochs of a training, or of both cells, by what their steps cost now.

    `channels` are those of the network of the random cell.
    """
    seconds = time_for(plan, stage, used)
    epochs = max(LEAST_EPOCHS, min(MOST[stage], epochs_within(speeds, seconds)))
    expected = sum(training_seconds(speed, epochs) for speed in speeds)
    one = Settled(stage=stage, epochs=epochs, seconds=expected, channels=channels)
    return replace(plan, settled=(*plan.settled, one))


def _planned(plan: FitPlan) -> Mapping[str, float]:
    """Planned seconds of the trainings, in their order."""
    found = {CELLS: plan.cells.seconds}
    if plan.resnet is not None:
        found["resnet"] = plan.resnet.seconds
    if plan.pretrained is not None:
        found["pretrained"] = plan.pretrained.seconds
    return found
