"""The rules by which claims on searches are judged, against numbers made by hand."""

from statistics import stdev

import pytest

import claim_rules
from claim_rules import Difference, difference, difference_to, gain
from xnas import Genotype
from xnas.space import cell_depth


def test_a_difference_has_students_interval():
    found = difference([3.0, 5.0], [1.0, 1.0])
    # By hand: squares 2 over 2 degrees of freedom, so the error is 1; 4.303 of Student's table.
    assert (found.value, found.low, found.high) == pytest.approx((3.0, 3 - 4.303, 3 + 4.303))
    assert found.apart
    assert not difference([3.0, 5.0], [3.0, 1.0]).apart


def test_a_difference_to_one_number_has_the_interval_of_one_group():
    found = difference_to([1.0, 2.0, 3.0], 0.5)
    # By hand: deviation 1, error 1 / sqrt(3), 4.303 with 2 degrees of freedom.
    assert (found.value, found.high) == pytest.approx((1.5, 1.5 + 4.303 / 3**0.5))
    assert found.apart


@pytest.mark.parametrize(
    ("low", "high", "apart", "verdict"),
    [
        (0.3, 0.9, True, "holds"),
        (0.3, 0.9, False, "not decided"),
        (-0.1, 0.9, True, "not decided"),
        (-0.9, -0.3, False, "does not hold"),
        (-0.1, 0.1, False, "does not hold"),
        (0.05, 0.15, True, "does not hold"),  # sure, and too small to count
    ],
)
def test_a_gain_is_shown_ruled_out_or_neither(low, high, apart, verdict):
    found = Difference(value=(low + high) / 2, low=low, high=high, apart=apart)
    assert gain(found) == verdict


def test_runs_must_agree():
    assert claim_rules.saves([0.05, 0.5]) == "holds"
    assert claim_rules.saves([0.04, -0.5]) == "does not hold"
    assert claim_rules.saves([0.04, 0.05]) == "not decided"


def test_the_interval_of_a_deviation_is_that_of_the_books():
    values = [1.0, 2.0, 3.0, 4.0]
    low, high = claim_rules.deviation_interval(values)
    # Four values: 0.57 and 3.73 times the deviation.
    assert (low / stdev(values), high / stdev(values)) == pytest.approx((0.566, 3.73), abs=0.01)


def test_chances_of_depths_are_exact():
    # One cell of 180 has the greatest depth, 2.0, and one the least, 0.5.
    assert claim_rules.chance_of_depth([2.0]) == pytest.approx((1 / 180, 1.0))
    assert claim_rules.chance_of_depth([0.5, 0.5]) == pytest.approx((1.0, 1 / 180**2))
    drawn = [cell_depth(Genotype.random("darts", seed)) for seed in range(400)]
    share = sum(depth >= 1.5 for depth in drawn) / len(drawn)
    assert claim_rules.chance_of_depth([1.5])[0] == pytest.approx(share, abs=4 * 0.5 / 20)


def test_three_random_cells_pass_the_rule_of_table_4_as_often_as_the_page_says():
    assert claim_rules.chance_of_depth([1.0])[0] ** 3 == pytest.approx(0.63, abs=0.005)


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "not decided"], "not decided"),
        (["not decided", "not measured yet"], "not measured yet"),
        (["does not hold", "not measured yet"], "does not hold"),
    ],
)
def test_a_claim_holds_if_all_its_parts_do(verdicts, together):
    assert claim_rules.all_parts(verdicts) == together


def test_the_reverse_of_a_statement_has_the_reverse_verdict():
    assert claim_rules.opposite("holds") == "does not hold"
    assert claim_rules.opposite("does not hold") == "holds"
    assert claim_rules.opposite("not decided") == "not decided"
