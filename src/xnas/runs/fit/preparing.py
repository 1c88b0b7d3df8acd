"""The plan of a fit, from its images and what is measured on this machine."""

from __future__ import annotations

import time

from xnas.records.fitting import FitPlan
from xnas.runs.displays import FitDisplay
from xnas.runs.fit.config import FitConfig
from xnas.runs.fit.limiting import FitLimits
from xnas.runs.fit.parts import FitData
from xnas.runs.fit.planning import PRETRAINED, RESNET, make_plan
from xnas.runs.fit.pretrained import PretrainedModel, find_pretrained
from xnas.runs.fit.probing import Measuring
from xnas.runs.fit.sizing import Facts


def prepared_plan(
    config: FitConfig, data: FitData, facts: Facts, display: FitDisplay, began: float
) -> tuple[FitPlan, PretrainedModel | None]:
    """The plan, and the pretrained model if there is one.

    The fit `began` then, by `time.perf_counter`. What is wrong with a pretrained model that was named
    is raised before anything is measured.
    """
    model, missing = find_pretrained(config.pretrained, data.images)
    limits = FitLimits(config, data.images)
    sides, fault = allowed_sides(model, limits)
    if fault:
        model, missing = None, fault
    display.say("measuring the speed of this machine ...")
    seconds = 60 * config.minutes
    measuring = Measuring(config, data, facts, seconds=seconds, pretrained=model, sides=sides)
    speeds = measuring.speeds()

    def planned() -> FitPlan:
        return make_plan(
            config.minutes,
            facts,
            speeds,
            spent=time.perf_counter() - began,
            missing=missing,
            limits=limits.limits.words,
        )

    plan = planned()
    if plan.search is None and speeds.search:  # what was left for it has become too short
        speeds = measuring.without_search(speeds)
        plan = planned()
    return plan, model


def allowed_sides(model: PretrainedModel | None, limits: FitLimits) -> tuple[list[int], str]:
    """Sides of images with which a pretrained model obeys the limits, and why there are none."""
    if model is None:
        return [], ""
    sides = model.sides(limits.images.size)
    faults = {side: limits.fault(model.architecture(side)) for side in sides}
    allowed = [side for side in sides if faults[side] is None]
    return allowed, "" if allowed else f"{model.name} is not within the limits: {faults[sides[0]]}"


def missing_rows(plan: FitPlan) -> dict[str, str]:
    """Rows of the table that a plan does not have, with its reasons."""
    reasons = {one.subject: one.reason for one in plan.decisions}
    rows = {"resnet": (plan.resnet, RESNET), "pretrained": (plan.pretrained, PRETRAINED)}
    return {
        name: reasons.get(subject, "") for name, (planned, subject) in rows.items() if planned is None
    }
