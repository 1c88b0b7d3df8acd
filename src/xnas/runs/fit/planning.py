"""The plan of a fit: what to search, what to train and for how long, so that all of it ends in time.

Pure functions of numbers: how many images there are, and what steps cost on this machine. Every choice
comes with its reason in one line. A plan counts epochs, so what a fit computes does not depend on how
busy the machine is after it was planned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xnas.errors import ConfigError, DatasetError
from xnas.records.fitting import (
    Decision,
    FitPlan,
    PlannedCells,
    PlannedSearch,
    PlannedTraining,
    SearchSpeed,
    Speeds,
    TrainSpeed,
)
from xnas.space import CellKind, Genotype
from xnas.words import counted

AIM = 0.9
"""Share of the time that is planned for: between the 70 % that should be used and the 110 % at most."""
LEAST_USED = 0.7
PROBING = 0.05
"""Share of the time that measuring may take."""
SHARES = {"search": 0.33, "cells": 0.41, "resnet": 0.12, "pretrained": 0.14}
"""Of the time, for stages that there are: two trainings of cells, one of each baseline."""

LARGEST_VALIDATION = 5000  # images: a standard error of 0.4 points at 90 %
VALIDATION_SHARE = 0.2
LEAST_OF_CLASS = 5
"""Training images of a class: one to validate, two for each half of a search."""

LEAST_SEARCHED, LEAST_OF_CLASS_SEARCHED = 400, 20
"""Images without the validation part, in all and of a class: with fewer, each half of a search says
little about which operation is better."""
LEAST_ROUNDS, GOOD_ROUNDS = 200, 1000
"""Rounds below which a search decides by noise; rounds that searches have by default."""
SEARCH_EPOCHS, MOST_SEARCH_EPOCHS, LEAST_SEARCH_EPOCHS = 20, 50, 5
ROUNDS_PER_EPOCH = 10
WARMUP = 0.18  # of the epochs; such rounds take about half as long
ROUND_COST = 1 - WARMUP / 2

LEAST_EPOCHS, GOOD_EPOCHS, MOST_EPOCHS = 4, 30, 100
"""Of a training: fewer are no comparison; enough for a larger network; more rarely help."""
MOST_FINE_TUNING = 20
SMALLEST_STEP = 0.25  # of the reference cell's, whatever the operations


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the plan has to know of the images."""

    images: int
    """Training images, validation part included."""
    fewest: int
    """Of the class that has the fewest."""
    fewest_name: str = ""

    @property
    def validation(self) -> float:
        """Share that is held out: a fifth, and less where that would be more than is needed."""
        return min(VALIDATION_SHARE, LARGEST_VALIDATION / self.images)

    @property
    def kept(self) -> int:
        """Images left to learn from."""
        return round(self.images * (1 - self.validation))


def require_enough(facts: Facts) -> None:
    """Raise unless every class can be split into what is trained on and what is held out."""
    if facts.fewest < LEAST_OF_CLASS:
        raise DatasetError(
            f"class {facts.fewest_name!r} has {counted(facts.fewest, 'training image')}; a fit needs "
            f"at least {LEAST_OF_CLASS} of each class: add images, or leave the class out"
        )


def searchable(facts: Facts) -> bool:
    """Whether there are enough images for a search to rank operations."""
    few = facts.fewest * (1 - facts.validation) < LEAST_OF_CLASS_SEARCHED
    return facts.kept >= LEAST_SEARCHED and not few


def make_plan(
    minutes: float, facts: Facts, speeds: Speeds, *, spent: float, missing: str = "no weights at hand"
) -> FitPlan:
    """The plan of a fit that began `spent` seconds ago; raises if nothing fits into its time.

    `missing` says why there is no pretrained model.
    """
    seconds = AIM * 60 * minutes - spent - speeds.end
    _require_time(minutes, speeds, seconds, spent)
    resnet, why_resnet = _fixed(speeds.resnet, share_of("resnet", speeds, seconds))
    pretrained, why_pretrained = (
        None,
        Decision(subject="pretrained model", choice="none", reason=missing),
    )
    if speeds.pretrained is not None:
        share = share_of("pretrained", speeds, seconds)
        pretrained, why_pretrained = _fine_tuned(speeds.pretrained, share)
    left = seconds - resnet.seconds - (pretrained.seconds if pretrained else 0.0)
    search, why_search = _search(facts, speeds, left)
    cells, why_cells = _cells(speeds, left - (search.seconds if search else 0.0), search)
    plan = FitPlan(
        minutes=minutes,
        spent=spent,
        validation=facts.validation,
        search=search,
        cells=cells,
        resnet=resnet,
        pretrained=pretrained,
        end=speeds.end,
        decisions=(_validation(facts), why_search, why_cells, why_resnet, why_pretrained),
    )
    return _with_rest(plan)


def share_of(stage: str, speeds: Speeds, seconds: float) -> float:
    """The part of the time that a stage has, among those that there are."""
    absent = {"search": not speeds.search, "pretrained": speeds.pretrained is None}
    there = {name: share for name, share in SHARES.items() if not absent.get(name)}
    return seconds * there[stage] / sum(there.values())


def larger_fits(speed: TrainSpeed, seconds: float) -> bool:
    """Whether a larger network than the one measured may be worth measuring."""
    return epochs_within(speed, seconds) >= 1.5 * GOOD_EPOCHS


def larger_search_fits(speed: SearchSpeed, facts: Facts, seconds: float) -> bool:
    """Whether a larger supernet than the one measured may be worth measuring."""
    planned = search_within(speed, facts, seconds)
    if planned is None:
        return False
    return rounds_of(planned) >= 1.5 * GOOD_ROUNDS or 1.5 * planned.seconds <= seconds


def epochs_within(speed: TrainSpeed, seconds: float) -> int:
    """Whole epochs of a training that fit into its time; 0 for none."""
    epoch = speed.steps * speed.step + speed.epoch_end
    return max(0, math.floor((seconds - speed.start) / epoch))


def search_within(speed: SearchSpeed, facts: Facts, seconds: float) -> PlannedSearch | None:
    """The search of one size that fits into its time; None if no useful one does.

    Where time is short it sees a part of the images, so that it has its epochs; where there is more, it
    has more of them.
    """
    per_round, left = speed.round * ROUND_COST, seconds - speed.start
    most = facts.kept // 2 // speed.batch_size
    epochs, rounds = SEARCH_EPOCHS, _rounds_per_epoch(speed, SEARCH_EPOCHS, left)
    if rounds >= most:
        rounds = most
        epochs = min(MOST_SEARCH_EPOCHS, _epochs_of(speed, rounds, left))
    elif rounds < ROUNDS_PER_EPOCH:
        rounds = min(ROUNDS_PER_EPOCH, most)
        epochs = _epochs_of(speed, rounds, left) if rounds else 0
    if epochs < LEAST_SEARCH_EPOCHS or epochs * rounds < LEAST_ROUNDS:
        return None
    return PlannedSearch(
        images=facts.kept if rounds == most else 2 * rounds * speed.batch_size,
        batch_size=speed.batch_size,
        cells=speed.cells,
        channels=speed.channels,
        epochs=epochs,
        seconds=speed.start + epochs * (rounds * per_round + speed.epoch_end),
    )


def rounds_of(search: PlannedSearch) -> int:
    """Rounds of a planned search."""
    return search.epochs * (search.images // 2 // search.batch_size)


def step_seconds(plan: PlannedCells, genotype: Genotype, reference: Genotype) -> float:
    """Seconds of a training step with a cell, from those of the reference cell and of single edges."""
    share = 1 + edges_share(plan.edges, genotype) - edges_share(plan.edges, reference)
    return plan.step * max(share, SMALLEST_STEP)


def edges_share(edges: Mapping[str, float], genotype: Genotype) -> float:
    """What all edges of a cell add to a step, from the shares of single ones."""
    return sum(
        edges.get(f"{kind}/{edge.operation}", 0.0)
        for kind in CellKind
        for into in genotype.cell(kind).nodes
        for edge in into
    )


def cell_epochs(plan: PlannedCells, genotypes: Sequence[Genotype], reference: Genotype) -> int:
    """Epochs that each of the cells is trained for, so that all of them take the planned time."""
    steps = sum(step_seconds(plan, genotype, reference) for genotype in genotypes)
    count = len(genotypes)
    epoch = plan.steps * steps + count * plan.epoch_end
    most = math.floor((plan.seconds - count * plan.start) / epoch)
    return max(LEAST_EPOCHS, min(MOST_EPOCHS, most))


def _rounds_per_epoch(speed: SearchSpeed, epochs: int, seconds: float) -> int:
    return max(0, math.floor((seconds / epochs - speed.epoch_end) / (speed.round * ROUND_COST)))


def _epochs_of(speed: SearchSpeed, rounds: int, seconds: float) -> int:
    return max(0, math.floor(seconds / (rounds * speed.round * ROUND_COST + speed.epoch_end)))


def _require_time(minutes: float, speeds: Speeds, seconds: float, spent: float) -> None:
    """Raise unless the smallest trainings that compare anything fit, and say what would."""
    least = 2 * _least(speeds.cells[0]) + _least(speeds.resnet[0])
    least += _least(speeds.pretrained) if speeds.pretrained else 0.0
    if least <= seconds:
        return
    wanted = math.ceil(10 * (least + spent + speeds.end) / AIM / 60 * 1.1) / 10
    networks = 4 if speeds.pretrained else 3
    raise ConfigError(
        f"--minutes {minutes:g} is too short on this machine: {LEAST_EPOCHS} epochs of each of "
        f"{networks} small networks need about {wanted:g} minutes; give --minutes {wanted:g} "
        "or more, or fewer or smaller images (--image-size)"
    )


def _least(speed: TrainSpeed) -> float:
    return speed.start + LEAST_EPOCHS * (speed.steps * speed.step + speed.epoch_end)


def _validation(facts: Facts) -> Decision:
    held = facts.images - facts.kept
    why = "a fifth of the training images, to compare by"
    if facts.validation < VALIDATION_SHARE:
        why = f"{LARGEST_VALIDATION:,} are enough: a standard error of 0.4 points at 90 %"
    return Decision(subject="validation", choice=f"{held:,} images", reason=why)


def _search(facts: Facts, speeds: Speeds, seconds: float) -> tuple[PlannedSearch | None, Decision]:
    """The largest search that has its rounds, or a smaller one; none where it would decide by noise."""
    if not searchable(facts):
        fewest = round(facts.fewest * (1 - facts.validation))
        reason = (
            f"{facts.kept:,} images, {fewest} of the smallest class, are too few to rank operations "
            f"(from {LEAST_SEARCHED} and {LEAST_OF_CLASS_SEARCHED} on)"
        )
        return None, Decision(subject="search", choice="none", reason=reason)
    among = SHARES["search"] + SHARES["cells"]
    share = seconds * SHARES["search"] / among
    found = [search_within(speed, facts, share) for speed in speeds.search]
    planned = [search for search in found if search is not None]
    if not planned:
        reason = f"fewer than {LEAST_ROUNDS} rounds fit into {share:.0f} s, which would decide by noise"
        return None, Decision(subject="search", choice="none", reason=reason)
    good = [search for search in planned if rounds_of(search) >= GOOD_ROUNDS]
    search = good[-1] if good else planned[0]
    rounds = rounds_of(search)
    whole = search.images == facts.kept
    seen = "all images" if whole else f"{search.images:,} of {facts.kept:,} images"
    reason = f"{seen}, {rounds:,} rounds; "
    reason += (
        f"the largest supernet measured that has {GOOD_ROUNDS:,}" if good else "as many as fit its time"
    )
    choice = (
        f"{search.epochs} epochs, {search.cells} cells of {counted(search.channels, 'channel')}, "
        f"{search.seconds:.0f} s"
    )
    return search, Decision(subject="search", choice=choice, reason=reason)


def _cells(
    speeds: Speeds, seconds: float, search: PlannedSearch | None
) -> tuple[PlannedCells, Decision]:
    """The size of both cells' networks; their epochs follow when the cells are known."""
    speed, epochs, reason = _size(speeds.cells, seconds / 2)
    used = 2 * (speed.start + min(epochs, MOST_EPOCHS) * (speed.steps * speed.step + speed.epoch_end))
    planned = PlannedCells(
        published=None if search else speed.cell,
        cells=speed.cells,
        channels=speed.channels,
        steps=speed.steps,
        seconds=min(seconds, used),
        start=speed.start,
        step=speed.step,
        epoch_end=speed.epoch_end,
        edges=speeds.edges,
        reference=speed.cell,
    )
    what = "found cell" if search else f"published cell {speed.cell}"
    choice = (
        f"{speed.cells} cells of {counted(speed.channels, 'channel')}, about "
        f"{min(epochs, MOST_EPOCHS)} epochs, {planned.seconds:.0f} s for both"
    )
    return planned, Decision(subject=f"{what}, random cell", choice=choice, reason=reason)


def _fixed(speeds: Sequence[TrainSpeed], seconds: float) -> tuple[PlannedTraining, Decision]:
    speed, epochs, reason = _size(speeds, seconds)
    planned = _planned(speed, max(LEAST_EPOCHS, min(epochs, MOST_EPOCHS)))
    return planned, _decided("small ResNet", planned, reason)


def _fine_tuned(speed: TrainSpeed, seconds: float) -> tuple[PlannedTraining, Decision]:
    epochs = epochs_within(speed, seconds)
    planned = _planned(speed, max(LEAST_EPOCHS, min(epochs, MOST_FINE_TUNING)))
    reason = "as many epochs as fit its share of the time"
    if epochs > MOST_FINE_TUNING:
        reason = f"fine-tuning rarely gains after {MOST_FINE_TUNING} epochs"
    return planned, _decided("pretrained model", planned, reason)


def _size(speeds: Sequence[TrainSpeed], seconds: float) -> tuple[TrainSpeed, int, str]:
    """The largest network that gets enough epochs, or the smallest; its epochs, and why."""
    good = [speed for speed in speeds if epochs_within(speed, seconds) >= GOOD_EPOCHS]
    speed = good[-1] if good else speeds[0]
    epochs = epochs_within(speed, seconds)
    if not good:
        return speed, epochs, "the smallest network, as time is short"
    most = f", at most {MOST_EPOCHS}" if epochs > MOST_EPOCHS else ""
    return speed, epochs, f"the largest network measured that gets {GOOD_EPOCHS} epochs{most}"


def _planned(speed: TrainSpeed, epochs: int) -> PlannedTraining:
    return PlannedTraining(
        cell=speed.cell,
        cells=speed.cells,
        channels=speed.channels,
        epochs=epochs,
        seconds=speed.start + epochs * (speed.steps * speed.step + speed.epoch_end),
    )


def _decided(subject: str, planned: PlannedTraining, reason: str) -> Decision:
    size = f" of {counted(planned.channels, 'channel')}" if planned.channels > 1 else ""
    choice = f"{planned.cell}{size}, {planned.epochs} epochs, {planned.seconds:.0f} s"
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
