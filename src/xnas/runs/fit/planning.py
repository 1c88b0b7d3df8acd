"""The plan of a fit: what to search and what to train, so that all of it ends in time.

Pure functions of numbers: how many images there are, and what steps cost on this machine. Every choice
comes with its reason in one line.
"""

from __future__ import annotations

import math
from dataclasses import replace

from xnas.errors import ConfigError
from xnas.records.fitting import (
    Decision,
    FitPlan,
    PlannedCells,
    PlannedSearch,
    PlannedTraining,
    Speeds,
    TrainSpeed,
)
from xnas.runs.fit.sizing import (
    AIM,
    GOOD_EPOCHS,
    GOOD_FINE_TUNING,
    GOOD_ROUNDS,
    LARGEST_VALIDATION,
    LEAST_EPOCHS,
    LEAST_OF_CLASS_SEARCHED,
    LEAST_ROUNDS,
    LEAST_SEARCHED,
    LEAST_USED,
    MOST_EPOCHS,
    MOST_FINE_TUNING,
    MOST_SEARCH_EPOCHS,
    SHARES,
    VALIDATION_SHARE,
    Facts,
    best_search,
    best_size,
    epochs_within,
    rounds_of,
    share_of,
    training_seconds,
)
from xnas.space import SPACES
from xnas.words import counted

RESNET, PRETRAINED = "small ResNet", "pretrained model"
"""Subjects of decisions."""
WIDE_SPACE, QUICK_SPACE = "darts", "nasbench201"
"""The space that is searched where time allows, and the one whose rounds take a fraction of its."""


def make_plan(
    minutes: float,
    facts: Facts,
    speeds: Speeds,
    *,
    spent: float,
    missing: str = "no weights at hand",
    limits: str = "",
) -> FitPlan:
    """The plan of a fit that began `spent` seconds ago; raises if nothing fits into its time.

    `missing` says why there is no pretrained model, and `limits` are those on the model.
    """
    seconds = AIM * 60 * minutes - spent - speeds.end
    _require_time(minutes, speeds, seconds, spent)
    resnet, why_resnet = _resnet(speeds, seconds)
    pretrained, why_pretrained = _fine_tuned(speeds, seconds, missing)
    left = seconds - sum(stage.seconds for stage in (resnet, pretrained) if stage)
    search, why_search = _search(facts, speeds, left)
    cells, why_cells = _cells(speeds, left - (search.seconds if search else 0.0), search)
    decisions = [_validation(facts), why_search, why_cells, why_resnet, why_pretrained]
    if limits:
        reason = "they hold for every network of the table"
        decisions.append(Decision(subject="limits", choice=limits, reason=reason))
    if speeds.threads is not None:
        reason = "the fastest of those tried with the smallest networks"
        decisions.append(
            Decision(subject="computing", choice=counted(speeds.threads, "thread"), reason=reason)
        )
    plan = FitPlan(
        minutes=minutes,
        threads=speeds.threads,
        spent=spent,
        validation=facts.validation,
        search=search,
        cells=cells,
        resnet=resnet,
        pretrained=pretrained,
        end=speeds.end,
        decisions=tuple(decisions),
    )
    return _with_rest(plan)


def _share(stage: str, speeds: Speeds, seconds: float) -> float:
    there = {"search": bool(speeds.search), "pretrained": bool(speeds.pretrained)}
    return share_of(stage, seconds, **there)


def _require_time(minutes: float, speeds: Speeds, seconds: float, spent: float) -> None:
    """Raise unless the smallest trainings that compare anything fit, and say what would."""
    networks = [speeds.cells[0], speeds.cells[0], *speeds.resnet[:1], *speeds.pretrained[:1]]
    least = sum(training_seconds(speed, LEAST_EPOCHS) for speed in networks)
    if least <= seconds:
        return
    wanted = math.ceil(10 * (least + spent + speeds.end) / AIM / 60 * 1.1) / 10
    raise ConfigError(
        f"--minutes {minutes:g} is too short on this machine: {LEAST_EPOCHS} epochs of each of "
        f"{len(networks)} small networks need about {wanted:g} minutes; give --minutes {wanted:g} "
        "or more, or fewer or smaller images (--image-size)"
    )


def _validation(facts: Facts) -> Decision:
    why = "a fifth of the training images, to compare by"
    if facts.validation < VALIDATION_SHARE:
        why = f"{LARGEST_VALIDATION:,} are enough: a standard error of 0.4 points at 90 %"
    return Decision(subject="validation", choice=f"{facts.held:,} images", reason=why)


def _search(facts: Facts, speeds: Speeds, seconds: float) -> tuple[PlannedSearch | None, Decision]:
    """The largest search that has its rounds, or a smaller one; none where it would decide by noise."""
    if not facts.searchable:
        fewest = round(facts.fewest * (1 - facts.validation))
        reason = (
            f"{facts.kept:,} images, {fewest} of the smallest class, are too few to rank operations "
            f"(from {LEAST_SEARCHED} and {LEAST_OF_CLASS_SEARCHED} on)"
        )
        return None, Decision(subject="search", choice="none", reason=reason)
    share = seconds * SHARES["search"] / (SHARES["search"] + SHARES["cells"])
    search, good = best_search(speeds.search, facts, share)
    if search is None:
        reason = f"fewer than {LEAST_ROUNDS} rounds fit into {share:.0f} s, which would decide by noise"
        return None, Decision(subject="search", choice="none", reason=reason)
    seen = f"{search.images:,} of {facts.kept:,} images"
    if search.images == facts.kept:
        seen = "all images"
    rounds = rounds_of(search)
    enough = f"{GOOD_ROUNDS:,}" if rounds >= GOOD_ROUNDS else f"{MOST_SEARCH_EPOCHS} epochs"
    size = f"the largest supernet measured that has {enough}" if good else "as many as fit"
    small = f"; {WIDE_SPACE} takes too long per round here" if search.space == QUICK_SPACE else ""
    unit = SPACES[search.space].defaults.cells_unit
    return search, Decision(
        subject="search",
        choice=(
            f"{search.space}, {search.epochs} epochs, {cells_in_words(search.cells, unit)}, "
            f"{counted(search.channels, 'channel')}, {search.seconds:.0f} s"
        ),
        reason=f"{seen}, {rounds:,} rounds, {size}{small}",
    )


def _cells(
    speeds: Speeds, seconds: float, search: PlannedSearch | None
) -> tuple[PlannedCells, Decision]:
    """The size of both cells' networks; their epochs are settled when the cells are known."""
    speed, reason = _sized(speeds.cells, seconds / 2)
    epochs = max(LEAST_EPOCHS, min(MOST_EPOCHS, epochs_within([speed], seconds / 2)))
    planned = PlannedCells(
        published=None if search else speed.cell,
        cells=speed.cells,
        channels=speed.channels,
        epochs=epochs,
        seconds=2 * training_seconds(speed, epochs),
    )
    what = "found cell" if search else f"published cell {speed.cell}"
    unit = SPACES[search.space if search else WIDE_SPACE].defaults.cells_unit
    size = f"{cells_in_words(speed.cells, unit)}, {counted(speed.channels, 'channel')}"
    choice = f"{size}, about {epochs} epochs, {planned.seconds:.0f} s for both"
    return planned, Decision(subject=f"{what}, random cell", choice=choice, reason=reason)


def _resnet(speeds: Speeds, seconds: float) -> tuple[PlannedTraining | None, Decision]:
    if not speeds.resnet:
        return None, Decision(subject=RESNET, choice="none", reason="none obeys the limits")
    share = _share("resnet", speeds, seconds)
    speed, reason = _sized(speeds.resnet, share)
    planned = _planned(speed, min(epochs_within([speed], share), MOST_EPOCHS))
    return planned, _decided(RESNET, planned, reason)


def _fine_tuned(speeds: Speeds, seconds: float, missing: str) -> tuple[PlannedTraining | None, Decision]:
    """Fine-tuning with the largest images that leave some epochs."""
    if not speeds.pretrained:
        return None, Decision(subject=PRETRAINED, choice="none", reason=missing)
    share = _share("pretrained", speeds, seconds)
    speed, good = best_size(speeds.pretrained, share, GOOD_FINE_TUNING)
    epochs = epochs_within([speed], share)
    reason = f"the largest images that leave {GOOD_FINE_TUNING} epochs"
    if not good:
        reason = "the smallest images, as time is short"
    if epochs > MOST_FINE_TUNING:
        reason += f"; fine-tuning rarely gains after {MOST_FINE_TUNING}"
    planned = _planned(speed, min(epochs, MOST_FINE_TUNING))
    return planned, _decided(PRETRAINED, planned, reason)


def cells_in_words(cells: int, unit: str) -> str:
    """A number of cells as the space counts them.

    >>> cells_in_words(1, "cells per stage")
    '1 cell per stage'
    """
    return f"{cells} {unit.replace('cells', 'cell', 1) if cells == 1 else unit}"


def _sized(speeds: tuple[TrainSpeed, ...], seconds: float) -> tuple[TrainSpeed, str]:
    """The largest network that gets enough epochs, or the smallest, and why."""
    speed, good = best_size(speeds, seconds)
    if not good:
        return speed, "the smallest network, as time is short"
    most = f", at most {MOST_EPOCHS}" if epochs_within([speed], seconds) > MOST_EPOCHS else ""
    return speed, f"the largest network measured that gets {GOOD_EPOCHS} epochs{most}"


def _planned(speed: TrainSpeed, epochs: int) -> PlannedTraining:
    epochs = max(LEAST_EPOCHS, epochs)
    return PlannedTraining(
        cell=speed.cell,
        cells=speed.cells,
        channels=speed.channels,
        side=speed.side,
        epochs=epochs,
        seconds=training_seconds(speed, epochs),
    )


def _decided(subject: str, planned: PlannedTraining, reason: str) -> Decision:
    size = counted(planned.channels, "channel")
    if planned.side is not None:
        size = f"images enlarged to {planned.side} pixels"
    choice = f"{planned.cell}, {size}, about {planned.epochs} epochs, {planned.seconds:.0f} s"
    return Decision(subject=subject, choice=choice, reason=reason)


def _with_rest(plan: FitPlan) -> FitPlan:
    """The plan with a line on the time that it leaves, if that is much."""
    whole = 60 * plan.minutes
    if plan.seconds >= LEAST_USED * whole:
        return plan
    rest = Decision(
        subject="time left over",
        choice=f"{(whole - plan.seconds) / 60:.1f} minutes",
        reason=(
            f"more than {MOST_EPOCHS} epochs, {MOST_SEARCH_EPOCHS} of a search, or larger networks than "
            "those measured are not planned: `xnas search` and `xnas train` take any size"
        ),
    )
    return replace(plan, decisions=(*plan.decisions, rest))
