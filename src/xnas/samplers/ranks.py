"""Ranks, and how well predictions keep an order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def mean_ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Ranks from 0 in ascending order; equal values share the mean of theirs.

    >>> mean_ranks([0.3, 0.1, 0.3]).tolist()
    [1.5, 0.0, 1.5]
    """
    _, places, counts = np.unique(
        np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True
    )
    ends = np.cumsum(counts)
    ranks: NDArray[np.float64] = (ends - (counts + 1) / 2)[places]
    return ranks


def rank_correlation(predicted: Sequence[float], measured: Sequence[float]) -> float | None:
    """Spearman's rank correlation; None if either has fewer than two different values."""
    one, other = (ranks - ranks.mean() for ranks in map(mean_ranks, (predicted, measured)))
    scale = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / scale if scale else None


def pairwise_accuracy(predicted: Sequence[float], measured: Sequence[float]) -> float | None:
    """Share of pairs with different measured values that are predicted in the same strict order.

    A pair that is predicted equal counts as wrong, so that a constant has 0. None if no pair differs.
    """
    values, truth = np.asarray(predicted, dtype=np.float64), np.asarray(measured, dtype=np.float64)
    above = truth[:, None] > truth[None, :]
    right = above & (values[:, None] > values[None, :])
    return float(right.sum() / above.sum()) if above.any() else None
