"""Whether a fit ended in its time, and why not."""

from __future__ import annotations

from collections.abc import Mapping

from xnas.records.fitting import FitPlan
from xnas.report.fitting import TITLES
from xnas.runs.briefing import duration
from xnas.runs.fit.settling import MOST
from xnas.runs.fit.sizing import LEAST_EPOCHS, LEAST_USED, MOST_USED


def time_line(plan: FitPlan, stages: Mapping[str, float], seconds: float) -> list[str]:
    """A sentence if less than 70 % or more than 110 % of the time was used, with the reason; else none.

    `stages` are the seconds that each stage took.
    """
    used = seconds / (60 * plan.minutes)
    if LEAST_USED <= used <= MOST_USED:
        return []
    if used < LEAST_USED:
        return [f"only {used:.0%} of the time was used: {_why_less(plan)}"]
    return [f"it took {used - 1:.0%} longer than planned: {_why_more(plan, stages)}"]


def _why_less(plan: FitPlan) -> str:
    if plan.settled and all(one.epochs == MOST[one.stage] for one in plan.settled):
        return "every network had all the epochs that are planned at most; more rarely help"
    return "the machine was faster than when it was measured"


def _why_more(plan: FitPlan, stages: Mapping[str, float]) -> str:
    """The stage that took most beyond its time."""
    planned = dict(plan.stages()) | {"beginning": plan.spent}
    planned = {name: planned[name] for name in stages if name in planned}
    worst = max(planned, key=lambda name: stages[name] - planned[name], default=None)
    if worst is None or stages[worst] <= planned[worst]:
        return "other work kept the machine busy"
    title = {"end": "the end", "beginning": "the beginning", "search": "the search"}.get(
        worst, TITLES.get(worst, worst)
    )
    least = [one for one in plan.settled if one.epochs == LEAST_EPOCHS]
    fewest = f"; even {LEAST_EPOCHS} epochs took too long" if least else ""
    took = f"{duration(stages[worst])} instead of {duration(planned[worst])}"
    return f"{title} took {took}, as the machine was slower than when it was measured{fewest}"
