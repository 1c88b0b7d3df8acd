"""Claims on weight decay, dense mixtures and what they lose, judged by small searches (Fig. 2)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from xnas.paper.entropy_study import DARTS_DECAY
from xnas.paper.verdicts import judge, rank_correlation
from xnas.records import Claim, EntropyPoint, EntropyStudy

RISING = 0.8
"""A rank correlation above which one number grows with another."""
UNIFORM = 0.99
"""Entropy from which on a mixture counts as uniform."""
CLEAR = 0.05
"""Difference of entropies that is more than seeds make."""
STRONG = 0.1
"""A weight decay that is strong for logits of order 1."""


def entropy_claims(study: EntropyStudy) -> list[Claim]:
    """Weight decay makes dense mixtures, which lose more at discretization (Sec. 3.2.2)."""
    darts = [point for point in study.points if point.weight_decay is not None]
    by_decay = {d: [p for p in darts if p.weight_decay == d] for d in study.decays}
    entropy = {d: mean(p.entropy for p in points) for d, points in by_decay.items()}
    lost = {d: mean(_lost(p) for p in points) for d, points in by_decay.items()}
    rise = rank_correlation(list(entropy), list(entropy.values()))
    strong = [value for decay, value in entropy.items() if decay >= STRONG]
    none, most = by_decay[study.decays[0]], by_decay[study.decays[-1]]
    loses = rank_correlation([p.entropy for p in darts], [_lost(p) for p in darts])
    seeds = len(none)
    return [
        Claim(
            statement="The mean normalized entropy increases with the weight decay coefficient",
            where="Sec. 3.2.2, Fig. 2",
            measured=f"first-order DARTS, small searches, {seeds} seeds, {study.epochs} epochs, "
            f"logits' rate {study.learning_rate:g}: {_listed(entropy, 4)} (DARTS's own decay is "
            f"{DARTS_DECAY:g}); rank correlation {rise:.2f}. XNAS, which has none: {_others(study)}",
            verdict=judge(
                rise > RISING,
                min(strong) >= UNIFORM,
                entropy[study.decays[0]] <= min(strong) - CLEAR,
            ),
        ),
        Claim(
            statement="Dense mixtures lose more accuracy at discretization than sparse ones",
            where="Sec. 3.2.2, 8.2.3",
            measured="points of validation accuracy lost by decay, mixture minus cell with the "
            f"supernet's weights: {_listed({d: 100 * v for d, v in lost.items()}, 1)}; rank "
            f"correlation with entropy over all {len(darts)} searches {loses:.2f}",
            verdict=judge(
                loses > RISING, all(_lost(b) > _lost(a) for a, b in zip(none, most, strict=True))
            ),
        ),
    ]


def _lost(point: EntropyPoint) -> float:
    """Share of right answers that discretization costs."""
    return point.mixture_accuracy - point.cell_accuracy


def _listed(values: dict[float, float], digits: int) -> str:
    return ", ".join(f"{value:.{digits}f} at {decay:g}" for decay, value in values.items())


def _others(study: EntropyStudy) -> str:
    found: Sequence[EntropyPoint] = [p for p in study.points if p.weight_decay is None]
    return ", ".join(f"{point.entropy:.4f}" for point in found)
