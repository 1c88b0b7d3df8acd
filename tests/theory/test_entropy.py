"""Entropy of mixtures: 1 for uniform ones, 0 for one expert alone."""

import math

import pytest
import torch

from xnas import normalized_entropy


def test_entropy_is_one_for_uniform_and_zero_for_one_hot_mixtures():
    assert normalized_entropy(torch.full((14, 7), 1 / 7)).item() == pytest.approx(1, abs=1e-7)
    assert normalized_entropy(torch.eye(7)).item() == 0


def test_entropy_is_the_mean_over_forecasters():
    mixture = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]])
    assert normalized_entropy(mixture).item() == pytest.approx((math.log(2) / math.log(4) + 1) / 2)
    assert normalized_entropy(torch.stack([mixture, mixture])).shape == (2,)
    assert normalized_entropy(mixture[0]).item() == pytest.approx(0.5)


def test_entropy_of_a_single_expert_is_zero():
    assert normalized_entropy(torch.ones(3, 1)).item() == 0


def test_entropy_does_not_care_about_the_order_of_experts():
    mixture = torch.randn(5, 6, dtype=torch.float64).softmax(-1)
    torch.testing.assert_close(normalized_entropy(mixture), normalized_entropy(mixture.flip(-1)))
