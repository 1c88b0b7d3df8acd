"""Tests for few runs: known answers, and what holds for any values."""

import math
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xnas.runs.comparison import statistics
from xnas.runs.comparison.statistics import (
    TESTS,
    effect,
    exact_p,
    hedges_g,
    holm,
    least_runs,
    paired_p,
    welch_p,
)

ACCURACIES = st.integers(0, 1000).map(lambda tenth: tenth / 10)
SOME = st.lists(ACCURACIES, min_size=2, max_size=4)


def by_enumeration(one, other):
    """Share of all ways to divide the values that differ at least as much, in exact arithmetic."""
    values = [round(10 * value) for value in (*one, *other)]
    n, m = len(one), len(other)

    def gap(chosen):
        first = sum(values[k] for k in chosen)
        return abs(first * m - (sum(values) - first) * n)

    gaps = [gap(chosen) for chosen in combinations(range(n + m), n)]
    return sum(g >= gap(range(n)) for g in gaps) / len(gaps)


def by_signs(one, other):
    apart = [round(10 * a) - round(10 * b) for a, b in zip(one, other, strict=True)]
    sums = [
        abs(sum(s * d for s, d in zip(signs, apart, strict=True)))
        for signs in product((1, -1), repeat=len(one))
    ]
    return sum(total >= abs(sum(apart)) for total in sums) / len(sums)


@settings(max_examples=40)
@given(SOME, st.data())
def test_exact_tests_are_enumerations(one, data):
    other = data.draw(st.lists(ACCURACIES, min_size=len(one), max_size=len(one)))
    # groups of one size are symmetric: both tails together are twice the smaller one
    assert exact_p(one, other) == pytest.approx(by_enumeration(one, other), abs=1e-12)
    assert paired_p(one, other) == pytest.approx(by_signs(one, other), abs=1e-12)


def test_separated_groups_give_the_smallest_p_that_is_possible():
    low, high = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]
    assert exact_p(low, high) == pytest.approx(2 / 70)  # 8 choose 4
    assert paired_p(low, high) == pytest.approx(2 / 16)
    assert TESTS["exact"].least_p(4) == pytest.approx(2 / 70)
    assert TESTS["paired"].least_p(4) == pytest.approx(2 / 16)


def test_welch_is_students_own_example():
    # Student (1908): hours of sleep gained by ten patients with two drugs; R: t.test(extra ~ group)
    one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    other = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    assert welch_p(one, other) == pytest.approx(0.07939, abs=1e-5)
    found = effect(one, other)
    assert found.difference == pytest.approx(-1.58)
    assert (found.low, found.high) == pytest.approx((-3.3654832, 0.2054832), abs=1e-6)
    pairs = effect(one, other, paired=True)  # t.test(..., paired = TRUE)
    assert (pairs.low, pairs.high) == pytest.approx((-2.4598858, -0.7001142), abs=1e-6)


def test_holm_is_the_worked_example():
    # p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") of R
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_between_no_correction_and_bonferronis(ps):
    adjusted = holm(ps)
    for p, value in zip(ps, adjusted, strict=True):
        assert p <= value <= min(1.0, len(ps) * p) + 1e-12
    order = sorted(range(len(ps)), key=lambda k: ps[k])
    assert all(adjusted[a] <= adjusted[b] for a, b in pairwise(order))


@settings(max_examples=30)
@given(SOME, SOME, st.floats(-50, 50), st.sampled_from(["exact", "welch"]))
def test_nothing_depends_on_the_order_or_on_a_shift(one, other, shift, name):
    test = TESTS[name].p
    p = test(one, other)
    assert 0 <= p <= 1
    assert test(other, one) == pytest.approx(p, abs=1e-6)
    assert test(one[::-1], other) == pytest.approx(p, abs=1e-6)
    if name == "exact":
        moved = [[value + shift for value in group] for group in (one, other)]
        assert test(*moved) == pytest.approx(p, abs=1e-6)


@pytest.mark.parametrize("name", TESTS)
def test_equal_groups_do_not_differ(name):
    assert TESTS[name].p([93.5, 93.5, 93.5], [93.5, 93.5, 93.5]) == 1
    assert welch_p([1.0, 1.0], [2.0, 2.0]) == 0


def test_false_alarms_are_as_rare_as_promised():
    draw = np.random.default_rng(3)
    drawn = draw.normal(size=(100, 2, 4))
    for test in (exact_p, welch_p):
        alarms = np.mean([test(*pair) <= 0.05 for pair in drawn])
        assert alarms <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 100)


def test_hedges_g_is_cohens_d_less_its_bias():
    one, other = [2.0, 4.0, 6.0], [1.0, 3.0, 5.0]  # both deviations are 2, so d = 1/2
    bias = math.gamma(2) / (math.sqrt(2) * math.gamma(1.5))  # J(4) of Hedges (1981), 0.798
    assert hedges_g(one, other) == pytest.approx(0.5 * bias)
    assert hedges_g([1.0, 1.0], [2.0, 2.0]) is None


def test_too_few_runs_have_no_interval():
    assert effect([1.0], [2.0, 3.0]).low is None
    constant = effect([1.0, 1.0], [2.0, 2.0])
    assert (constant.low, constant.high, constant.hedges_g) == (-1, -1, None)


@pytest.mark.parametrize(
    ("name", "comparisons", "needed"),
    [  # 2/20 > 0.05 >= 2/70; 5 · 2/70 > 0.05 >= 5 · 2/252; 2/32 > 0.05 >= 2/64; 5 · 2/128 > 0.05
        ("exact", 1, 4),
        ("exact", 5, 5),
        ("exact", 6, 5),
        ("exact", 7, 6),
        ("paired", 1, 6),
        ("paired", 5, 8),
        ("welch", 20, 2),
    ],
)
def test_each_test_knows_how_many_runs_it_needs(name, comparisons, needed):
    assert least_runs(name, comparisons) == needed


def test_many_runs_are_drawn_from_with_a_fixed_seed(monkeypatch):
    monkeypatch.setattr(statistics, "ARRANGEMENTS", 9999)
    draw = np.random.default_rng(1)
    one, other = draw.normal(size=(2, 14))
    p = exact_p(one, other)
    assert p == exact_p(one, other)
    assert p == pytest.approx(welch_p(one, other), abs=0.02)
