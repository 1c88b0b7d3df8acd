"""`replay` against exact fractions, against the printed algorithm, and against itself."""

import math
from fractions import Fraction

import pytest
import torch
from generated import GRID, games
from hypothesis import given, settings
from oracles.algorithm_1 import algorithm_1, exponential, powers_of_two

from xnas import ConfigError, replay


def test_worked_examples_come_out_as_exact_fractions(known):
    for example in known["exact_examples"]:
        result = replay(
            torch.tensor(example["rewards"]),
            learning_rate=math.log(2),
            reward_bound=example["L"],
            relaxation=example["zeta"],
        )
        factors = [float(Fraction(g)) for g in example["Gamma"]]
        assert result.wipeout_factors.tolist() == pytest.approx(factors, abs=1e-15)
        gamma = float(Fraction(example["gamma_T"]))
        assert result.aggregated_wipeout_factor.item() == pytest.approx(gamma, abs=1e-15)
        wiped = [[i, t] for i, t in enumerate(result.wiped_at.tolist()) if t]
        assert wiped == example["wiped_expert_round"]
        assert result.alive[-1].nonzero().flatten().tolist() == example["survivors"]
        weights = 2.0**result.cumulative_rewards
        assert weights.tolist() == [float(Fraction(v)) for v in example["v_final"]]
        torch.testing.assert_close(
            result.mixture, torch.tensor(example["u_rounds"], dtype=torch.float64), rtol=0, atol=1e-12
        )
        assert result.regret.item() == pytest.approx(example["regret_linear"], abs=1e-12)
        assert result.regret_bound.item() == pytest.approx(example["bound"], abs=1e-12)


@settings(max_examples=200)
@given(games())
def test_replay_decides_like_exact_fractions_where_ties_decide(game):
    # In units of 1/64 everything is whole, and exp(ln 2 x) = 2**x is an exact fraction.
    whole = (game.rewards * GRID).long()
    bound = int(game.reward_bound * GRID)
    oracle = algorithm_1(whole.tolist(), growth=powers_of_two, reward_bound=bound, horizon=len(whole))
    result = replay(whole, learning_rate=math.log(2), reward_bound=bound)
    assert result.wiped_at.tolist() == [oracle.wiped.get(i, 0) for i in range(whole.shape[1])]
    exact = torch.tensor([[float(u) for u in row] for row in oracle.mixtures], dtype=torch.float64)
    torch.testing.assert_close(result.mixture, exact, rtol=1e-12, atol=1e-15)
    factors = [float(g) for g in oracle.factors]
    assert result.wipeout_factors.tolist() == pytest.approx(factors, rel=1e-12)


@pytest.mark.parametrize("relaxation", [1.0, 0.4])
def test_replay_equals_the_printed_algorithm_in_floats(relaxation):
    rewards = torch.randn(100, 6, dtype=torch.float64).clamp(-1, 1)
    oracle = algorithm_1(
        rewards.tolist(),
        growth=exponential(0.2),
        reward_bound=1.0,
        horizon=100,
        relaxation=relaxation,
    )
    result = replay(rewards, learning_rate=0.2, relaxation=relaxation)
    assert result.wiped_at.tolist() == [oracle.wiped.get(i, 0) for i in range(6)]
    torch.testing.assert_close(result.mixture, torch.tensor(oracle.mixtures, dtype=torch.float64))
    assert math.prod(oracle.factors) == pytest.approx(result.aggregated_wipeout_factor.item())


def test_replay_is_batched_over_any_leading_dimensions():
    rewards = torch.randn(2, 3, 20, 4, dtype=torch.float64)
    together = replay(rewards, learning_rate=0.3, reward_bound=1.5)
    for i in range(2):
        for j in range(3):
            alone = replay(rewards[i, j], learning_rate=0.3, reward_bound=1.5)
            for name in alone.__slots__:
                assert torch.equal(getattr(together, name)[i, j], getattr(alone, name)), name


def test_shapes_are_those_of_the_documentation():
    result = replay(torch.zeros(5, 7, 3), learning_rate=1.0)
    assert result.mixture.shape == (5, 7, 3)
    assert result.alive.shape == (5, 8, 3)
    assert result.wiped_at.shape == result.cumulative_rewards.shape == (5, 3)
    assert result.wipeout_factors.shape == (5, 7)
    assert result.aggregated_wipeout_factor.shape == (5,)
    assert result.regret.shape == result.regret_bound.shape == (5,)


def test_rewards_are_clipped_before_anything_else():
    wild, tame = torch.tensor([[9.0, -9.0]] * 4), torch.tensor([[1.0, -1.0]] * 4)
    assert replay(wild, learning_rate=0.5).wiped_at.tolist() == [0, 3]
    assert torch.equal(replay(wild, learning_rate=0.5).mixture, replay(tame, learning_rate=0.5).mixture)
    assert torch.equal(replay(wild, learning_rate=0.5).regret, replay(tame, learning_rate=0.5).regret)


def test_a_longer_horizon_replays_the_start_of_a_longer_game():
    rewards = torch.randn(30, 4, dtype=torch.float64).clamp(-1, 1)
    whole = replay(rewards, learning_rate=0.3)
    start = replay(rewards[:12], learning_rate=0.3, horizon=30)
    assert torch.equal(start.mixture, whole.mixture[:12])
    assert torch.equal(start.alive, whole.alive[:13])


def test_sums_of_wiped_experts_are_frozen():
    rewards = torch.tensor([[1.0, -1.0]] * 3 + [[1.0, 1.0]] * 1)
    assert replay(rewards, learning_rate=0.1).cumulative_rewards.tolist() == [4.0, -3.0]


def test_overflow_sized_sums_give_finite_mixtures():
    rewards = torch.tensor([[1e9, -1e9, 1e9]] * 50)
    result = replay(rewards, learning_rate=100.0, reward_bound=1e9)
    assert result.mixture.isfinite().all()
    assert result.mixture[-1].tolist() == [0.5, 0.0, 0.5]
    assert result.aggregated_wipeout_factor == 1


def test_a_single_expert_has_no_regret_and_is_never_wiped():
    result = replay(torch.randn(10, 1), learning_rate=0.1)
    assert result.wiped_at.tolist() == [0]
    assert result.regret.abs() < 1e-12
    assert result.regret_bound == 0


def test_no_rounds_leave_everybody_alive():
    result = replay(torch.zeros(0, 3), learning_rate=0.1)
    assert result.mixture.shape == (0, 3)
    assert result.alive.tolist() == [[True] * 3]


def test_plain_lists_are_taken():
    assert replay([[1, 0], [0, 1]], learning_rate=0.1).wiped_at.tolist() == [0, 0]


def test_lists_are_read_in_double_precision():
    assert replay([[0.1, 0.0]], learning_rate=0.1).cumulative_rewards.tolist() == [0.1, 0.0]


@pytest.mark.parametrize(
    ("rewards", "arguments", "words"),
    [
        ([[1.0, 0.0]], {"horizon": 0}, "horizon is 0, but 1 rounds"),
        ([[1.0, 0.0]], {"horizon": math.nan}, "horizon must be a whole number of rounds, got nan"),
        ([[1.0, 0.0]], {"learning_rate": 1e308}, r"learning_rate 1e\+308 overflows"),
        ([[1.0, 0.0]], {"learning_rate": 0.0}, "learning_rate must be positive and finite, got 0.0"),
        (
            [[1.0, 0.0]],
            {"learning_rate": math.inf},
            "learning_rate must be positive and finite, got inf",
        ),
        ([[1.0, 0.0]], {"reward_bound": -1.0}, "reward_bound must be positive and finite, got -1.0"),
        ([[1.0, 0.0]], {"relaxation": 0.0}, r"relaxation must lie in \(0, 1\], got 0.0"),
        ([[1.0, 0.0]], {"relaxation": 1.5}, r"relaxation must lie in \(0, 1\], got 1.5"),
        ([[math.nan, 0.0]], {}, "rewards must be finite, got nan"),
        ([[-math.inf, 0.0]], {}, "rewards must be finite, got -inf"),
        ([1.0, 2.0], {}, r"rewards must be \(..., rounds, experts\).*got shape \(2,\)"),
        ([[1.0, 0.0], [1.0]], {}, r"as many experts in every round, got \[\[1.0, 0.0\], \[1.0\]\]"),
        ("abc", {}, r"rewards must be numbers \(..., rounds, experts\), .* got 'abc'"),
        ([[1.0, 0.0]], {"learning_rate": "x"}, "learning_rate must be a number such as 0.1, got 'x'"),
        ([[1.0, 0.0]], {"relaxation": None}, "relaxation must be a number such as 0.1, got None"),
        ([[], []], {}, r"at least one expert, got shape \(2, 0\)"),
    ],
)
def test_bad_input_is_named(rewards, arguments, words):
    with pytest.raises(ConfigError, match=words):
        replay(rewards, **{"learning_rate": 0.1} | arguments)
