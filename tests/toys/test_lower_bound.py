"""The game of fair coins: what nobody can undercut."""

import math

import pytest
import torch

from xnas import toys
from xnas.theory import optimal_learning_rate
from xnas.toys.lower_bound import expected_maximum, play


@pytest.mark.parametrize(
    ("experts", "expected"),
    [(1, 0.0), (2, 1 / math.sqrt(math.pi)), (3, 1.5 / math.sqrt(math.pi))],  # known in closed form
)
def test_the_expected_maximum_of_normals_is_known(experts, expected):
    assert expected_maximum(experts) == pytest.approx(expected, abs=1e-9)


def test_the_expected_maximum_of_many_normals_nears_its_limit():
    shares = [expected_maximum(n) / math.sqrt(2 * math.log(n)) for n in (2, 10, 100, 10_000)]
    assert shares == sorted(shares)
    assert 0.85 < shares[-1] < 1


def test_regret_is_that_of_a_game_played_by_hand():
    experts, rounds, runs, bound = 3, 6, 4, 2.0
    draw = torch.Generator().manual_seed(7)
    coins = [2 * torch.randint(0, 2, (runs, experts), generator=draw) - 1 for _ in range(rounds)]
    rate, regrets = optimal_learning_rate(experts, rounds, bound), []
    for run in range(runs):
        sums, alive, gained = [0.0] * experts, [True] * experts, 0.0
        for t in range(1, rounds + 1):
            paid = [bound * float(c) for c in coins[t - 1][run]]
            weights = [math.exp(rate * s) * a for s, a in zip(sums, alive, strict=True)]
            gained += sum(w * r for w, r in zip(weights, paid, strict=True)) / sum(weights)
            sums = [s + r * a for s, r, a in zip(sums, paid, alive, strict=True)]
            lead = max(s for s, a in zip(sums, alive, strict=True) if a)
            reach = 2 * bound * (rounds - t)
            alive = [a and s >= lead - reach for s, a in zip(sums, alive, strict=True)]
        totals = [bound * sum(float(c[run][i]) for c in coins) for i in range(experts)]
        regrets.append(max(totals) - gained)
    xnas = next(g for g in play(experts, rounds, runs=runs, seed=7, reward_bound=bound))
    assert xnas.regret == pytest.approx(sum(regrets) / runs)
    assert xnas.bound == pytest.approx(bound * math.sqrt(2 * rounds * math.log(experts)))


def test_every_forecaster_has_the_regret_of_the_best_random_walk():
    for game in play(8, 200, runs=400, seed=1):
        # Four standard errors, and 2 % for walks of so few steps.
        assert abs(game.regret - game.expected) < 4 * game.regret_error + 0.02 * game.expected
        assert game.regret < game.bound


@pytest.mark.slow
def test_the_study_varies_experts_and_rounds():
    study = toys.coin_study(runs=20)
    assert [g.experts for g in study.series("xnas", rounds=1000)] == [2, 4, 8, 16, 32, 64, 128, 256]
    assert [g.rounds for g in study.series("gd", experts=8)] == [30, 100, 300, 1000, 3000]
    assert study == toys.coin_study(runs=20)
