"""What must not matter, does not matter."""

import torch
from generated import games
from hypothesis import given, settings
from hypothesis import strategies as st

from xnas import replay


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
