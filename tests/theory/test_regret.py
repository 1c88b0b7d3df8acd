"""Regret and its bound."""

import pytest
import torch

from xnas import optimal_learning_rate
from xnas.theory import linearized_regret, optimal_regret_bound, regret, regret_bound


def test_regret_counts_against_the_best_expert_of_the_whole_game():
    own = torch.tensor([1.0, 2.0])
    theirs = torch.tensor([[0.0, 3.0], [3.0, 1.0]])
    assert regret(own, theirs).item() == 0  # 3 against min(3, 4)
    uniform = torch.full((2, 2), 0.5)
    assert linearized_regret(uniform, -theirs).item() == pytest.approx(3.5 - 3)


def test_the_bound_at_the_best_rate_has_its_closed_form(known):
    assert optimal_regret_bound(8, 7_500_000) == pytest.approx(
        known["bound_values"]["T=7.5e6,N=8: L*sqrt(2 T ln N)"]
    )
    rate = optimal_learning_rate(5, 300, 1.5)
    general = regret_bound(5, 300, learning_rate=rate, reward_bound=1.5, log_wipeout_factor=0.4)
    closed = optimal_regret_bound(5, 300, reward_bound=1.5, log_wipeout_factor=0.4)
    assert general.item() == pytest.approx(closed, rel=1e-14)
