"""The ledger adds up."""

import dataclasses
import json
import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from xnas import ExpertsOptimizer, replay, uniform_mixture


def played(rewards, **arguments):
    """Ledger after playing rewards (rounds, forecasters, experts)."""
    mixture = nn.Parameter(uniform_mixture(*rewards.shape[1:]).detach().double())
    optimizer = ExpertsOptimizer([mixture], **{"horizon": len(rewards)} | arguments)
    for round_rewards in rewards:
        mixture.grad = -round_rewards.double()
        optimizer.step()
    return optimizer.ledger(mixture)


def test_regret_bound_and_wipeouts_are_those_of_replay():
    rewards = torch.randn(60, 4, 5, dtype=torch.float64)
    ledger = played(rewards, lr=0.3)
    expected = replay(rewards.transpose(0, 1), learning_rate=0.3)
    assert ledger.regret == pytest.approx(expected.regret.tolist(), abs=1e-12)
    assert ledger.regret_bound == pytest.approx(expected.regret_bound.tolist(), abs=1e-12)
    gammas = expected.aggregated_wipeout_factor.log().tolist()
    assert ledger.log_wipeout_factor == pytest.approx(gammas, abs=1e-12)
    found = {(w.forecaster, w.expert): w.round_index for w in ledger.wipeouts}
    wiped = {
        (i, j): t for i, row in enumerate(expected.wiped_at.tolist()) for j, t in enumerate(row) if t
    }
    assert found == wiped
    assert [w.round_index for w in ledger.wipeouts] == sorted(found.values())
    assert ledger.living == 20 - len(found)
    assert "covers all experts" in ledger.bound_note


def test_histogram_counts_every_reward_of_a_living_expert_once():
    rewards = 0.6 * torch.randn(40, 3, 4, dtype=torch.float64)
    ledger = played(rewards, horizon=10_000, reward_bound=0.5)  # too long a horizon to wipe anybody
    assert ledger.wipeouts == ()
    scaled = (rewards / 0.5).flatten()
    edges = (-math.inf, *ledger.histogram_edges, math.inf)
    counts = [int(((scaled > low) & (scaled <= high)).sum()) for low, high in pairwise(edges)]
    assert ledger.histogram_counts == tuple(counts)
    assert ledger.clipped_share == pytest.approx((scaled.abs() > 1).double().mean().item())


def test_rewards_at_the_bound_are_not_clipped():
    assert played(torch.tensor([[[1.0, -1.0]]] * 4)).clipped_share == 0
    assert played(torch.tensor([[[1.5, -1.0]]] * 2), horizon=9).clipped_share == 0.5


def test_wiped_experts_leave_the_histogram():
    ledger = played(torch.tensor([[[1.0, -1.0]]] * 4))  # expert 1 goes in round 3
    assert sum(ledger.histogram_counts) == 7


def test_relaxation_limits_the_bound_to_living_experts():
    ledger = played(torch.randn(30, 2, 3), relaxation=0.1)
    assert ledger.regret_bound is not None
    assert "covers living experts only" in ledger.bound_note
    assert all(r <= b + 1e-9 for r, b in zip(ledger.regret, ledger.regret_bound, strict=True))


def test_accounts_across_a_change_of_the_learning_rate_are_those_of_a_plain_loop():
    rewards = torch.randn(40, 5, dtype=torch.float64).clamp(-1, 1)
    rewards[:, 0] = rewards[:, 0].abs()  # somebody who leads, so that others go early
    rates = [0.5] * 15 + [0.05] * 15 + [2.0] * 10
    mixture = nn.Parameter(torch.full((1, 5), 0.2, dtype=torch.float64))
    optimizer = ExpertsOptimizer([mixture], lr=rates[0], horizon=40)

    sums, alive, u = [0.0] * 5, set(range(5)), [1 / 5] * 5
    gained, log_gamma, early = 0.0, 0.0, False
    for t, (rate, paid) in enumerate(zip(rates, rewards.tolist(), strict=True), start=1):
        optimizer.param_groups[0]["lr"] = rate
        assert mixture.detach()[0].tolist() == pytest.approx(u, abs=1e-12)  # as the old rate left it
        mixture.grad = -rewards[t - 1 : t]
        optimizer.step()

        gained += sum(u[i] * paid[i] for i in alive)
        for i in alive:
            sums[i] += paid[i]
        lead = max(sums[i] for i in alive)
        kept = {i for i in alive if lead - sums[i] <= 2 * (40 - t) + 1e-9}
        early |= kept != alive and t < 40
        weight = {i: math.exp(rate * (sums[i] - lead)) for i in alive}
        log_gamma += math.log(sum(weight.values()) / sum(weight[i] for i in kept))
        alive = kept
        total = sum(weight[i] for i in alive)
        u = [weight[i] / total if i in alive else 0.0 for i in range(5)]

    ledger = optimizer.ledger(mixture)
    assert early
    assert ledger.regret == pytest.approx([max(sums[i] for i in alive) - gained], abs=1e-12)
    assert ledger.log_wipeout_factor == pytest.approx([log_gamma], abs=1e-12)
    assert ledger.regret_bound is None
    assert "settings changed" in ledger.bound_note


def test_before_the_first_round_there_is_nothing_to_account_for():
    mixture = uniform_mixture(2, 3)
    ledger = ExpertsOptimizer([mixture], horizon=7, lr=0.25).ledger(mixture)
    assert (ledger.rounds, ledger.horizon, ledger.learning_rate) == (0, 7, 0.25)
    assert ledger.regret == (0, 0)
    assert ledger.regret_bound is None
    assert ledger.bound_note == "no round was played yet"
    assert ledger.clipped_share == 0


def test_ledger_is_plain_data():
    ledger = played(torch.randn(8, 2, 3))
    assert json.loads(json.dumps(dataclasses.asdict(ledger)))["rounds"] == 8
