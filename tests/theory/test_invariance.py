"""What must not matter, does not matter."""

import pytest
import torch
from generated import games
from hypothesis import given, settings
from hypothesis import strategies as st

from xnas import replay
from xnas.theory import eg_update, mixture_of, softmax_gd_update


@settings(max_examples=100)
@given(games(), st.randoms(use_true_random=False))
def test_permuting_the_experts_permutes_the_result(game, random):
    order = list(range(game.rewards.shape[1]))
    random.shuffle(order)
    arguments = {"learning_rate": game.learning_rate, "reward_bound": game.reward_bound}
    plain, shuffled = replay(game.rewards, **arguments), replay(game.rewards[:, order], **arguments)
    assert torch.equal(shuffled.wiped_at, plain.wiped_at[order])
    torch.testing.assert_close(shuffled.mixture, plain.mixture[:, order])
    torch.testing.assert_close(shuffled.regret, plain.regret)


@settings(max_examples=100)
@given(games(), st.integers(-128, 128))
def test_a_constant_added_to_all_unclipped_rewards_changes_nothing(game, units):
    # Dyadic rewards: adding a multiple of 1/64 is exact. The bound is wide enough to clip neither.
    arguments = {"learning_rate": game.learning_rate, "reward_bound": 4.0}
    plain = replay(game.rewards, **arguments)
    moved = replay(game.rewards + units / 64, **arguments)
    assert torch.equal(moved.wiped_at, plain.wiped_at)
    torch.testing.assert_close(moved.mixture, plain.mixture, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(moved.regret, plain.regret, rtol=1e-9, atol=1e-9)


@settings(max_examples=100)
@given(games(), st.floats(1e-6, 1e3))
def test_wipeouts_do_not_depend_on_the_learning_rate(game, learning_rate):
    arguments = {"reward_bound": game.reward_bound}
    plain = replay(game.rewards, learning_rate=0.1, **arguments)
    other = replay(game.rewards, learning_rate=learning_rate, **arguments)
    assert torch.equal(other.alive, plain.alive)
    assert torch.equal(other.cumulative_rewards, plain.cumulative_rewards)


@settings(max_examples=100)
@given(games())
def test_measuring_rewards_in_other_units_changes_nothing(game):
    # R, L and 1/η scale together; 4 is a power of two, so the sums stay exact.
    plain = replay(game.rewards, learning_rate=game.learning_rate, reward_bound=game.reward_bound)
    scaled = replay(
        4 * game.rewards,
        learning_rate=game.learning_rate / 4,
        reward_bound=4 * game.reward_bound,
    )
    assert torch.equal(scaled.wiped_at, plain.wiped_at)
    torch.testing.assert_close(scaled.mixture, plain.mixture)
    torch.testing.assert_close(scaled.regret, 4 * plain.regret)


def eg_rule(log_weights, rewards, rate):
    everybody = torch.ones_like(log_weights, dtype=torch.bool)
    return rate * eg_update(log_weights / rate, everybody, rewards)


def gd_rule(log_weights, rewards, rate):
    return softmax_gd_update(log_weights, rewards, learning_rate=rate)


@pytest.mark.parametrize("rule", [eg_rule, gd_rule])
class TestEveryUpdateRule:
    """The contract of an update of ln v by rewards."""

    def test_stays_on_the_simplex(self, rule):
        state = torch.zeros(8, 5, dtype=torch.float64)
        for _ in range(50):
            state = rule(state, 3 * torch.randn(8, 5, dtype=torch.float64), 0.5)
        u = mixture_of(state, torch.ones(8, 5, dtype=torch.bool), learning_rate=1.0)
        assert (u >= 0).all()
        torch.testing.assert_close(u.sum(-1), torch.ones(8, dtype=torch.float64))

    def test_leaves_the_mixture_alone_when_all_earn_the_same(self, rule):
        state = torch.randn(5, dtype=torch.float64)
        after = rule(state, torch.full((5,), 0.7, dtype=torch.float64), 0.5)
        torch.testing.assert_close(after.softmax(-1), state.softmax(-1))

    def test_moves_a_uniform_mixture_towards_higher_rewards(self, rule):
        rewards = torch.tensor([0.3, -0.2, 0.9, 0.0], dtype=torch.float64)
        after = rule(torch.zeros(4, dtype=torch.float64), rewards, 0.5).softmax(-1)
        assert after.argsort().tolist() == rewards.argsort().tolist()

    def test_commutes_with_a_permutation_of_experts(self, rule):
        state, rewards = torch.randn(2, 6, dtype=torch.float64)
        order = torch.randperm(6)
        torch.testing.assert_close(
            rule(state[order], rewards[order], 0.5), rule(state, rewards, 0.5)[order]
        )

    def test_is_independent_between_forecasters(self, rule):
        state, rewards = torch.randn(2, 3, 4, dtype=torch.float64)
        torch.testing.assert_close(rule(state, rewards, 0.5)[1], rule(state[1], rewards[1], 0.5))
