import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xnas import RoundError
from xnas.theory import surviving_experts


def survivors(sums, alive=None, **arguments):
    sums = torch.tensor(sums, dtype=torch.float64)
    alive = torch.ones_like(sums, dtype=torch.bool) if alive is None else torch.tensor(alive)
    return surviving_experts(sums, alive, **{"reward_bound": 1.0} | arguments).tolist()


def test_an_expert_at_exactly_the_reach_survives_and_one_beyond_goes():
    assert survivors([4.0, 0.0, -0.25], rounds_left=2) == [True, True, False]


def test_wiped_experts_stay_wiped_and_do_not_lead():
    assert survivors([9.0, 1.0, 0.0], [False, True, True], rounds_left=1) == [False, True, True]


def test_at_the_horizon_everybody_below_the_leader_goes_and_ties_stay():
    assert survivors([1.0, 1.0, 1.0 - 1e-6], rounds_left=0) == [True, True, False]


def test_relaxation_shortens_the_reach():
    assert survivors([0.0, -1.0], rounds_left=1, relaxation=0.5) == [True, True]
    assert survivors([0.0, -1.0], rounds_left=1, relaxation=0.49) == [True, False]


def test_forecasters_are_independent():
    assert survivors([[5.0, 0.0], [0.0, 0.0]], rounds_left=1) == [[True, False], [True, True]]


@settings(max_examples=200)
@given(st.integers(1, 400), st.integers(1, 50), st.floats(1e-3, 1e3))
def test_exact_ties_survive_whatever_the_sums_and_bounds(steps, rounds_left, bound):
    # The leader earned `bound` for `steps` rounds in floats, the other is exactly the reach behind.
    leader = math.fsum([bound] * steps)
    behind = leader - 2 * bound * rounds_left
    assert survivors([leader, behind], reward_bound=bound, rounds_left=rounds_left) == [True, True]


def test_accumulated_sums_of_a_third_still_tie():
    # 0.1 added thirty times is not 3.0 in floats; the tolerance decides for the tie.
    behind = sum([-0.1] * 30)
    assert survivors([0.0, behind], reward_bound=0.1, rounds_left=15) == [True, True]
    assert survivors([0.0, behind - 1e-6], reward_bound=0.1, rounds_left=15) == [True, False]


def test_a_horizon_that_has_passed_is_an_error():
    with pytest.raises(RoundError, match="rounds_left must be >= 0, got -1: the horizon has passed"):
        survivors([0.0, 0.0], rounds_left=-1)
