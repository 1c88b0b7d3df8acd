"""Ranks and agreement of orders, by hand."""

import pytest

from xnas.samplers.ranks import mean_ranks, pairwise_accuracy, rank_correlation


def test_equal_values_share_their_mean_rank():
    assert mean_ranks([0.5, 0.1, 0.5, 0.9, 0.5]).tolist() == [2, 0, 2, 4, 2]


def test_rank_correlation_is_of_order_alone():
    assert rank_correlation([1, 2, 3], [0.1, 0.2, 9.0]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 2, 3, 4], [2, 1, 4, 3]) == pytest.approx(0.6)  # 1 - 6·4 / (4·15)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None
    assert rank_correlation([1], [1]) is None


def test_pairwise_accuracy_is_strict():
    truth = [0.1, 0.5, 0.3]
    assert pairwise_accuracy(truth, truth) == 1
    assert pairwise_accuracy([-v for v in truth], truth) == 0
    assert pairwise_accuracy([0.5, 0.5, 0.5], truth) == 0
    assert pairwise_accuracy([1, 2, 3], [0, 0, 1]) == 1  # the equal pair does not count
    assert pairwise_accuracy([1, 2], [3, 3]) is None
