"""Which differences are more than noise: tests for few runs, their correction, effects with intervals.

With a handful of seeds an exact test has few possible p-values: with n runs each, no p is below
2 / C(2n, n), or below 2 / 2^n if runs are paired. So a test says beforehand how many runs it needs.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

Values = Sequence[float]

ARRANGEMENTS = 100_000
"""Of a permutation test; where there are more, so many are drawn, with a fixed seed."""
LEAST_FREE = 2
"""Degrees of freedom below which a deviation says nothing."""
LEVEL = 0.05
"""Differences whose adjusted p is at most this count as more than noise."""


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """An entry of `TESTS`."""

    words: str
    p: Callable[[Values, Values], float]
    """Two-sided p of two groups; of paired ones, whose values correspond."""
    least_p: Callable[[int], float]
    """The smallest p that so many runs in each group can give."""
    paired: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """How large a difference is; None where there are too few runs to say."""

    difference: float
    """Of the means, the first less the second."""
    low: float | None
    """Lower end of its 95 % confidence interval."""
    high: float | None
    hedges_g: float | None
    """The difference in standard deviations, corrected for few runs."""


def exact_p(one: Values, other: Values) -> float:
    """Two-sided p of the permutation test of Fisher and Pitman on the difference of means."""
    return _permutation(one, other, "independent")


def paired_p(one: Values, other: Values) -> float:
    """The same for pairs: every difference keeps or changes its sign."""
    return _permutation(one, other, "samples")


def welch_p(one: Values, other: Values) -> float:
    """Two-sided p of Welch's t-test; 1 or 0 where neither group varies."""
    from scipy import stats  # type: ignore[import-untyped]  # noqa: PLC0415 - slow

    if np.ptp(one) == 0 and np.ptp(other) == 0:
        return float(np.mean(one) == np.mean(other))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a group that hardly varies
        return float(stats.ttest_ind(one, other, equal_var=False).pvalue)


def holm(ps: Sequence[float]) -> list[float]:
    """P-values adjusted by Holm's step-down correction, in the order given."""
    order = sorted(range(len(ps)), key=lambda place: ps[place])
    adjusted, largest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = largest
    return adjusted


def effect(one: Values, other: Values, *, paired: bool = False) -> Effect:
    """The difference of two groups, with Welch's interval or, of pairs, that of their differences."""
    difference = float(np.mean(one) - np.mean(other))
    if min(len(one), len(other)) < 2:
        return Effect(difference, None, None, None)
    low, high = _interval(one, other, difference, paired=paired)
    return Effect(difference, low, high, hedges_g(one, other))


def hedges_g(one: Values, other: Values) -> float | None:
    """Difference of means in pooled standard deviations, unbiased; None where nothing varies."""
    free = len(one) + len(other) - 2
    squares = sum(len(group) * float(np.var(group)) for group in (one, other))
    deviation = math.sqrt(squares / max(1, free))
    if free < LEAST_FREE or deviation <= _rounding(one, other):
        return None
    logarithm = math.lgamma(free / 2) - math.lgamma((free - 1) / 2) - math.log(free / 2) / 2
    bias = math.exp(logarithm)
    return bias * float(np.mean(one) - np.mean(other)) / deviation


def least_runs(test: str, comparisons: int, level: float = LEVEL) -> int:
    """Runs per group with which the smallest of so many corrected p-values can reach the level."""
    least_p = TESTS[test].least_p
    return next(n for n in count(2) if max(1, comparisons) * least_p(n) <= level)


def _permutation(one: Values, other: Values, kind: str) -> float:
    """The p of `scipy.stats.permutation_test`, with ties in spite of rounding."""
    from scipy import stats  # noqa: PLC0415 - slow

    unit = max(_rounding(one, other), 1e-300)
    groups = [np.round(np.asarray(group, dtype=float) / unit) for group in (one, other)]
    if kind == "samples" and np.array_equal(groups[0], groups[1]):
        return 1.0
    done = stats.permutation_test(
        groups,
        lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis),
        permutation_type=kind,
        vectorized=True,
        n_resamples=ARRANGEMENTS,
        random_state=np.random.default_rng(0),
    )
    return min(1.0, float(done.pvalue))


def _interval(
    one: Values, other: Values, difference: float, *, paired: bool
) -> tuple[float | None, float | None]:
    from scipy import stats  # noqa: PLC0415 - slow

    groups = (np.subtract(one, other),) if paired and len(one) == len(other) else (one, other)
    if all(np.ptp(group) <= _rounding(one, other) for group in groups):
        return difference, difference
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = (
            stats.ttest_1samp(groups[0], 0.0)
            if len(groups) == 1
            else stats.ttest_ind(one, other, equal_var=False)
        ).confidence_interval(0.95)
    return float(found.low), float(found.high)


def _rounding(one: Values, other: Values) -> float:
    """Differences below this come from rounding."""
    return 1e-9 * max(1.0, float(np.max(np.abs([*one, *other]))))


def _least_welch(runs: int) -> float:  # noqa: ARG001 - the signature of the others
    return 0.0


TESTS = {
    "exact": SignificanceTest(
        words="exact permutation test of the difference of means (two-sided)",
        p=exact_p,
        least_p=lambda runs: 2 / math.comb(2 * runs, runs),
    ),
    "paired": SignificanceTest(
        words="exact permutation test of differences paired by seed (signs flipped, two-sided)",
        p=paired_p,
        least_p=lambda runs: 2 / 2**runs,
        paired=True,
    ),
    "welch": SignificanceTest(words="Welch's t-test (two-sided)", p=welch_p, least_p=_least_welch),
}
"""The tests by name."""
