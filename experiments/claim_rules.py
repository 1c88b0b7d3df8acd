"""Rules that turn runs into verdicts on the paper's claims; thresholds stand here, set before the runs.

A verdict is given when all runs of a rule are done, never from some of them: who looks at each new run
and stops when the answer pleases can show anything. What is not shown and not ruled out is not decided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import mean, stdev
from typing import Literal

import numpy as np

from cell_statistics import LEVEL, STUDENT, TIE, Comparison, compare

Verdict = Literal["holds", "does not hold", "not decided", "not measured yet"]

MARGIN = 0.2
"""Points of accuracy; a smaller gain counts as none."""
LEAST_SAVED = 0.05
"""Share of time or weights; searches that share a GPU differ by some percent anyway."""
SPARSE, UNIFORM = 0.9, 0.99
"""Entropies, as shares of the largest, below which and from which on nothing else is left to say."""
SMALL_DEVIATION = 0.5
"""Points of accuracy between searches that differ in their seed alone."""
# 2.5 % and 97.5 % points of the chi-squared distribution with 1, 2, ... degrees of freedom.
CHI_SQUARED = ((0.001, 5.024), (0.051, 7.378), (0.216, 9.348), (0.484, 11.143), (0.831, 12.833))
INPUTS, NODES, EDGES_A_NODE = 2, 4, 2


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A mean minus another, with the ends of its 95 % interval."""

    value: float
    low: float
    high: float
    apart: bool
    """Whether every value of the first is above every one of the other."""

    def __str__(self) -> str:
        return f"{self.value:+.2f} points, 95 % interval {self.low:+.2f} to {self.high:+.2f}"


def difference(ours: Sequence[float], others: Sequence[float]) -> Difference:
    """Student's, for two groups with one variance; two values of each at least."""
    one, other = (np.array(values, dtype=np.float64)[:, None] for values in (ours, others))
    found = compare(one, other)
    apart = min(ours) > max(others)
    return Difference(value=found.difference, low=found.low, high=found.high, apart=apart)


def difference_to(ours: Sequence[float], other: float) -> Difference:
    """Student's, to one number that is no sample."""
    value = mean(ours) - other
    reach = STUDENT[len(ours) - 2] * stdev(ours) / sqrt(len(ours))
    return Difference(value=value, low=value - reach, high=value + reach, apart=min(ours) > other)


def gain(found: Difference) -> Verdict:
    """Whether the first is the better one."""
    if found.high < MARGIN:
        return "does not hold"
    return "holds" if found.low > 0 and found.apart else "not decided"


def better_cells(found: Comparison) -> Verdict:
    """Whether cells of a kind are better than random ones, by interval and permutation test."""
    if found.high < MARGIN:
        return "does not hold"
    return "holds" if found.more_than_noise and found.difference > 0 else "not decided"


def opposite(verdict: Verdict) -> Verdict:
    """Of the statement that says the reverse."""
    swapped: dict[Verdict, Verdict] = {"holds": "does not hold", "does not hold": "holds"}
    return swapped.get(verdict, verdict)


def unanimous(for_it: Sequence[bool], against_it: Sequence[bool]) -> Verdict:
    """All runs speak for it, all against it, or neither."""
    if all(for_it):
        return "holds"
    return "does not hold" if all(against_it) else "not decided"


def saves(shares: Sequence[float]) -> Verdict:
    """Whether every run saves a share that counts; or none does."""
    return unanimous([s >= LEAST_SAVED for s in shares], [s < LEAST_SAVED for s in shares])


def deviation_interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the standard deviation, if values are normal."""
    freedom = len(values) - 1
    low, high = CHI_SQUARED[freedom - 1]
    return stdev(values) * sqrt(freedom / high), stdev(values) * sqrt(freedom / low)


def varies_little(values: Sequence[float]) -> Verdict:
    """Whether the standard deviation is small, its whole interval considered."""
    low, high = deviation_interval(values)
    return unanimous([high <= SMALL_DEVIATION], [low > SMALL_DEVIATION])


def chance_of_depth(depths: Sequence[float]) -> tuple[float, float]:
    """Chances that as many random cells are as deep in the mean, and as shallow; all cells alike."""
    one = Counter({0: 1})
    for states in range(INPUTS, INPUTS + NODES):
        one = _sums(one, Counter(sum(pair) for pair in combinations(range(states), EDGES_A_NODE)))
    several = Counter({0: 1})
    for _ in depths:
        several = _sums(several, one)
    found = sum(depths) * NODES * EDGES_A_NODE
    ways = several.total()
    deeper = sum(count for total, count in several.items() if total >= found - TIE)
    shallower = sum(count for total, count in several.items() if total <= found + TIE)
    return deeper / ways, shallower / ways


def _sums(one: Counter[int], other: Counter[int]) -> Counter[int]:
    found: Counter[int] = Counter()
    for a, ways in one.items():
        for b, others in other.items():
            found[a + b] += ways * others
    return found


def deeper_than_chance(depths: Sequence[float]) -> Verdict:
    """Whether random cells are rarely as deep; or rarely as shallow."""
    deep, shallow = chance_of_depth(depths)
    return unanimous([deep <= LEVEL], [shallow <= LEVEL])


def all_parts(verdicts: Sequence[Verdict]) -> Verdict:
    """A claim with several parts holds if all do, and not if one does not."""
    order: tuple[Verdict, ...] = ("does not hold", "not measured yet", "not decided", "holds")
    return next(verdict for verdict in order if verdict in verdicts)
