"""Prices are taken from rewards before clipping, and what the paper proves holds for the rest."""

import copy
import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from xnas import ConfigError, ExpertsOptimizer, replay, uniform_mixture
from xnas.records import Ledger


def optimizer_of(forecasters, experts, **arguments):
    mixture = nn.Parameter(uniform_mixture(forecasters, experts).detach().double())
    return mixture, ExpertsOptimizer([mixture], **arguments)


def play_priced(rewards, prices, **arguments):
    """The optimizer after rewards (rounds, forecasters, experts), each round with prices of its own."""
    mixture, optimizer = optimizer_of(*rewards.shape[1:], **arguments)
    for paid, price in zip(rewards, prices, strict=True):
        optimizer.charge(mixture, price)
        optimizer.observe(mixture, paid[None])
    return mixture, optimizer


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    rounds=st.integers(1, 40),
    experts=st.integers(2, 6),
    scale=st.sampled_from([0.1, 1.0, 5.0]),
    bound=st.sampled_from([0.5, 1.0]),
)
def test_theorem_1_holds_for_priced_rewards_however_prices_move(seed, rounds, experts, scale, bound):
    draw = torch.Generator().manual_seed(seed)
    rewards = scale * torch.randn(rounds, 2, experts, dtype=torch.float64, generator=draw)
    prices = 2 * bound * torch.rand(rounds, 2, experts, dtype=torch.float64, generator=draw)
    mixture, optimizer = play_priced(rewards, prices, horizon=rounds, lr=0.3, reward_bound=bound)
    ledger = optimizer.ledger(mixture)
    priced = (rewards - prices).transpose(0, 1)
    expected = replay(priced, learning_rate=0.3, reward_bound=bound)
    assert ledger.regret == pytest.approx(expected.regret.tolist(), abs=1e-9)
    assert ledger.regret_bound == pytest.approx(expected.regret_bound.tolist(), abs=1e-9)
    assert all(r <= b + 1e-9 for r, b in zip(ledger.regret, ledger.regret_bound, strict=True))
    # Lemma 1: nobody who was wiped out could have won.
    best = priced.clamp(-bound, bound).sum(1).argmax(-1)
    assert bool(optimizer.alive(mixture).gather(1, best[:, None]).all())


def test_the_ledger_says_by_how_much_prices_have_lowered_each_sum():
    rewards = torch.tensor([[[0.9, 0.2]], [[1.5, -0.9]], [[0.0, 0.0]]], dtype=torch.float64)
    prices = torch.tensor([[[0.5, 0.0]], [[0.2, 0.3]], [[0.0, 0.0]]], dtype=torch.float64)
    mixture, optimizer = play_priced(rewards, prices, horizon=100)
    # Clipped to 1: 1.5 becomes 1, and so does 1.5 - 0.2; -0.9 becomes -1 where -1.2 would be owed.
    assert optimizer.cumulative_rewards(mixture).tolist()[0] == pytest.approx([0.4 + 1.0, 0.2 - 1.0])
    (charged,) = optimizer.ledger(mixture).charged
    assert charged == pytest.approx((0.5, 0.1))
    assert sum(optimizer.ledger(mixture).histogram_counts) == 6


def test_charges_survive_a_file_and_are_left_out_where_there_are_none():
    mixture, optimizer = play_priced(torch.zeros(3, 1, 2), torch.full((3, 1, 2), 0.5), horizon=9)
    ledger = optimizer.ledger(mixture)
    assert Ledger.from_json(json.loads(json.dumps(ledger.to_json()))) == ledger
    plain_mixture, plain = optimizer_of(1, 2, horizon=9)
    assert "charged" not in plain.ledger(plain_mixture).to_json()


def test_prices_of_0_change_no_bit_and_no_price_leaves_no_trace():
    rewards = torch.randn(30, 3, 4, dtype=torch.float64)
    plain_mixture, plain = optimizer_of(3, 4, horizon=30)
    for paid in rewards:
        plain.observe(plain_mixture, paid[None])
    mixture, optimizer = play_priced(rewards, torch.zeros_like(rewards), horizon=30)
    assert torch.equal(mixture, plain_mixture)
    assert torch.equal(optimizer.cumulative_rewards(mixture), plain.cumulative_rewards(plain_mixture))
    assert plain.ledger(plain_mixture).charged is None
    assert not {"prices", "charged"} & plain.state[plain_mixture].keys()


def test_several_mixtures_have_prices_of_their_own():
    mixtures = [uniform_mixture(2, 3), uniform_mixture(2, 3), uniform_mixture(1, 3)]
    optimizer = ExpertsOptimizer(mixtures, horizon=9)
    optimizer.charge(mixtures[1], torch.tensor([[0.25, 0.0, 0.0], [0.0, 0.5, 0.0]]))
    for mixture in mixtures:
        mixture.grad = torch.zeros_like(mixture)
    optimizer.step()
    sums = [optimizer.cumulative_rewards(mixture).tolist() for mixture in mixtures]
    assert sums == [[[0.0] * 3] * 2, [[-0.25, 0.0, 0.0], [0.0, -0.5, 0.0]], [[0.0] * 3]]


@pytest.mark.parametrize("charged_before", [True, False])
def test_prices_are_resumed(charged_before):
    rewards = torch.randn(20, 2, 3, dtype=torch.float64)
    price = torch.tensor([[0.3, 0.0, 0.1]] * 2, dtype=torch.float64)
    whole_mixture, whole = play_priced(rewards, price.expand(20, 2, 3), horizon=20)
    _, half = play_priced(rewards[:10], price.expand(10, 2, 3), horizon=20)
    mixture, resumed = optimizer_of(2, 3, horizon=20)
    if charged_before:
        resumed.charge(mixture, torch.zeros(2, 3))
    resumed.load_state_dict(half.state_dict())
    for paid in rewards[10:]:
        resumed.observe(mixture, paid[None])
    assert torch.equal(mixture, whole_mixture)
    assert resumed.ledger(mixture) == whole.ledger(whole_mixture)


def test_a_copy_keeps_its_prices():
    mixture, optimizer = optimizer_of(1, 2, horizon=9)
    optimizer.charge(mixture, torch.tensor([[0.5, 0.0]]))
    clone = copy.deepcopy(optimizer)
    (own,) = clone.param_groups[0]["params"]
    clone.observe(own, torch.zeros(1, 1, 2))
    assert clone.ledger(own).charged == ((0.5, 0.0),)
    assert optimizer.ledger(mixture).charged == ((0.0, 0.0),)


@pytest.mark.parametrize("prices", [torch.zeros(2, 3), torch.tensor([[0.0, torch.nan]])])
def test_prices_that_do_not_fit_are_refused(prices):
    mixture, optimizer = optimizer_of(1, 2, horizon=9)
    with pytest.raises(ConfigError, match=r"prices must be finite numbers of shape \(1, 2\)"):
        optimizer.charge(mixture, prices)
