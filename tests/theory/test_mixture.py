import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from xnas import ConfigError, normalized_entropy
from xnas.theory import (
    mixture_of,
    predict,
    require_simplex,
    strengths_of,
)

EVERYBODY = torch.tensor([True, True, True])


def test_wiped_experts_get_exactly_nothing_and_the_rest_share_all():
    u = mixture_of(torch.zeros(3), torch.tensor([True, False, True]), learning_rate=1.0)
    assert u.tolist() == [0.5, 0.0, 0.5]


def test_mixtures_are_float64_whatever_comes_in():
    assert mixture_of(torch.zeros(3), EVERYBODY, learning_rate=1.0).dtype == torch.float64


@given(st.floats(-1e300, 1e300), st.floats(1e-3, 1e3))
def test_huge_sums_do_not_overflow(total, rate):
    u = mixture_of(
        torch.tensor([total, -total, total / 2], dtype=torch.float64), EVERYBODY, learning_rate=rate
    )
    assert not u.isnan().any()
    assert u.sum().item() == pytest.approx(1)


def test_strengths_equal_the_mixture_while_nobody_was_wiped():
    sums = torch.randn(4, 3, dtype=torch.float64)
    alive = torch.ones(4, 3, dtype=torch.bool)
    strengths = strengths_of(sums, torch.zeros(4, 3), alive, learning_rate=0.3)
    assert torch.equal(strengths, mixture_of(sums, alive, learning_rate=0.3))


def test_a_wiped_expert_keeps_its_gap_and_never_overtakes_the_leader():
    # Frozen at 5 when the leader had 8; the leader has lost 6 since. Its gap of 3 is what counts.
    sums = torch.tensor([2.0, 5.0, 1.0], dtype=torch.float64)
    alive = torch.tensor([True, False, True])
    strengths = strengths_of(sums, torch.tensor([0.0, 3.0, 0.0]).double(), alive, learning_rate=1.0)
    expected = torch.tensor([0.0, -3.0, -1.0], dtype=torch.float64).softmax(-1)
    torch.testing.assert_close(strengths, expected)


def test_prediction_is_the_weighted_sum_of_advice():
    advice = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    assert predict(torch.tensor([0.25, 0.75]), advice).tolist() == [0.25, 1.5]


@pytest.mark.parametrize(
    ("mixture", "words"),
    [
        (torch.tensor([0.5, 0.6]), "off the simplex.*row sums from 1.1"),
        (torch.tensor([1.5, -0.5]), "smallest weight -0.5"),
        (torch.tensor([math.nan, 1.0]), "off the simplex"),
        (torch.zeros(0), "at least one expert"),
        (torch.tensor([1, 0]), "floating-point"),
    ],
)
def test_what_is_no_mixture_is_named(mixture, words):
    with pytest.raises(ConfigError, match=words):
        require_simplex(mixture)
    with pytest.raises(ConfigError, match=words):
        normalized_entropy(mixture)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_rounded_mixtures_of_every_dtype_are_accepted(dtype):
    for experts in range(1, 65):
        require_simplex(torch.full((3, experts), 1 / experts, dtype=dtype))
        require_simplex(torch.randn(3, experts, dtype=torch.float64).softmax(-1).to(dtype))
