"""Which network of a fit is best by validation, and how clearly."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xnas.records.fitting import Comparison, FitRow

CLEAR = 2.0
"""Standard errors of a difference from which on it counts as one."""
BASELINES = {
    "random": "the random cell",
    "resnet": "the small ResNet",
    "pretrained": "the pretrained model",
}
NAMES = {"found": "the found cell", "published": "the published cell"} | BASELINES


def standard_error(accuracy: float, images: int) -> float:
    """Of a share of right answers, by the binomial distribution."""
    return math.sqrt(accuracy * (1 - accuracy) / images)


def compare(rows: Sequence[FitRow]) -> Comparison:
    """The best row, of equals the one with fewer parameters, against the second."""
    first, second = sorted(rows, key=lambda row: (-row.accuracy, row.parameters))[:2]
    lead, noise = first.accuracy - second.accuracy, math.hypot(first.error, second.error)
    return Comparison(
        winner=first.name, second=second.name, lead=lead, noise=noise, clear=lead > CLEAR * noise
    )


def verdict(rows: Sequence[FitRow], comparison: Comparison) -> list[str]:
    """What the comparison says, in sentences."""
    winner, second = NAMES[comparison.winner], NAMES[comparison.second]
    lead = f"{100 * comparison.lead:.1f} points before {second}"
    lines = [f"best by validation: {winner}, {lead}"]
    if not comparison.clear:
        lines.append(
            f"that is within noise ({100 * comparison.noise:.1f} points are one standard error of the "
            "difference): both may be equally good"
        )
    if comparison.winner in BASELINES:
        main = next(row for row in rows if row.name not in BASELINES)
        behind = 100 * (max(row.accuracy for row in rows) - main.accuracy)
        lines.append(f"a baseline wins: {winner} is {behind:.1f} points better than {NAMES[main.name]}")
    return [*lines, *_gain(rows)]


def _gain(rows: Sequence[FitRow]) -> list[str]:
    """What the search gained over a random cell."""
    found = {row.name: row for row in rows}
    if "found" not in found or "random" not in found:
        return []
    one, other = found["found"], found["random"]
    lead, noise = one.accuracy - other.accuracy, math.hypot(one.error, other.error)
    clear = "" if abs(lead) > CLEAR * noise else ", which is within noise"
    return [f"the found cell against the random one: {100 * lead:+.1f} points{clear}"]
