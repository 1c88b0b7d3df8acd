"""The rules by which claims are judged."""

import math

import pytest
from judged import FAILS, HOLDS, IN_PART

from xnas.paper.verdicts import fitted_exponent, judge, rank_correlation, standard_score


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ((True,), HOLDS),
        ((True, True), HOLDS),
        ((True, False), IN_PART),
        ((False, True, True), IN_PART),
        ((False,), FAILS),
        ((False, False), FAILS),
    ],
)
def test_all_conditions_some_or_none(conditions, expected):
    assert judge(*conditions) == expected


@pytest.mark.parametrize("power", [-1.0, 0.5, 2.0])
def test_the_exponent_of_a_power_law_is_found(power):
    x = [2, 5, 10, 100]
    assert fitted_exponent(x, [7 * n**power for n in x]) == pytest.approx(power)


def test_the_fitted_exponent_is_that_of_least_squares():
    # ln x = 0, 1, 3 and ln y = 0, 3, 0: Σ (ln x - 4/3) ln y = -1 and Σ (ln x - 4/3)² = 14/3. The end
    # points would give 0.
    assert fitted_exponent([1, math.e, math.e**3], [1, math.e**3, 1]) == pytest.approx(-3 / 14)


def test_a_difference_is_reported_in_combined_standard_errors():
    assert standard_score(10, 3, 4) == 2
    assert standard_score(-10, 3, 4) == -2
    assert (standard_score(1, 0, 0), standard_score(-1, 0), standard_score(0, 0)) == (
        math.inf,
        -math.inf,
        0,
    )


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([1, 4, 9, 16], 1.0),
        ([4, 3, 2, 1], -1.0),
        ([5, 5, 5, 5], 0.0),
        ([1, 2, 2, 3], 4.5 / math.sqrt(5 * 4.5)),  # ranks 0, 1.5, 1.5, 3, by hand
    ],
)
def test_the_rank_correlation_is_spearman_s(y, expected):
    assert rank_correlation([1, 2, 3, 4], y) == pytest.approx(expected)
