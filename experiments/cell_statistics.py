"""Are cells of one kind better than those of another? What so few cells and seeds can show.

Accuracies stand in a table, one row per cell and one column per seed, with the same seeds. What a seed
does to every cell cancels in a difference of two kinds. What is left varies from cell to cell, for cells
are also a sample: so a cell, not a training, is one observation, the mean over its seeds.

Two answers are given. The interval is Student's, for two groups of cells with one variance. The
permutation test asks how many of all ways to divide these cells into groups of these sizes give as
large a difference, either way; it assumes nothing about distributions, and with few cells its smallest
possible answer is not small.

Where every cell is trained once, `welch` gives an interval that lets both groups have variances of their
own, and `kendall` the agreement of two orders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, sqrt
from statistics import mean, variance

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEVEL = 0.05
# 97.5 % points of Student's distribution with 1, 2, ... degrees of freedom.
STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
)
TIE = 1e-9  # differences this close are equal: sums in another order


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Cells of one kind minus those of another, in the unit of the accuracies."""

    difference: float
    by_seed: tuple[float, ...]
    low: float
    high: float
    """Ends of the 95 % interval."""
    as_large: int
    """Divisions of the cells whose difference is as large, the one that was made included."""
    divisions: int
    smallest_p: float
    """That any accuracies of so many cells could give."""

    @property
    def p(self) -> float:
        """Share of the divisions."""
        return self.as_large / self.divisions

    @property
    def more_than_noise(self) -> bool:
        """Whether both answers say so."""
        return self.p <= LEVEL and (self.low > 0 or self.high < 0)


def whole_table(
    accuracies: Mapping[str, Mapping[int, float]],
) -> tuple[list[str], list[int], Array]:
    """Cells, seeds that all of them have, and their accuracies; cells without any are left out."""
    cells = [cell for cell, by_seed in accuracies.items() if by_seed]
    shared = set.intersection(*(set(accuracies[cell]) for cell in cells)) if cells else set()
    seeds = sorted(shared)
    rows = [[accuracies[cell][seed] for seed in seeds] for cell in cells]
    return cells, seeds, np.array(rows, dtype=np.float64).reshape(len(cells), len(seeds))


def training_noise(table: Array) -> float | None:
    """Standard deviation of a training around what its cell and its seed give; None for a single row."""
    cells, seeds = table.shape
    if cells < 2 or seeds < 2:
        return None
    rest = table - table.mean(1, keepdims=True) - table.mean(0, keepdims=True) + table.mean()
    return sqrt(float((rest**2).sum()) / ((cells - 1) * (seeds - 1)))


def compare(ours: Array, others: Array) -> Comparison:
    """Two kinds of cells with the same seeds; two cells of each at least."""
    if min(len(ours), len(others)) < 2 or ours.shape[1] != others.shape[1] or not ours.shape[1]:
        raise ValueError(
            f"got tables of {ours.shape} and {others.shape}; give two cells of each kind or more, with "
            "the same seeds"
        )
    by_seed = ours.mean(0) - others.mean(0)
    one, other = ours.mean(1), others.mean(1)
    difference = float(one.mean() - other.mean())
    freedom = len(one) + len(other) - 2
    squares = float(((one - one.mean()) ** 2).sum() + ((other - other.mean()) ** 2).sum())
    reach = _student(freedom) * sqrt(squares / freedom * (1 / len(one) + 1 / len(other)))
    divisions = comb(len(one) + len(other), len(one))
    return Comparison(
        difference=difference,
        by_seed=tuple(float(d) for d in by_seed),
        low=difference - reach,
        high=difference + reach,
        as_large=_as_large(np.concatenate([one, other]), len(one), abs(difference)),
        divisions=divisions,
        # Of two groups of one size, the division with both exchanged differs as much.
        smallest_p=(2 if len(one) == len(other) else 1) / divisions,
    )


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A difference of two means with the ends of its two-sided 95 % interval."""

    difference: float
    low: float
    high: float


def welch(ours: Sequence[float], others: Sequence[float]) -> Interval:
    """Mean of `ours` minus mean of `others`; Welch's interval, its degrees of freedom rounded down."""
    if min(len(ours), len(others)) < 2:
        raise ValueError(f"got groups of {len(ours)} and {len(others)}; give two cells of each or more")
    difference = mean(ours) - mean(others)
    one, other = variance(ours) / len(ours), variance(others) / len(others)
    if one + other == 0:
        return Interval(difference=difference, low=difference, high=difference)
    freedom = (one + other) ** 2 / (one**2 / (len(ours) - 1) + other**2 / (len(others) - 1))
    reach = _student(int(freedom)) * sqrt(one + other)
    return Interval(difference=difference, low=difference - reach, high=difference + reach)


def kendall(ones: Sequence[float], others: Sequence[float]) -> float:
    """Kendall's tau-a: pairs in the same order minus pairs in opposite order, over all pairs."""
    pairs = list(combinations(zip(ones, others, strict=True), 2))
    if not pairs:
        raise ValueError(f"got {len(ones)} cells; give two or more")
    products = ((a - c) * (b - d) for (a, b), (c, d) in pairs)
    return sum((product > 0) - (product < 0) for product in products) / len(pairs)


def _as_large(cells: Array, first: int, difference: float) -> int:
    """Ways to choose the first group with a difference of means as large, either way."""
    total, rest = float(cells.sum()), len(cells) - first
    sums = (sum(chosen) for chosen in combinations(cells.tolist(), first))
    return sum(abs(s / first - (total - s) / rest) >= difference - TIE for s in sums)


def _student(freedom: int) -> float:
    return STUDENT[min(freedom, len(STUDENT)) - 1]


def verdict(found: Comparison) -> str:
    """Whether the difference to random cells is more than noise, in a sentence."""
    outside = found.low > 0 or found.high < 0
    if found.more_than_noise:
        better = "these" if found.difference > 0 else "the random cells"
        return f"The difference is more than noise; {better} are the better ones."
    if found.smallest_p > LEVEL:
        return (
            f"So few cells cannot show a difference: the permutation test cannot give less than "
            f"p = {found.smallest_p:.3f}; the interval {'leaves out' if outside else 'contains'} zero."
        )
    if outside or found.p <= LEVEL:
        return "The interval and the permutation test disagree: a difference is not shown."
    return "The difference is not more than noise."


def told(found: Comparison, seeds: Sequence[int]) -> str:
    """The numbers, and what they mean."""
    by_seed = ", ".join(f"seed {s}: {d:+.2f}" for s, d in zip(seeds, found.by_seed, strict=True))
    same = f"{found.as_large} {'differs' if found.as_large == 1 else 'differ'} by as much"
    return (
        f"{found.difference:+.2f} points ({by_seed}), 95 % interval {found.low:+.2f} to "
        f"{found.high:+.2f}; of {found.divisions} divisions of these cells {same}, p = {found.p:.3f}, "
        f"where {found.smallest_p:.3f} is the smallest possible. **{verdict(found)}**"
    )
