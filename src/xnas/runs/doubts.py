"""On which edges of a found cell the lead of the operation is within noise.

An operation is chosen for its sum of rewards. If two experts of an edge were equally good, and their
rewards of each round were independent, of mean zero and of mean square m, the difference of their sums
after T rounds would have the standard deviation √(2 T m). That is the noise here; a lead below it is
what chance gives to equals.

m comes from the ledger's histogram of all rewards of the mixture: within a bin magnitudes count as
spread evenly on a logarithmic scale, in the two bins at zero evenly, and those beyond the bound count as
the bound, as they were clipped. The bins are wide: for normal rewards the noise comes out up to a third
too large, so that in doubt an edge counts as undecided.

It is a scale, not a test. Experts of one edge often gain and lose together, which makes the true noise
smaller; rewards that drift over the rounds make it larger.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from xnas.records import EdgeChoice, Ledger


def mean_square(ledger: Ledger) -> float:
    """Of the clipped rewards of one mixture, by the histogram of its ledger; 0 without any."""
    inner = [_square(low, high) for low, high in pairwise(ledger.histogram_edges)]
    squares = [1.0, *inner, 1.0]  # in units of the bound
    total = sum(ledger.histogram_counts)
    summed = sum(n * square for n, square in zip(ledger.histogram_counts, squares, strict=True))
    return summed / total * ledger.reward_bound**2 if total else 0.0


def noise(ledger: Ledger) -> float:
    """By how much the sums of two equal experts of an edge differ by chance."""
    return math.sqrt(2 * ledger.rounds * mean_square(ledger))


def undecided(choices: Sequence[EdgeChoice], ledgers: Mapping[str, Ledger]) -> tuple[EdgeChoice, ...]:
    """The kept edges whose operation leads the next one by no more than noise."""
    levels = {kind: noise(ledger) for kind, ledger in ledgers.items()}
    return tuple(
        choice for choice in compared(choices, ledgers) if abs(choice.lead or 0.0) < levels[choice.kind]
    )


def doubt(choices: Sequence[EdgeChoice], ledgers: Mapping[str, Ledger]) -> tuple[str, bool]:
    """A line on the undecided edges, empty without any, and whether they are more than half."""
    few, rivals = undecided(choices, ledgers), compared(choices, ledgers)
    if not few:
        return "", False
    levels = ", ".join(f"{kind} {noise(ledger):.3g}" for kind, ledger in ledgers.items())
    rounds = max(ledger.rounds for ledger in ledgers.values())
    line = (
        f"on {len(few)} of {len(rivals)} edges of the cell the lead of the operation is within noise: "
        f"two that are equally good would differ by as much after {rounds} rounds ({levels})"
    )
    if 2 * len(few) <= len(rivals):
        return line, False
    return f"too few rounds to decide: {line}; search for more epochs, or compare seeds", True


def compared(choices: Sequence[EdgeChoice], ledgers: Mapping[str, Ledger]) -> list[EdgeChoice]:
    """Kept edges that had a choice which no limit took from them, in mixtures with a ledger."""
    return [
        choice
        for choice in choices
        if choice.kept
        and not choice.limited
        and choice.kind in ledgers
        and choice.lead is not None
        and choice.runner_up is not None
    ]


def _square(low: float, high: float) -> float:
    """Mean square over a bin that does not cross zero."""
    small, large = sorted((abs(low), abs(high)))
    if small == 0:
        return large**2 / 3
    return (large**2 - small**2) / (2 * math.log(large / small))
