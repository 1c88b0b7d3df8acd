"""What fits into a time: epochs of a training, images and epochs of a search, from measured speeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xnas.data.splits import held_of_class
from xnas.errors import DatasetError
from xnas.records.fitting import PlannedSearch, SearchSpeed, TrainSpeed
from xnas.words import counted

AIM = 0.9
"""Share of the time that is planned for: between the 70 % that should be used and the 110 % at most."""
LEAST_USED, MOST_USED = 0.7, 1.1
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
WARMUP = {"darts": 0.18}
"""Share of the epochs whose rounds take about half as long, by space."""

LEAST_EPOCHS, GOOD_EPOCHS, MOST_EPOCHS = 4, 30, 100
"""Of a training: fewer are no comparison; enough for a larger network; more rarely help."""
GOOD_FINE_TUNING, MOST_FINE_TUNING = 6, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the plan has to know of the images."""

    images: int
    """Training images, validation part included."""
    fewest: int
    """Of the class that has the fewest."""
    fewest_name: str = ""
    counts: tuple[int, ...] = ()
    """Images of every class; without them they count as one."""

    @property
    def validation(self) -> float:
        """Share that is held out: a fifth, and less where that would be more than is needed."""
        return min(VALIDATION_SHARE, LARGEST_VALIDATION / self.images)

    @property
    def held(self) -> int:
        """Images that are held out, as the split rounds them class by class."""
        counts = self.counts or (self.images,)
        return sum(held_of_class(count, self.validation) for count in counts)

    @property
    def kept(self) -> int:
        """Images left to learn from."""
        return self.images - self.held

    @property
    def searchable(self) -> bool:
        """Whether there are enough images for a search to rank operations."""
        few = self.fewest * (1 - self.validation) < LEAST_OF_CLASS_SEARCHED
        return self.kept >= LEAST_SEARCHED and not few


def require_enough(facts: Facts) -> None:
    """Raise unless every class can be split into what is trained on and what is held out."""
    if facts.fewest < LEAST_OF_CLASS:
        raise DatasetError(
            f"class {facts.fewest_name!r} has {counted(facts.fewest, 'training image')}; a fit needs "
            f"at least {LEAST_OF_CLASS} of each class: add images, or leave the class out"
        )


def training_seconds(speed: TrainSpeed, epochs: int) -> float:
    """Seconds of a training of so many epochs."""
    return speed.start + epochs * (speed.steps * speed.step + speed.epoch_end)


def epochs_within(speeds: Sequence[TrainSpeed], seconds: float) -> int:
    """Whole epochs, the same for all of some trainings, that fit into their time; 0 for none."""
    start = sum(speed.start for speed in speeds)
    epoch = sum(speed.steps * speed.step + speed.epoch_end for speed in speeds)
    return max(0, math.floor((seconds - start) / epoch))


def larger_fits(speed: TrainSpeed, seconds: float, good: int = GOOD_EPOCHS) -> bool:
    """Whether a larger network than the one measured may be worth measuring."""
    return epochs_within([speed], seconds) >= 1.5 * good


def larger_search_fits(speed: SearchSpeed, facts: Facts, seconds: float) -> bool:
    """Whether a larger supernet than the one measured may be worth measuring."""
    planned = search_within(speed, facts, seconds)
    if planned is None:
        return False
    return rounds_of(planned) >= 1.5 * GOOD_ROUNDS or 1.5 * planned.seconds <= seconds


def search_within(speed: SearchSpeed, facts: Facts, seconds: float) -> PlannedSearch | None:
    """The search of one size that fits into its time; None if no useful one does.

    Where time is short it sees a part of the images, so that it has its epochs; where there is more, it
    has more of them.
    """
    per_round, left = speed.round * (1 - WARMUP.get(speed.space, 0.0) / 2), seconds - speed.start

    def epochs_of(rounds: int) -> int:
        return max(0, math.floor(left / (rounds * per_round + speed.epoch_end)))

    most = facts.kept // 2 // speed.batch_size
    epochs = SEARCH_EPOCHS
    rounds = max(0, math.floor((left / epochs - speed.epoch_end) / per_round))
    if rounds >= most:
        rounds = most
        epochs = min(MOST_SEARCH_EPOCHS, epochs_of(rounds))
    elif rounds < ROUNDS_PER_EPOCH:
        rounds = min(ROUNDS_PER_EPOCH, most)
        epochs = epochs_of(rounds) if rounds else 0
    if epochs < LEAST_SEARCH_EPOCHS or epochs * rounds < LEAST_ROUNDS:
        return None
    return PlannedSearch(
        space=speed.space,
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


def is_good(search: PlannedSearch) -> bool:
    """Whether a search has as many rounds as searches have by default, or all epochs that may help."""
    return rounds_of(search) >= GOOD_ROUNDS or search.epochs == MOST_SEARCH_EPOCHS


def best_search(
    speeds: Sequence[SearchSpeed], facts: Facts, seconds: float
) -> tuple[PlannedSearch | None, bool]:
    """The largest search that has its rounds, with True, or else a smaller one that decides at all."""
    found = (search_within(speed, facts, seconds) for speed in speeds)
    planned = [search for search in found if search is not None]
    good = [search for search in planned if is_good(search)]
    if good:
        return good[-1], True
    return (planned[0] if planned else None), False


def best_size(
    speeds: Sequence[TrainSpeed], seconds: float, good: int = GOOD_EPOCHS
) -> tuple[TrainSpeed, bool]:
    """The largest network that gets enough epochs, with True, or else the smallest."""
    fitting = [speed for speed in speeds if epochs_within([speed], seconds) >= good]
    return (fitting[-1], True) if fitting else (speeds[0], False)


def share_of(stage: str, seconds: float, *, search: bool, pretrained: bool) -> float:
    """The part of the time that a stage has, among those that there are."""
    absent = {"search": not search, "pretrained": not pretrained}
    there = {name: share for name, share in SHARES.items() if not absent.get(name)}
    return seconds * there[stage] / sum(there.values())
