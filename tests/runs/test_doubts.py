"""Edges on which the lead of the operation is within noise."""

from dataclasses import replace

import pytest
import torch

from xnas import ExpertsOptimizer, uniform_mixture
from xnas.optim.accounts import HISTOGRAM_EDGES
from xnas.records import EdgeChoice
from xnas.runs.doubts import doubt, mean_square, noise, undecided


def played(rewards, **settings):
    """Ledger and sums after these rewards (rounds, forecasters, experts)."""
    mixture = uniform_mixture(*rewards.shape[1:])
    optimizer = ExpertsOptimizer([mixture], horizon=len(rewards), wipeout=False, **settings)
    for row in rewards:
        optimizer.observe(mixture, row[None])
    return optimizer.ledger(mixture), optimizer.cumulative_rewards(mixture)


def choice(lead, **changes):
    made = EdgeChoice(
        kind="normal",
        node=2,
        source=0,
        operation="a",
        strength=0.5,
        lead=lead,
        runner_up="b",
        runner_up_strength=0.4,
        kept=True,
        decided_by="strength",
    )
    return replace(made, **changes)


@pytest.mark.parametrize("scale", [0.02, 0.1, 0.5])
def test_the_mean_square_of_the_histogram_is_about_that_of_the_rewards(scale):
    rewards = scale * torch.randn(200, 5, 4, generator=torch.Generator().manual_seed(0)).double()
    ledger, _ = played(rewards)
    true = rewards.clamp(-1, 1).square().mean().item()
    assert true * 0.9 < mean_square(ledger) < true * 1.8  # bins are up to 3.3 times wide


def test_the_noise_is_the_spread_of_the_lead_between_two_equal_experts():
    rewards = 0.1 * torch.randn(100, 2000, 2, generator=torch.Generator().manual_seed(1)).double()
    ledger, sums = played(rewards)
    spread = (sums[:, 0] - sums[:, 1]).std().item()
    assert spread < noise(ledger) < 1.35 * spread  # the histogram is coarse


def test_rewards_beyond_the_bound_count_as_the_bound():
    ledger, _ = played(torch.full((7, 1, 2), 5.0).double(), reward_bound=2.0)
    assert mean_square(ledger) == 4.0
    assert noise(ledger) == (2 * 7 * 4) ** 0.5


def test_edges_that_lead_by_less_than_noise_are_counted():
    ledger, _ = played(torch.full((8, 1, 2), 3.0).double())  # clipped to 1: the noise is 4
    books = {"normal": ledger}
    choices = [
        *(choice(3.9), choice(0.0), choice(4.1), choice(9.0)),
        *(choice(0.1, kept=False), choice(0.0, runner_up=None), choice(None)),
        choice(0.1, kind="reduction"),  # no ledger
    ]
    assert undecided(choices, books) == (choices[0], choices[1])
    line, grave = doubt(choices, books)
    assert line.startswith("on 2 of 4 edges of the cell the lead of the operation is within noise: ")
    assert "after 8 rounds (normal 4)" in line
    assert not grave
    line, grave = doubt(choices[:3], books)
    assert line.startswith("too few rounds to decide: on 2 of 3 edges")
    assert grave
    assert doubt(choices[2:4], books) == ("", False)
    assert doubt(choices, {}) == ("", False)


def test_edges_of_the_histogram_do_not_cross_zero():
    assert 0.0 in HISTOGRAM_EDGES


def test_edges_that_a_limit_has_changed_are_not_counted():
    ledger, _ = played(0.1 * torch.randn(100, 1, 2).double())
    close = choice(0.01)
    limited = replace(close, limited=True, decided_by="limit")
    assert undecided([close, limited], {"normal": ledger}) == (close,)
