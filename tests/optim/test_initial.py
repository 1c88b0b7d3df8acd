"""`ExpertsOptimizer(initial=...)`: a game that does not start uniform."""

import copy
import math
from fractions import Fraction

import pytest
import torch
from generated import games
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.algorithm_1 import algorithm_1, powers_of_two
from torch import nn

from xnas import ConfigError, ExpertsOptimizer, RoundError, uniform_mixture


def play(optimizer, mixture, rewards):
    """Feed rewards (rounds, experts) to one forecaster; the mixtures before each round."""
    predicted = []
    for round_rewards in rewards:
        predicted.append(mixture.detach()[0].tolist())
        mixture.grad = -round_rewards[None].to(mixture.dtype)
        optimizer.step()
    return predicted


def begun(start, **arguments):
    mixture = nn.Parameter(torch.full((1, len(start)), 1 / len(start), dtype=torch.float64))
    return mixture, ExpertsOptimizer([mixture], initial=start, **arguments)


@st.composite
def powers(draw, experts):
    """Weights of `experts` that are powers of two, as whole numbers."""
    return [2 ** draw(st.integers(0, 9)) for _ in range(experts)]


@settings(max_examples=80)
@given(st.data(), st.integers(2, 5), st.integers(1, 10), st.sampled_from([1, Fraction(1, 2)]))
def test_a_game_from_anywhere_is_the_printed_algorithm_with_those_weights(
    data, experts, rounds, relaxation
):
    level = st.sampled_from([-2, 0, 2, 1])
    rewards = [[data.draw(level) for _ in range(experts)] for _ in range(rounds)]
    weights = data.draw(powers(experts))
    oracle = algorithm_1(
        rewards,
        growth=powers_of_two,
        reward_bound=2,
        horizon=rounds,
        relaxation=relaxation,
        start=[Fraction(w) for w in weights],
    )
    mixture, optimizer = begun(
        [w / sum(weights) for w in weights],
        lr=math.log(2),
        reward_bound=2.0,
        horizon=rounds,
        relaxation=float(relaxation),
    )
    predicted = play(optimizer, mixture, torch.tensor(rewards, dtype=torch.float64))
    for mine, theirs in zip(predicted, oracle.mixtures, strict=True):
        assert mine == pytest.approx([float(u) for u in theirs], abs=1e-12)
    ledger = optimizer.ledger(mixture)
    assert {w.expert: w.round_index for w in ledger.wipeouts} == oracle.wiped
    factor = math.prod(oracle.factors)
    assert ledger.log_wipeout_factor[0] == pytest.approx(math.log(factor), abs=1e-9)


@settings(max_examples=60)
@given(st.data(), games(max_rounds=16))
def test_regret_against_every_expert_is_within_the_bound_with_its_own_initial_weight(data, game):
    rounds, experts = game.rewards.shape
    weights = torch.tensor(data.draw(powers(experts)), dtype=torch.float64)
    start = weights / weights.sum()
    mixture, optimizer = begun(
        start, lr=game.learning_rate, reward_bound=game.reward_bound, horizon=rounds
    )
    predicted = torch.tensor(play(optimizer, mixture, game.rewards), dtype=torch.float64)
    ledger = optimizer.ledger(mixture)
    gained = (predicted * game.rewards).sum()
    eta, drift = game.learning_rate, game.learning_rate * rounds * game.reward_bound**2 / 2
    regrets = game.rewards.sum(0) - gained
    bounds = drift - (start.log() + ledger.log_wipeout_factor[0]) / eta
    assert bool((regrets <= bounds + 1e-9).all())  # wiped experts too
    alive = optimizer.alive(mixture)[0]
    best = torch.where(alive, game.rewards.sum(0), -torch.inf)
    likeliest = torch.where(best == best.max(), start, 0).argmax()
    assert ledger.regret[0] == pytest.approx(regrets[likeliest].item(), abs=1e-9)
    assert ledger.regret_bound[0] == pytest.approx(bounds[likeliest].item(), rel=1e-9)
    assert ledger.regret[0] <= ledger.regret_bound[0] + 1e-9


def test_a_handicap_is_counted_when_experts_are_wiped_out():
    # With η = ln 2, weights are powers of two: an eighth is a handicap of 3 rewards. Four rounds are
    # left after the first, in which a gap of 8 can close: 3 + 2 is less, and 3 + 6 is not.
    rewards = torch.tensor([[1.0, -1.0]] * 5, dtype=torch.float64)
    start = torch.tensor([8 / 9, 1 / 9], dtype=torch.float64)
    mixture, optimizer = begun(start, lr=math.log(2), horizon=5)
    oracle = algorithm_1(
        rewards.int().tolist(), growth=powers_of_two, start=[8, 1], reward_bound=1, horizon=5
    )
    play(optimizer, mixture, rewards)
    (wiped,) = optimizer.ledger(mixture).wipeouts
    assert wiped.round_index == oracle.wiped[1] == 2  # 3 + 4 > 2 · 3
    even, plain = begun(torch.tensor([0.5, 0.5]), lr=math.log(2), horizon=5)
    play(plain, even, rewards)
    assert plain.ledger(even).wipeouts[0].round_index == 3


def test_an_equal_initial_mixture_plays_the_uniform_game():
    rewards = torch.randn(12, 5, dtype=torch.float64)
    mixture, optimizer = begun([0.2] * 5, lr=0.4, horizon=20)
    other = nn.Parameter(torch.full((1, 5), 0.2, dtype=torch.float64))
    plain = ExpertsOptimizer([other], lr=0.4, horizon=20)
    torch.testing.assert_close(play(optimizer, mixture, rewards), play(plain, other, rewards))
    mine, theirs = optimizer.ledger(mixture), plain.ledger(other)
    assert mine.regret_bound == pytest.approx(theirs.regret_bound)
    assert "ln(1/u_0)" in mine.bound_note
    assert "every" not in theirs.bound_note


def test_mixtures_strengths_and_sums_start_where_they_were_told():
    start = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    mixture = uniform_mixture(2, 3)
    optimizer = ExpertsOptimizer([mixture], initial=start, lr=0.5, horizon=10)
    torch.testing.assert_close(mixture.detach(), start)
    torch.testing.assert_close(optimizer.strengths(mixture), start.double())
    assert optimizer.comparable_sums(mixture).argmax(-1).tolist() == [0, 2]
    assert torch.equal(optimizer.cumulative_rewards(mixture), torch.zeros(2, 3).double())
    optimizer.wipe(mixture, torch.tensor([[True, False, False], [False] * 3]))
    torch.testing.assert_close(mixture.detach()[0], torch.tensor([0, 2 / 3, 1 / 3]))
    assert optimizer.ledger(mixture).log_wipeout_factor[0] == pytest.approx(math.log(1 / 0.3))
    torch.testing.assert_close(optimizer.strengths(mixture)[1], start[1].double())


def test_groups_may_start_differently_and_later_ones_too():
    one, two, three = (uniform_mixture(1, 2) for _ in range(3))
    optimizer = ExpertsOptimizer(
        [{"params": [one], "initial": [0.9, 0.1]}, {"params": [two]}], horizon=9, lr=0.5
    )
    optimizer.add_param_group({"params": [three], "initial": [0.4, 0.6]})
    starts = [m.detach()[0].tolist() for m in (one, two, three)]
    assert starts == [pytest.approx(s) for s in ([0.9, 0.1], [0.5, 0.5], [0.4, 0.6])]
    assert all("initial" not in group for group in optimizer.param_groups)
    for mixture in (one, two, three):
        mixture.grad = torch.tensor([[-1.0, 0.0]])
    optimizer.step()
    odds = [(m[0, 0] / m[0, 1]).item() for m in (one, two, three)]
    assert odds == pytest.approx([9 * math.exp(0.5), math.exp(0.5), math.exp(0.5) * 2 / 3], rel=1e-5)


def test_a_resumed_game_goes_on_from_its_initial_mixture():
    rewards = torch.randn(10, 4, dtype=torch.float64)
    start = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
    mixture, optimizer = begun(start, lr=0.3, horizon=10)
    untouched = copy.deepcopy(optimizer.state_dict())
    play(optimizer, mixture, rewards[:4])
    saved = copy.deepcopy(optimizer.state_dict())
    whole = play(optimizer, mixture, rewards[4:])

    other, resumed = begun(torch.tensor([0.25] * 4), lr=0.3, horizon=10)
    resumed.load_state_dict(saved)
    assert play(resumed, other, rewards[4:]) == whole
    assert resumed.ledger(other) == optimizer.ledger(mixture)
    resumed.load_state_dict(untouched)
    torch.testing.assert_close(other.detach()[0], start)
    twin = copy.deepcopy(optimizer)
    (theirs,) = (p for group in twin.param_groups for p in group["params"])
    assert twin.ledger(theirs) == optimizer.ledger(mixture)


def test_states_of_the_other_kind_are_refused():
    _, optimizer = begun([0.9, 0.1], lr=0.3, horizon=10)
    plain = ExpertsOptimizer([uniform_mixture(1, 2)], lr=0.3, horizon=10)
    with pytest.raises(ConfigError, match="saved by an optimizer that started from an initial mixture"):
        plain.load_state_dict(optimizer.state_dict())
    with pytest.raises(ConfigError, match="started uniform; build this one without initial"):
        optimizer.load_state_dict(plain.state_dict())


@pytest.mark.parametrize(
    ("initial", "words"),
    [
        ([0.5, 0.6], "off the simplex"),
        ([0.5, 0.5, 0.0], r"initial must be .* here \(2,\) or \(1, 2\), got \(3,\)"),
        ([1.0, 0.0], "initial has an expert of weight 0, .* give it a small weight, or leave"),
        ([math.nan, 1.0], "off the simplex"),
        ("much", "initial must be numbers"),
        (torch.tensor([1, 0]), "a mixture is a floating-point tensor"),
    ],
)
def test_what_nothing_can_start_from_is_named(initial, words):
    mixture = uniform_mixture(1, 2)
    with pytest.raises(ConfigError, match=words):
        ExpertsOptimizer([mixture], initial=initial, horizon=10)
    assert mixture.tolist() == [[0.5, 0.5]]


def test_a_rate_of_zero_gives_a_handicap_no_size():
    mixture, optimizer = begun([0.9, 0.1], lr=0.3, horizon=10)
    optimizer.param_groups[0]["lr"] = torch.tensor(0.0)
    with pytest.raises(RoundError, match="settings are out of range: lr 0"):
        play(optimizer, mixture, torch.ones(1, 2))
