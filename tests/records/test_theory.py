"""Series of the stochastic study: what they hold and in which order."""

import pytest

from xnas.records import Selection, SelectionStudy


def selection(method, rate, experts, noise):
    return Selection(
        method=method,
        rate=rate,
        learning_rate=0.1,
        reward_bound=1.0,
        experts=experts,
        noise=noise,
        regret=1.0,
        regret_error=0.1,
        pseudo_regret=1.0,
        correct=0.5,
        correct_error=0.1,
        wiped=0.0,
        log_wipeout_factor=0.0,
    )


PLAYED = [("xnas", "1", 10, 2.0), ("xnas", "1", 2, 1.0), ("xnas", "1", 10, 1.0), ("gd", "1", 2, 1.0)]
STUDY = SelectionStudy(runs=1, rounds=1, seed=0, selections=tuple(selection(*p) for p in PLAYED))


@pytest.mark.parametrize(
    ("fixed", "expected"),
    [
        ({}, [(2, 1.0), (10, 1.0), (10, 2.0)]),
        ({"experts": 10}, [(10, 1.0), (10, 2.0)]),
        ({"noise": 1.0}, [(2, 1.0), (10, 1.0)]),
        ({"experts": 2, "noise": 2.0}, []),
    ],
)
def test_a_series_has_one_method_and_rate_in_ascending_order(fixed, expected):
    series = STUDY.series("xnas", "1", **fixed)
    assert {(s.method, s.rate) for s in series} <= {("xnas", "1")}
    assert [(s.experts, s.noise) for s in series] == expected


def test_another_rate_was_not_played():
    assert STUDY.series("xnas", "optimal") == ()
