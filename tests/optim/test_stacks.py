"""Stacks: which mixtures share accounts, and which parts of a stack play a round."""

import pytest
import torch

from xnas import uniform_mixture
from xnas.optim.stacks import build_stacks, with_gradients

SETTINGS = {"lr": 1.0, "horizon": 10, "reward_bound": 1.0, "relaxation": 1.0}


def group(*mixtures, wipeout=True):
    return {"params": list(mixtures), "wipeout": wipeout, **SETTINGS}


def test_mixtures_of_one_shape_and_dtype_share_their_accounts_across_groups():
    first, second, other = uniform_mixture(3, 2), uniform_mixture(3, 2), uniform_mixture(3, 4)
    state = {}
    stacks = build_stacks({0: group(first, other), 1: group(second)}, state)
    assert [stack.params for stack in stacks] == [(first, second), (other,)]
    stacks[0].accounts["cumulative_rewards"][1] = 5.0
    assert state[second]["cumulative_rewards"].tolist() == [[5.0, 5.0]] * 3  # a view
    assert not state[first]["cumulative_rewards"].any()


def test_what_is_known_of_a_mixture_is_kept():
    mixture, state = uniform_mixture(1, 2), {}
    (before,) = build_stacks({0: group(mixture)}, state)
    before.accounts["rounds"] += 7
    (after,) = build_stacks({0: group(mixture)}, state)
    assert after is not before
    assert state[mixture]["rounds"] == after.accounts["rounds"][0] == 7


def test_settings_of_each_mixture_are_those_of_its_group():
    first, second = uniform_mixture(1, 2), uniform_mixture(1, 2)
    groups = [group(first), group(second) | {"lr": 0.5}]
    (stack,) = build_stacks(dict(enumerate(groups)), {})
    assert stack.numbers()[:, 0].tolist() == [1.0, 0.5]
    groups[1]["lr"] = 0.25  # as a scheduler does
    stack.adopt_settings(groups)
    assert stack.numbers()[:, 0].tolist() == [1.0, 0.25]
    assert stack.part(slice(1, 2)).numbers()[:, 0].tolist() == [0.25]


@pytest.mark.parametrize(
    ("present", "wipeouts", "parts"),
    [
        ([1, 1, 1], [True, True, True], [[0, 1, 2]]),
        ([1, 0, 1], [True, True, True], [[0], [2]]),
        ([0, 1, 1], [True, True, True], [[1, 2]]),
        ([1, 1, 1], [True, False, False], [[0], [1, 2]]),
        ([0, 0, 0], [True, True, True], []),
    ],
)
def test_parts_have_gradients_and_one_rule(present, wipeouts, parts):
    mixtures = [uniform_mixture(1, 2) for _ in present]
    for mixture, there in zip(mixtures, present, strict=True):
        mixture.grad = torch.zeros_like(mixture) if there else None
    groups = [group(m, wipeout=w) for m, w in zip(mixtures, wipeouts, strict=True)]
    stacks = build_stacks(dict(enumerate(groups)), {})
    numbers = {id(mixture): number for number, mixture in enumerate(mixtures)}
    found = [[numbers[id(p)] for p in part.params] for part in with_gradients(stacks, groups)]
    assert found == parts
