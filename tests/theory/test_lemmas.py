"""Lemma 1, Lemma 2 and Theorem 1 as properties of generated games."""

import math

import numpy as np
import torch
from generated import games
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from xnas import replay
from xnas.theory import (
    eg_update,
    log_wipeout_factor,
    mixture_of,
    optimal_learning_rate,
    predict,
    regret,
    regret_bound,
    surviving_experts,
)

ROUNDING = 1e-9  # of float64 sums over at most a few hundred rounds


def play(game, **changes):
    arguments = {"learning_rate": game.learning_rate, "reward_bound": game.reward_bound} | changes
    return replay(game.rewards, **arguments)


@settings(max_examples=300)
@given(games())
def test_best_expert_in_hindsight_is_never_wiped_out(game):
    result = play(game)
    totals = game.rewards.sum(0)
    best = totals == totals.max()
    assert (result.wiped_at[best] == 0).all()
    assert result.alive[-1][best].all()


@settings(max_examples=100)
@given(games(exact=False))
def test_best_expert_survives_with_any_float_rewards(game):
    result = play(game)
    assert result.wiped_at[game.rewards.sum(0).argmax()] == 0


@settings(max_examples=200)
@given(games())
def test_at_the_horizon_only_leaders_are_left(game):
    result = play(game)
    totals = game.rewards.sum(0)
    assert torch.equal(result.alive[-1], totals == totals.max())


@settings(max_examples=100)
@given(games(), st.sampled_from([0.05, 0.3, 0.7]))
def test_relaxed_wipeout_is_never_later_and_keeps_a_leader(game, relaxation):
    strict, relaxed = play(game), play(game, relaxation=relaxation)
    gone = strict.wiped_at > 0
    first_strict = int(strict.wiped_at[gone].min()) if gone.any() else math.inf
    early = relaxed.wiped_at[relaxed.wiped_at > 0]
    first_relaxed = int(early.min()) if len(early) else math.inf
    assert first_relaxed <= first_strict
    assert relaxed.alive.any(-1).all()


def test_relaxation_below_one_can_wipe_out_the_best_expert():
    # Expert 1 is behind by 2 after one of three rounds and would win; ζ = 1/10 does not wait.
    rewards = torch.tensor([[1.0, -1.0], [-1.0, 1.0], [-1.0, 1.0]])
    assert replay(rewards, learning_rate=1.0).wiped_at.tolist() == [3, 0]
    assert replay(rewards, learning_rate=1.0, relaxation=0.1).wiped_at.tolist() == [0, 1]


@settings(max_examples=300)
@given(games())
def test_aggregated_wipeout_factor_lies_between_one_and_the_number_of_experts(game):
    result = play(game)
    gamma = result.aggregated_wipeout_factor.item()
    experts, left = game.rewards.shape[1], int(result.alive[-1].sum())
    if (result.wiped_at > 0).any():
        assert 1 <= gamma < experts / left  # sharper than Lemma 2, from its proof
    else:
        assert gamma == 1
    assert (result.wipeout_factors >= 1).all()


@settings(max_examples=300)
@given(games())
def test_regret_never_exceeds_the_bound(game):
    result = play(game)
    assert result.regret <= result.regret_bound + ROUNDING


@settings(max_examples=100)
@given(games(exact=False))
def test_regret_never_exceeds_the_bound_at_the_optimal_rate(game):
    rounds, experts = game.rewards.shape
    result = play(game, learning_rate=optimal_learning_rate(experts, rounds, game.reward_bound))
    assert result.regret <= result.regret_bound + ROUNDING


@settings(max_examples=100)
@given(games(max_rounds=12), st.integers(0, 12))
def test_the_bound_covers_every_round_of_a_longer_game(game, more):
    rounds = len(game.rewards)
    result = play(game, horizon=rounds + more)
    assert result.regret <= result.regret_bound + ROUNDING


def test_wipeout_factors_with_the_misprinted_weights_break_lemma_2():
    # One round: with v_{t-1} = (1, 1) in the numerator, Γ = 1 + 1/exp(-3) > 2 = N.
    rewards = torch.tensor([[-1.0, -1.25]])
    result = replay(rewards, learning_rate=3.0, reward_bound=2.0)
    assert result.wiped_at.tolist() == [0, 1]
    assert 1 + 1 / math.exp(3.0 * -1.0) > 2
    assert 1 <= result.aggregated_wipeout_factor < 2


LOSSES = {
    # loss of a prediction p against an outcome y, and a bound on |∇ℓ · f| for |f|, |p|, |y| <= 1
    "squared": (lambda p, y: 0.5 * ((p - y) ** 2).sum(-1), 2.0),
    "absolute": (lambda p, y: (p - y).abs().sum(-1), math.sqrt(3)),
    "logistic": (lambda p, y: torch.nn.functional.softplus(-(p * y).sum(-1)), 1.0),
    "hinge": (lambda p, y: torch.relu(1 - (p * y).sum(-1)), 1.0),
}


def unit_ball(shape):
    """Vectors of three numbers with norm at most 1."""
    cells = hnp.arrays(np.float64, (*shape, 3), elements=st.floats(-1, 1, allow_subnormal=False))
    return cells.map(lambda x: torch.from_numpy(x / np.sqrt(3)))


@settings(max_examples=150)
@given(st.data(), st.sampled_from(sorted(LOSSES)), st.sampled_from([0.05, 0.3, 1.0, 4.0]))
def test_regret_never_exceeds_the_bound_for_convex_losses(data, name, learning_rate):
    loss, bound = LOSSES[name]
    rounds, experts = data.draw(st.integers(1, 12)), data.draw(st.integers(2, 5))
    advice = data.draw(unit_ball((rounds, experts)))
    outcomes = data.draw(unit_ball((rounds,)))
    sums, alive = torch.zeros(experts, dtype=torch.float64), torch.ones(experts, dtype=torch.bool)
    own, log_gamma = [], torch.zeros((), dtype=torch.float64)
    for t in range(rounds):
        u = mixture_of(sums, alive, learning_rate=learning_rate)
        prediction = predict(u, advice[t]).requires_grad_()
        value = loss(prediction, outcomes[t])
        (gradient,) = torch.autograd.grad(value, prediction)
        rewards = -advice[t] @ gradient
        assert rewards.abs().max() <= bound + 1e-12
        own.append(value.detach())
        sums = eg_update(sums, alive, rewards)
        kept = surviving_experts(sums, alive, reward_bound=bound, rounds_left=rounds - 1 - t)
        log_gamma += log_wipeout_factor(sums, alive, kept, learning_rate=learning_rate)
        alive = kept
    theirs = loss(advice, outcomes[:, None])
    limit = regret_bound(
        experts,
        rounds,
        learning_rate=learning_rate,
        reward_bound=bound,
        log_wipeout_factor=log_gamma,
    )
    assert regret(torch.stack(own), theirs) <= limit + ROUNDING
