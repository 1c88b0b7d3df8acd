"""Verdicts on weight decay and dense mixtures, on both sides of their criteria."""

import pytest
from judged import FAILS, HOLDS, IN_PART, NEAR, found, verdict

from xnas.paper.entropy_claims import CLEAR, UNIFORM, entropy_claims
from xnas.records import EntropyPoint, EntropyStudy

DECAYS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
RISING = dict(zip(DECAYS, (0.80, 0.82, 0.85, 0.95, 0.995, 0.999), strict=True))


def study(entropy, lost=lambda entropy, _: entropy / 2):
    points = [
        EntropyPoint(
            method="darts",
            weight_decay=decay,
            seed=seed,
            entropy=value,
            mixture_accuracy=0.9,
            cell_accuracy=0.9 - lost(value, seed),
        )
        for decay, value in entropy.items()
        for seed in (0, 1)
    ]
    other = EntropyPoint(
        method="xnas", weight_decay=None, seed=0, entropy=0.7, mixture_accuracy=0.9, cell_accuracy=0.8
    )
    return EntropyStudy(epochs=10, learning_rate=0.03, points=(*points, other))


def test_entropy_that_rises_with_the_decay_holds():
    claims = entropy_claims(study(RISING))
    assert verdict(claims, "The mean normalized entropy") == HOLDS
    measured = found(claims, "The mean normalized entropy").measured
    assert "0.8000 at 0, 0.8200 at 0.0001, 0.8500 at 0.001" in measured
    assert "rank correlation 1.00. XNAS, which has none: 0.7000" in measured


@pytest.mark.parametrize(
    "entropy",
    [
        RISING | {0.1: UNIFORM - NEAR},
        RISING | {0.0: 0.995 - CLEAR + NEAR},
        dict(zip(DECAYS, reversed(RISING.values()), strict=True)),
    ],
    ids=["not uniform", "nothing without decay", "falling"],
)
def test_entropy_that_does_not_reach_a_criterion(entropy):
    assert verdict(entropy_claims(study(entropy)), "The mean normalized entropy") in {IN_PART, FAILS}


def test_dense_mixtures_that_lose_more_hold():
    assert verdict(entropy_claims(study(RISING)), "Dense mixtures") == HOLDS
    less = study(RISING, lambda entropy, _: 0.5 - entropy / 2)
    assert verdict(entropy_claims(less), "Dense mixtures") == FAILS
    # One seed the other way round, where correlations cancel.
    split = study(RISING, lambda entropy, seed: (0.5 - entropy / 2) if seed else entropy / 2)
    assert verdict(entropy_claims(split), "Dense mixtures") == FAILS
