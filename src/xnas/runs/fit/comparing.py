"""Which network of a fit is best by validation, and how clearly.

All networks answer the same validation images, so two of them are compared by the images on which one
alone is right: the others say nothing about which is better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from xnas.records.fitting import Comparison, FitRow

CLEAR = 0.05
"""Probability by chance below which a difference counts as one."""
CELLS = ("found", "published")
"""Rows that are no baseline; a fit has one of them."""
Answers = Mapping[str, Tensor]
"""By row, whether each validation image was answered rightly: bool (images,)."""


def wilson_interval(right: int, images: int) -> tuple[float, float]:
    """Return the 95 % interval of a share, by Wilson's score; it has a width at 0 and 100 % as well.

    >>> [round(end, 3) for end in wilson_interval(10, 10)]
    [0.722, 1.0]
    """
    from scipy.stats import binomtest  # type: ignore[import-untyped]  # noqa: PLC0415 - slow

    interval = binomtest(right, images).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the two-sided probability of so uneven a split, or a more uneven one, by tosses of a coin.

    >>> round(mcnemar(1, 7), 6) == 2 * (1 + 8) / 2**8
    True
    """
    from scipy.stats import binomtest  # noqa: PLC0415 - slow

    tosses = only_first + only_second
    return float(binomtest(only_first, tosses).pvalue) if tosses else 1.0


def paired(first: FitRow, second: FitRow, answers: Answers) -> Comparison:
    """Two networks by their answers to the same images."""
    one, other = answers[first.name], answers[second.name]
    only_first, only_second = int((one & ~other).sum()), int((other & ~one).sum())
    p = mcnemar(only_first, only_second)
    return Comparison(
        first=first.name,
        second=second.name,
        lead=(only_first - only_second) / len(one),
        only_first=only_first,
        only_second=only_second,
        p=p,
        clear=p < CLEAR,
    )


def compare(rows: Sequence[FitRow], answers: Answers) -> Comparison:
    """The best row, of equals the one with fewer parameters, against the second."""
    first, second = sorted(rows, key=lambda row: (-row.accuracy, row.parameters))[:2]
    return paired(first, second, answers)


def gain_of_search(rows: Sequence[FitRow], answers: Answers) -> Comparison | None:
    """The found cell against the random one; None without a search."""
    named = {row.name: row for row in rows}
    if "found" not in named or "random" not in named:
        return None
    return paired(named["found"], named["random"], answers)


def lead_of_baseline(rows: Sequence[FitRow], answers: Answers) -> Comparison | None:
    """The best row against the found or published cell; None if such a cell is the best."""
    best = compare(rows, answers).first
    named = {row.name: row for row in rows}
    cell = next(name for name in CELLS if name in named)
    return None if best == cell else paired(named[best], named[cell], answers)
