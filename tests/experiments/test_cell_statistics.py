"""Comparisons of few cells: against sums by hand, and honest about what so few can show."""

import math

import numpy as np
import pytest

from cell_statistics import (
    STUDENT,
    Comparison,
    compare,
    kendall,
    told,
    training_noise,
    verdict,
    welch,
    whole_table,
)


def comparison(**others):
    usual = {"difference": 1.0, "by_seed": (1.0,), "low": 0.5, "high": 1.5}
    return Comparison(**usual | {"as_large": 1, "divisions": 126, "smallest_p": 1 / 126} | others)


def test_a_comparison_by_hand():
    # Cell means 3, 5 and 1, 2, 3: 4 - 2 = 2. Squares 2 + 2 over 3 degrees of freedom, times 1/2 + 1/3:
    # 10/9, whose root times 3.182 is the reach.
    ours = np.array([[2.0, 4.0], [4.0, 6.0]])
    others = np.array([[0.0, 2.0], [1.0, 3.0], [2.0, 4.0]])
    found = compare(ours, others)
    reach = 3.182 * math.sqrt(10 / 9)
    assert found.difference == pytest.approx(2)
    assert found.by_seed == pytest.approx((2, 2))
    assert (found.low, found.high) == pytest.approx((2 - reach, 2 + reach))
    # Pairs of 3, 5, 1, 2, 3: half their sum s less a third of the rest is (5 s - 28) / 6, as large as 2
    # for s >= 8 (3 and 5, twice) and s <= 3.2 (1 and 2).
    assert (found.as_large, found.divisions) == (3, 10)
    assert found.p == pytest.approx(0.3)
    assert found.smallest_p == pytest.approx(0.1)


def test_what_a_seed_does_to_all_cells_changes_nothing():
    generator = np.random.default_rng(0)
    ours, others = generator.normal(size=(3, 4)), generator.normal(size=(4, 4))
    seeds = 10 * generator.normal(size=4)
    one, other = compare(ours, others), compare(ours + seeds, others + seeds)
    assert (one.low, one.high) == pytest.approx((other.low, other.high))
    assert one.as_large == other.as_large
    assert training_noise(ours) == pytest.approx(training_noise(ours + seeds))


def test_the_mean_over_seeds_is_the_difference():
    generator = np.random.default_rng(1)
    found = compare(generator.normal(size=(5, 3)), generator.normal(size=(4, 3)))
    assert np.mean(found.by_seed) == pytest.approx(found.difference)


@pytest.mark.parametrize(
    ("first", "second", "smallest"), [(3, 4, 1 / 35), (5, 4, 1 / 126), (4, 4, 2 / 70)]
)
def test_the_smallest_p_is_reached_by_cells_that_do_not_overlap(first, second, smallest):
    # One group far above the other, which is not spread: no other division differs as much.
    ours, others = 100 + np.arange(first)[:, None] / 10, np.zeros((second, 1))
    found = compare(ours, others)
    assert found.p == found.smallest_p == pytest.approx(smallest)


def test_without_any_difference_every_division_is_as_large():
    found = compare(np.full((3, 2), 93.0), np.full((4, 2), 93.0))
    assert (found.difference, found.p) == (0, 1)
    assert verdict(found) == "The difference is not more than noise."


def test_under_chance_alone_the_test_errs_as_often_as_it_says():
    # 400 comparisons of the same kind of cells: p <= 0.05 in 5 % of them at most, within 4 deviations.
    generator = np.random.default_rng(2)
    tables = [generator.normal(size=(9, 2)) for _ in range(400)]
    found = [compare(table[:5], table[5:]) for table in tables]
    assert np.mean([f.p <= 0.05 for f in found]) < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 400)
    covered = np.mean([f.low < 0 < f.high for f in found])
    assert covered == pytest.approx(0.95, abs=4 * math.sqrt(0.05 * 0.95 / 400))


@pytest.mark.parametrize("freedom", [1, 2, 5, 7, 20])
def test_points_of_students_distribution_leave_a_fortieth_above(freedom):
    # The density integrated from 0 to the point, by Simpson's rule, is 0.475.
    x = np.linspace(0, STUDENT[freedom - 1], 20_001)
    logs = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    y = np.exp(logs) * (1 + x**2 / freedom) ** (-(freedom + 1) / 2)
    share = (x[1] - x[0]) / 3 * (y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum())
    assert share == pytest.approx(0.475, abs=5e-5)  # three decimals of the point


def test_noise_by_hand():
    # Deviations from cell and seed are 0.5 each: four squares of 0.25 over one degree of freedom.
    assert training_noise(np.array([[1.0, 2.0], [3.0, 2.0]])) == pytest.approx(1.0)
    assert training_noise(np.array([[1.0, 2.0]])) is None
    assert training_noise(np.array([[1.0], [2.0]])) is None


def test_only_seeds_that_all_cells_have_are_compared():
    cells, seeds, table = whole_table({"a": {0: 1.0, 1: 2.0}, "b": {}, "c": {1: 3.0}})
    assert (cells, seeds, table.tolist()) == (["a", "c"], [1], [[2.0], [3.0]])
    assert whole_table({})[2].shape == (0, 0)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (comparison(), "more than noise; these are the better ones"),
        (comparison(difference=-1.0, low=-1.5, high=-0.5), "the random cells are the better ones"),
        (comparison(low=-0.5, as_large=40), "not more than noise"),
        (comparison(as_large=40), "disagree: a difference is not shown"),
        (comparison(low=-0.5), "disagree: a difference is not shown"),
        (
            comparison(divisions=15, smallest_p=1 / 15),
            "cannot give less than p = 0.067; the interval leaves out zero",
        ),
    ],
)
def test_the_verdict_says_what_the_numbers_do(found, words):
    assert words in verdict(found)


def test_the_sentence_has_all_numbers():
    found = comparison(difference=0.125, by_seed=(0.1, 0.15), low=-0.5, high=0.75, as_large=40)
    assert told(found, (0, 1)) == (
        "+0.12 points (seed 0: +0.10, seed 1: +0.15), 95 % interval -0.50 to +0.75; of 126 divisions of "
        "these cells 40 differ by as much, p = 0.317, where 0.008 is the smallest possible. **The "
        "difference is not more than noise.**"
    )


def test_a_single_cell_is_no_sample():
    with pytest.raises(ValueError, match="two cells of each kind or more, with the same seeds"):
        compare(np.ones((1, 2)), np.ones((4, 2)))


def test_welchs_interval_by_hand():
    # Means 4 and 2, variances 2 and 1: 2/2 + 1/3 = 4/3. Degrees of freedom (4/3)^2 / (1 + 1/18) = 32/19,
    # rounded down to 1: 12.706 times the root of 4/3.
    found = welch([3.0, 5.0], [1.0, 2.0, 3.0])
    reach = 12.706 * math.sqrt(4 / 3)
    assert (found.difference, found.low, found.high) == pytest.approx((2, 2 - reach, 2 + reach))
    assert welch([1.0, 1.0], [3.0, 3.0]).high == -2
    with pytest.raises(ValueError, match="got groups of 1 and 2; give two cells of each or more"):
        welch([1.0], [2.0, 3.0])


@pytest.mark.evidence
def test_welchs_interval_is_that_of_scipy_but_for_whole_degrees_of_freedom():
    stats = pytest.importorskip("scipy.stats")
    draw = np.random.default_rng(0)
    ours, others = draw.normal(1, 0.3, 6).tolist(), draw.normal(0, 0.6, 8).tolist()
    theirs = stats.ttest_ind(ours, others, equal_var=False).confidence_interval(0.95)
    found = welch(ours, others)
    assert found.low <= theirs.low
    assert theirs.high <= found.high
    assert found.high - found.low == pytest.approx(theirs.high - theirs.low, rel=0.03)


def test_kendalls_correlation_by_hand():
    assert kendall([1, 2, 3], [10, 20, 30]) == 1
    assert kendall([1, 2, 3], [30, 20, 10]) == -1
    # Of six pairs of (1, 2), (2, 1), (3, 4), (4, 3) four are in the same order.
    assert kendall([1, 2, 3, 4], [2, 1, 4, 3]) == pytest.approx((4 - 2) / 6)
    assert kendall([1, 1, 2], [1, 2, 3]) == pytest.approx(2 / 3)  # a tie counts for neither
    with pytest.raises(ValueError, match="got 1 cells; give two or more"):
        kendall([1], [1])
