"""Rules by which claims are judged from numbers, stated here once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from xnas.records import Verdict

SLOPE_TOLERANCE = 0.15
"""A fitted exponent this close to the claimed one counts as the claimed law."""
STANDARD_ERRORS = 2.0
"""Differences of this many standard errors are clear; smaller ones are noise."""


def judge(*conditions: bool) -> Verdict:
    """All conditions met, some, or none."""
    if all(conditions):
        return "holds"
    return "holds in part" if any(conditions) else "does not hold"


def standard_score(difference: float, *errors: float) -> float:
    """A difference of means in units of its standard error; infinite where there is no error."""
    error = math.hypot(*errors)
    if error == 0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / error


def fitted_exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Least-squares exponent of y ~ x^slope."""
    log_x = torch.tensor(x, dtype=torch.float64).log()
    log_y = torch.tensor(y, dtype=torch.float64).log()
    centred = log_x - log_x.mean()
    return float((centred * log_y).sum() / centred.square().sum())


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's correlation; equal values share their mean rank. 0 if either does not vary."""
    one, other = (_centred_ranks(values) for values in (x, y))
    scale = math.sqrt(float(one.square().sum() * other.square().sum()))
    return float((one * other).sum()) / scale if scale else 0.0


def _centred_ranks(values: Sequence[float]) -> torch.Tensor:
    given = torch.tensor(values, dtype=torch.float64)
    below = (given[:, None] > given).double().sum(1)
    ties = (given[:, None] == given).double().sum(1)
    ranks = below + (ties - 1) / 2
    return ranks - ranks.mean()
