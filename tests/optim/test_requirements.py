"""Every bad input is refused in one line that names fault, value and remedy."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from xnas import ConfigError, ExpertsOptimizer, RoundError, uniform_mixture
from xnas.optim import requirements


def uniform(forecasters, experts):
    return torch.full((forecasters, experts), 1 / experts)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"horizon": -5}, "horizon must be a whole number of rounds, at least 1 .* got -5"),
        ({"horizon": 0}, "horizon must be a whole number of rounds, at least 1 .* got 0"),
        ({"horizon": 10**30}, r"at most 2\*\*31 - 1, got 1e\+30"),
        ({"horizon": 2**31}, r"at most 2\*\*31 - 1, got 2.14748e\+09"),
        ({"horizon": 2.5}, "horizon must be a whole number .* got 2.5"),
        ({"horizon": math.nan}, "horizon must be a whole number .* got nan"),
        ({"horizon": "10"}, "horizon must be a number, got '10'"),
        ({"horizon": True}, "horizon must be a number, got True"),
        (
            {"relaxation": 0.0},
            r"relaxation must lie in \(0, 1\], got 0.0; 1 is the paper's safe wipeout",
        ),
        ({"relaxation": -1.0}, r"relaxation must lie in \(0, 1\], got -1.0"),
        ({"relaxation": 1.01}, r"relaxation must lie in \(0, 1\], got 1.01"),
        ({"relaxation": math.nan}, r"relaxation must lie in \(0, 1\], got nan"),
        ({"reward_bound": 0.0}, "reward_bound must be positive and finite, got 0.0"),
        ({"reward_bound": math.inf}, "reward_bound must be positive and finite, got inf"),
        ({"lr": 0.0}, "lr must be positive and finite, or None for the best one, got 0.0"),
        ({"lr": -0.1}, "lr must be positive and finite, or None for the best one, got -0.1"),
        ({"lr": math.nan}, "lr must be positive and finite, .* got nan"),
    ],
)
def test_bad_settings_are_named(arguments, words):
    with pytest.raises(ConfigError, match=words):
        ExpertsOptimizer([uniform_mixture(2, 3)], **{"horizon": 10} | arguments)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (torch.tensor([[0.5, 0.6]]), "mixture is off the simplex: .* row sums from 1.1"),
        (torch.tensor([[1.5, -0.5]]), "off the simplex: smallest weight -0.5"),
        (torch.tensor([[math.nan, 1.0]]), "off the simplex"),
        (torch.tensor([[0.4, 0.6]]), "must start uniform at 1/2 = 0.5, but a weight is off by 0.1"),
        (torch.ones(0, 3), r"at least \(1, 1\), got torch.float32 of shape \(0, 3\)"),
        (torch.ones(3, 0), r"at least \(1, 1\), got torch.float32 of shape \(3, 0\)"),
        (torch.full((3,), 1 / 3), r"\(forecasters, experts\).* got torch.float32 of shape \(3,\)"),
        (torch.full((2, 2, 2), 0.5), r"got torch.float32 of shape \(2, 2, 2\)"),
        (torch.full((2, 2), 0.5, dtype=torch.complex64), "floating-point .* got torch.complex64"),
    ],
)
def test_what_is_no_mixture_is_named(values, words):
    with pytest.raises(ConfigError, match=words):
        ExpertsOptimizer([nn.Parameter(values)], horizon=10)


def test_nothing_to_optimize_says_where_mixtures_come_from():
    with pytest.raises(ConfigError, match="the list is empty; split_parameters"):
        ExpertsOptimizer([], horizon=10)
    with pytest.raises(ConfigError, match="a parameter group has no mixtures"):
        ExpertsOptimizer([{"params": []}], horizon=10)


def test_a_derived_rate_needs_one_number_of_experts():
    mixtures = [uniform_mixture(2, 3), uniform_mixture(2, 5)]
    with pytest.raises(
        ConfigError, match="mixtures of 3 and 5; give each a group of its own, or pass lr"
    ):
        ExpertsOptimizer(mixtures, horizon=10)
    ExpertsOptimizer(mixtures, horizon=10, lr=0.1)


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate parameters")
def test_a_mixture_is_listed_once():
    mixture = uniform_mixture(2, 3)
    with pytest.raises(ConfigError, match="stands twice"):
        ExpertsOptimizer([mixture, mixture], horizon=10)


@pytest.mark.parametrize("wipeout", ["no", 1, None])
def test_wipeout_is_true_or_false(wipeout):
    with pytest.raises(ConfigError, match="wipeout must be True or False, got"):
        ExpertsOptimizer([uniform_mixture(2, 3)], horizon=10, wipeout=wipeout)


@pytest.mark.parametrize("saved", [None, 3, {}, {"state": {}}])
def test_a_state_of_another_form_is_refused(saved):
    optimizer = ExpertsOptimizer([uniform_mixture(2, 3)], horizon=10)
    with pytest.raises(ConfigError, match=r"a saved state is what .*state_dict\(\) gave, got"):
        optimizer.load_state_dict(saved)


def test_what_is_no_tensor_is_no_mixture_of_an_optimizer():
    optimizer = ExpertsOptimizer([uniform_mixture(2, 3)], horizon=10)
    with pytest.raises(ConfigError, match="not a mixture of this optimizer: 3; pass the parameter"):
        optimizer.ledger(3)


def test_a_bad_group_is_not_added():
    optimizer = ExpertsOptimizer([uniform_mixture(2, 3)], horizon=10)
    with pytest.raises(ConfigError, match="horizon must be"):
        optimizer.add_param_group({"params": [uniform_mixture(2, 3)], "horizon": -1})
    assert len(optimizer.param_groups) == 1
    optimizer.param_groups[0]["params"][0].grad = torch.zeros(2, 3)
    optimizer.step()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_gradients_that_are_not_finite_name_forecaster_and_expert(bad):
    mixtures = [uniform_mixture(2, 3), uniform_mixture(2, 3)]
    optimizer = ExpertsOptimizer(mixtures, horizon=10)
    for mixture in mixtures:
        mixture.grad = torch.randn(2, 3)
    mixtures[1].grad[1, 2] = bad
    words = f"mixture 1 refused this round: the reward of forecaster 1, expert 2 is {-bad}; lower the"
    with pytest.raises(RoundError, match=words):
        optimizer.step()
    for mixture in mixtures:  # nobody played, not even the mixture without a fault
        assert optimizer.ledger(mixture).rounds == 0
        assert torch.equal(mixture.detach(), uniform(2, 3))
    mixtures[1].grad[1, 2] = 0.0
    optimizer.step()
    assert optimizer.ledger(mixtures[1]).rounds == 1


@pytest.mark.parametrize(
    ("rewards", "words"),
    [
        (torch.zeros(2, 3), r"rewards must be \(rounds, 2, 3\) for this mixture, .* got \(2, 3\)"),
        (torch.zeros(1, 3, 2), r"got \(1, 3, 2\)"),
        (torch.zeros(0, 2, 3), r"with at least one round, got \(0, 2, 3\)"),
        (
            torch.zeros(1, 2, 3, device="meta"),
            "rewards are on meta, the mixture on cpu; move the rewards",
        ),
    ],
)
def test_rewards_of_the_wrong_shape_or_device_are_named(rewards, words):
    mixture = uniform_mixture(2, 3)
    optimizer = ExpertsOptimizer([mixture], horizon=10)
    with pytest.raises(ConfigError, match=words):
        optimizer.observe(mixture, rewards)


def test_a_stranger_s_mixture_is_refused():
    mixture = uniform_mixture(2, 3)
    optimizer = ExpertsOptimizer([mixture], horizon=10)
    for ask in (optimizer.alive, optimizer.strengths, optimizer.ledger):
        with pytest.raises(
            ConfigError, match=r"not a mixture of this optimizer.*pass the parameter itself"
        ):
            ask(mixture[:1])


def test_a_rate_that_a_scheduler_spoiled_is_refused():
    mixture = uniform_mixture(2, 3)
    optimizer = ExpertsOptimizer([mixture], horizon=10)
    optimizer.param_groups[0]["lr"].fill_(math.nan)
    mixture.grad = torch.zeros(2, 3)
    with pytest.raises(RoundError, match=r"settings are out of range: lr nan, .* check the scheduler"):
        optimizer.step()


def test_a_device_without_float64_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(requirements, "WITHOUT_FLOAT64", frozenset({"cpu"}))
    with pytest.raises(
        ConfigError, match=r"device cpu has no float64, .* keep the mixtures on the CPU"
    ) as caught:
        ExpertsOptimizer([uniform_mixture(2, 3)], horizon=10)
    assert "\n" not in str(caught.value)


def test_mixtures_on_two_devices_are_refused():
    optimizer = ExpertsOptimizer([uniform_mixture(2, 3)], horizon=10)
    elsewhere = nn.Parameter(torch.full((2, 3), 1 / 3, device="meta"))
    with pytest.raises(ConfigError, match="mixtures on cpu and meta in one optimizer; move them to one"):
        optimizer.add_param_group({"params": [elsewhere]})
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize(
    ("name", "value"), [("reward_bound", -1.0), ("relaxation", math.nan), ("lr", 1e308)]
)
def test_settings_that_were_spoiled_in_place_are_refused(name, value):
    mixture = uniform_mixture(2, 3)
    optimizer = ExpertsOptimizer([mixture], horizon=10)
    optimizer.param_groups[0][name].fill_(value)
    mixture.grad = torch.ones(2, 3)
    with pytest.raises(RoundError, match="settings are out of range"):
        optimizer.step()
    assert torch.equal(mixture.detach(), uniform(2, 3))


def test_numbers_of_numpy_are_numbers():
    optimizer = ExpertsOptimizer([uniform_mixture(2, 3)], horizon=np.int64(5), lr=np.float32(0.5))
    assert float(optimizer.param_groups[0]["lr"]) == 0.5


def test_rewards_that_are_no_tensor_are_named():
    mixture = uniform_mixture(1, 2)
    optimizer = ExpertsOptimizer([mixture], horizon=5)
    with pytest.raises(ConfigError, match="rewards must be a tensor, got list"):
        optimizer.observe(mixture, [[[0.0, 1.0]]])
