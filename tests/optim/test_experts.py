"""`ExpertsOptimizer` against the printed algorithm, as an optimizer among optimizers."""

import math

import pytest
import torch
from generated import games
from hypothesis import given, settings
from oracles.algorithm_1 import algorithm_1, exponential
from torch import nn

from xnas import (
    ConfigError,
    ExpertsOptimizer,
    RoundError,
    optimal_learning_rate,
    replay,
    uniform_mixture,
)


def play(optimizer, mixture, rewards):
    """Feed rewards (rounds, forecasters, experts) round by round; the mixtures before each round."""
    predicted = []
    for round_rewards in rewards:
        predicted.append(mixture.detach().double().clone())
        mixture.grad = -round_rewards.to(mixture.dtype)
        optimizer.step()
    return torch.stack(predicted)


@pytest.mark.parametrize("relaxation", [1.0, 0.3])
def test_hundred_rounds_equal_the_printed_algorithm(relaxation):
    mixture = nn.Parameter(torch.full((4, 5), 1 / 5, dtype=torch.float64))
    optimizer = ExpertsOptimizer([mixture], horizon=100, lr=0.2, relaxation=relaxation)
    rewards = torch.randn(100, 4, 5, dtype=torch.float64)
    predicted = play(optimizer, mixture, rewards)
    for forecaster in range(4):
        oracle = algorithm_1(
            rewards[:, forecaster].clamp(-1, 1).tolist(),
            growth=exponential(0.2),
            reward_bound=1.0,
            horizon=100,
            relaxation=relaxation,
        )
        expected = torch.tensor(oracle.mixtures, dtype=torch.float64)
        torch.testing.assert_close(predicted[:, forecaster], expected, rtol=1e-12, atol=1e-15)
        alive = [i in oracle.survivors for i in range(5)]
        assert optimizer.alive(mixture)[forecaster].tolist() == alive
        wiped = {
            w.expert: w.round_index
            for w in optimizer.ledger(mixture).wipeouts
            if w.forecaster == forecaster
        }
        assert wiped == oracle.wiped


@settings(max_examples=60)
@given(games(max_rounds=12))
def test_optimizer_and_replay_agree_to_the_bit(game):
    rounds, experts = game.rewards.shape
    mixture = nn.Parameter(torch.full((1, experts), 1 / experts, dtype=torch.float64))
    optimizer = ExpertsOptimizer(
        [mixture], horizon=rounds, lr=game.learning_rate, reward_bound=game.reward_bound
    )
    play(optimizer, mixture, game.rewards[:, None])
    expected = replay(game.rewards, learning_rate=game.learning_rate, reward_bound=game.reward_bound)
    assert torch.equal(optimizer.cumulative_rewards(mixture)[0], expected.cumulative_rewards)
    assert torch.equal(optimizer.alive(mixture)[0], expected.alive[-1])
    ledger = optimizer.ledger(mixture)
    assert ledger.regret[0] == pytest.approx(expected.regret.item(), abs=1e-12)
    assert ledger.regret_bound[0] == pytest.approx(expected.regret_bound.item(), abs=1e-12)


def test_backward_and_step_are_all_a_user_writes():
    # Two experts predict 0 and 1, the target is 1: the second must win.
    mixture = uniform_mixture(1, 2)
    optimizer = ExpertsOptimizer([mixture], horizon=200)
    advice, target = torch.tensor([0.0, 1.0]), torch.tensor(1.0)
    for _ in range(200):
        optimizer.zero_grad()
        loss = (mixture[0] @ advice - target).square()
        loss.backward()
        optimizer.step()
    assert mixture[0, 1] > 0.99
    assert optimizer.alive(mixture).tolist() == [[False, True]]


def test_default_rate_is_the_optimal_one():
    optimizer = ExpertsOptimizer([uniform_mixture(14, 7)], horizon=13_000, reward_bound=2.0)
    assert float(optimizer.param_groups[0]["lr"]) == optimal_learning_rate(7, 13_000, 2.0)


def test_parameters_are_written_in_place_and_stay_leaves():
    mixture = uniform_mixture(3, 4)
    address = mixture.data_ptr()
    optimizer = ExpertsOptimizer([mixture], horizon=5)
    play(optimizer, mixture, torch.randn(5, 3, 4))
    assert mixture.data_ptr() == address
    assert mixture.is_leaf
    assert mixture.requires_grad
    torch.testing.assert_close(mixture.sum(-1), torch.ones(3))


def test_a_mixture_that_was_cast_is_taken():
    model = nn.Module()
    model.mixture = uniform_mixture(2, 3)
    ExpertsOptimizer([model.double().mixture], horizon=10)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_every_float_dtype_is_served_and_sums_stay_double(dtype):
    mixture = nn.Parameter(torch.full((2, 3), 1 / 3, dtype=dtype))
    optimizer = ExpertsOptimizer([mixture], horizon=100, lr=0.1)
    play(optimizer, mixture, torch.full((90, 2, 3), 0.01).cumsum(-1))
    assert mixture.dtype == dtype
    assert optimizer.cumulative_rewards(mixture).dtype == torch.float64


def test_groups_have_settings_of_their_own():
    normal, reduction = uniform_mixture(14, 8), uniform_mixture(14, 8)
    optimizer = ExpertsOptimizer(
        [
            {"params": [normal], "horizon": 7_500_000},
            {"params": [reduction], "horizon": 2_500_000, "relaxation": 0.1},
        ],
        horizon=1,
    )
    rates = [float(group["lr"]) for group in optimizer.param_groups]
    assert rates == pytest.approx([7.5e-4, 1.3e-3], rel=0.01)  # the paper's example, Sec. 3.2.2
    assert float(optimizer.param_groups[1]["relaxation"]) == 0.1


def test_groups_are_played_together_as_they_are_apart():
    """Mixtures of one shape are one stack, whatever their group; to the bit."""
    groups = [
        {"horizon": 60, "reward_bound": 0.8, "relaxation": 0.2},
        {"horizon": 90, "lr": 0.3, "reward_bound": 0.5},
        {"horizon": 60, "wipeout": False},
        {"horizon": 70, "relaxation": 0.1},
    ]
    mixtures, twins = ([uniform_mixture(5, 4) for _ in groups] for _ in range(2))
    together = ExpertsOptimizer(
        [{"params": [m], **group} for m, group in zip(mixtures, groups, strict=True)], horizon=1
    )
    apart = [ExpertsOptimizer([m], **group) for m, group in zip(twins, groups, strict=True)]
    assert len(together._stacks()) == 1
    for number, rewards in enumerate(torch.randn(60, len(groups), 5, 4)):
        for place, (m, twin) in enumerate(zip(mixtures, twins, strict=True)):
            absent = number % 7 == place  # in some rounds one of them has no gradient
            m.grad = twin.grad = None if absent else -rewards[place]
        if number == 20:
            for one in (together.param_groups[1], apart[1].param_groups[0]):
                one["lr"] = 0.1
        if number == 40:  # one rule for all from here on
            for one in (together.param_groups[2], apart[2].param_groups[0]):
                one["wipeout"] = True
        together.step()
        for optimizer in apart:
            optimizer.step()
    for m, twin, optimizer in zip(mixtures, twins, apart, strict=True):
        assert torch.equal(m, twin)
        assert together.ledger(m) == optimizer.ledger(twin)
    assert all(0 < together.ledger(m).living < 20 for m in (mixtures[0], mixtures[3]))


def test_a_bad_setting_of_one_group_is_not_another_s():
    first, second = uniform_mixture(2, 3), uniform_mixture(2, 3)
    optimizer = ExpertsOptimizer([{"params": [first]}, {"params": [second]}], horizon=10)
    optimizer.param_groups[1]["lr"] = -1.0
    optimizer.observe(first, torch.randn(1, 2, 3))
    assert optimizer.ledger(first).rounds == 1
    with pytest.raises(ConfigError, match=r"lr must be positive and finite, .*got -1\.0"):
        optimizer.observe(second, torch.randn(1, 2, 3))


def test_of_several_faults_the_first_mixture_s_is_reported():
    shapes = [(2, 3), (4, 3), (2, 3)]
    mixtures = [uniform_mixture(*shape) for shape in shapes]
    optimizer = ExpertsOptimizer([{"params": [m]} for m in mixtures], horizon=10)
    for m in mixtures:
        m.grad = torch.zeros_like(m)
    mixtures[1].grad[3, 2] = mixtures[2].grad[0, 0] = torch.nan
    with pytest.raises(RoundError, match=r"mixture 1 refused .* forecaster 3, expert 2 is nan"):
        optimizer.step()


def test_a_group_can_be_added_later():
    first, second = uniform_mixture(2, 3), uniform_mixture(5, 4)
    optimizer = ExpertsOptimizer([first], horizon=10)
    play(optimizer, first, torch.randn(3, 2, 3))
    optimizer.add_param_group({"params": [second], "horizon": 20, "lr": 0.5})
    first.grad = None
    play(optimizer, second, torch.randn(4, 5, 4))
    assert optimizer.ledger(first).rounds == 3
    assert optimizer.ledger(second).rounds == 4
    assert optimizer.ledger(second).horizon == 20


def test_named_parameters_are_taken():
    module = nn.Module()
    module.mixture = uniform_mixture(2, 3)
    optimizer = ExpertsOptimizer(module.named_parameters(), horizon=10)
    assert optimizer.param_groups[0]["param_names"] == ["mixture"]


def test_a_mixture_without_gradient_is_left_alone():
    mixtures = [uniform_mixture(2, 3) for _ in range(3)]
    optimizer = ExpertsOptimizer(mixtures, horizon=10, lr=0.5)
    mixtures[0].grad = torch.randn(2, 3)
    mixtures[2].grad = torch.randn(2, 3)
    optimizer.step()
    assert [optimizer.ledger(m).rounds for m in mixtures] == [1, 0, 1]
    assert torch.equal(mixtures[1].detach(), torch.full((2, 3), 1 / 3))
    assert not torch.equal(mixtures[0].detach(), torch.full((2, 3), 1 / 3))


def test_many_mixtures_in_one_optimizer_play_as_if_alone():
    rewards = torch.randn(30, 6, 4, 5)
    together = [uniform_mixture(4, 5) for _ in range(6)]
    optimizer = ExpertsOptimizer(together, horizon=30)
    for round_rewards in rewards:
        for mixture, given_rewards in zip(together, round_rewards, strict=True):
            mixture.grad = -given_rewards
        optimizer.step()
    for index, mixture in enumerate(together):
        alone = uniform_mixture(4, 5)
        single = ExpertsOptimizer([alone], horizon=30)
        play(single, alone, rewards[:, index])
        assert torch.equal(mixture, alone)
        assert single.ledger(alone) == optimizer.ledger(mixture)


def test_step_is_observe_of_the_negative_gradient():
    stepped, observed = uniform_mixture(3, 4), uniform_mixture(3, 4)
    one = ExpertsOptimizer([stepped], horizon=10)
    other = ExpertsOptimizer([observed], horizon=10)
    for gradient in torch.randn(10, 3, 4):
        stepped.grad = gradient
        one.step()
        other.observe(observed, -gradient[None])
    assert torch.equal(stepped, observed)
    assert one.ledger(stepped) == other.ledger(observed)


def test_finer_rewards_are_clipped_one_by_one_and_tested_for_wipeout_once():
    mixture = uniform_mixture(1, 2)
    optimizer = ExpertsOptimizer([mixture], horizon=6, lr=0.1)
    optimizer.observe(mixture, torch.tensor([[[9.0, 0.0]], [[0.5, -9.0]], [[-0.5, 0.0]]]))
    assert optimizer.cumulative_rewards(mixture).tolist() == [[1.0, -1.0]]  # 1 + 0.5 - 0.5 and 0 - 1 + 0
    assert optimizer.ledger(mixture).rounds == 3
    optimizer.observe(mixture, torch.tensor([[[1.0, -1.0]]] * 3))
    ledger = optimizer.ledger(mixture)
    assert [(w.round_index, w.expert) for w in ledger.wipeouts] == [(6, 1)]
    assert ledger.regret_bound is None
    assert "several rounds shared one mixture" in ledger.bound_note


def test_closure_is_called_with_gradients_enabled():
    mixture = uniform_mixture(1, 2)
    optimizer = ExpertsOptimizer([mixture], horizon=10)

    def closure():
        optimizer.zero_grad()
        loss = (mixture[0] * torch.tensor([1.0, 0.0])).sum()
        loss.backward()
        return loss.item()

    assert optimizer.step(closure) == pytest.approx(0.5)
    assert mixture[0, 1] > 0.5


def test_strengths_keep_the_gap_that_a_wiped_expert_had():
    mixture = uniform_mixture(1, 2)
    optimizer = ExpertsOptimizer([mixture], horizon=4, lr=0.5)
    play(optimizer, mixture, torch.tensor([[[1.0, -1.0]]] * 4))
    # Wiped in round 3 at sums 3 and -3; the leader's reward of round 4 changes nothing.
    assert optimizer.cumulative_rewards(mixture).tolist() == [[4.0, -3.0]]
    expected = torch.tensor([[0.0, -6.0]], dtype=torch.float64).mul(0.5).softmax(-1)
    torch.testing.assert_close(optimizer.strengths(mixture), expected)
    assert mixture.tolist() == [[1.0, 0.0]]


def test_sums_are_compared_at_the_gap_that_a_wiped_expert_had():
    mixture = uniform_mixture(2, 2)
    optimizer = ExpertsOptimizer([mixture], horizon=105, lr=1.0, relaxation=0.1)
    play(optimizer, mixture, torch.tensor([[[1.0, -1.0]] * 2] * 10))  # wiped at a gap of 20
    play(optimizer, mixture, torch.tensor([[[-1.0, 0.0], [1.0, 0.0]]] * 30))
    assert optimizer.cumulative_rewards(mixture).tolist() == [[-20.0, -10.0], [40.0, -10.0]]
    assert optimizer.comparable_sums(mixture).tolist() == [[-20.0, -40.0], [40.0, 20.0]]
    assert torch.equal(*optimizer.strengths(mixture).unbind())


def test_a_single_expert_is_frozen():
    mixture = uniform_mixture(3, 1)
    optimizer = ExpertsOptimizer([mixture], horizon=5)
    play(optimizer, mixture, torch.randn(5, 3, 1))
    assert mixture.tolist() == [[1.0]] * 3
    ledger = optimizer.ledger(mixture)
    assert ledger.regret == pytest.approx((0, 0, 0), abs=1e-12)
    assert ledger.regret_bound == (0, 0, 0)
    assert ledger.wipeouts == ()


def test_rewards_of_wiped_experts_do_not_count_whatever_they_are():
    mixture = uniform_mixture(1, 3)
    optimizer = ExpertsOptimizer([mixture], horizon=4, lr=0.5)
    play(optimizer, mixture, torch.tensor([[[1.0, -1.0, 1.0]]] * 3))
    mixture.grad = -torch.tensor([[0.5, math.nan, 0.25]])
    optimizer.step()
    assert optimizer.cumulative_rewards(mixture).tolist() == [[3.5, -3.0, 3.25]]


def test_a_scheduler_sets_the_rate_and_ends_the_bound():
    mixture = uniform_mixture(1, 2)
    optimizer = ExpertsOptimizer([mixture], horizon=10, lr=0.4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    for expected in (0.4, 0.4, 0.2, 0.2):
        assert float(optimizer.param_groups[0]["lr"]) == pytest.approx(expected)
        play(optimizer, mixture, torch.tensor([[[1.0, 0.0]]]))
        scheduler.step()
    sums = optimizer.cumulative_rewards(mixture)
    torch.testing.assert_close(mixture.detach().double(), (0.2 * sums).softmax(-1), rtol=1e-6, atol=0)
    ledger = optimizer.ledger(mixture)
    assert ledger.regret_bound is None
    assert "settings changed during the run" in ledger.bound_note


@pytest.mark.parametrize(
    "make",
    [
        lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=8),
        lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda t: 1 / (1 + t)),
        lambda o: torch.optim.lr_scheduler.ExponentialLR(o, gamma=0.9),
        lambda o: torch.optim.lr_scheduler.OneCycleLR(
            o, max_lr=0.5, total_steps=9, cycle_momentum=False
        ),
    ],
)
def test_usual_schedulers_drive_the_rate_in_place(make):
    mixture = uniform_mixture(2, 3)
    optimizer = ExpertsOptimizer([mixture], horizon=20, lr=0.5)
    rate = optimizer.param_groups[0]["lr"]
    scheduler = make(optimizer)
    seen = set()
    for _ in range(8):
        play(optimizer, mixture, torch.randn(1, 2, 3))
        scheduler.step()
        assert optimizer.param_groups[0]["lr"] is rate
        seen.add(float(rate))
    assert len(seen) > 4


def test_a_number_assigned_to_a_group_is_adopted():
    mixture = uniform_mixture(1, 2)
    optimizer = ExpertsOptimizer([mixture], horizon=10, lr=0.4)
    optimizer.param_groups[0]["lr"] = 0.7
    play(optimizer, mixture, torch.tensor([[[1.0, 0.0]]]))
    assert mixture[0, 0].item() == pytest.approx(1 / (1 + math.exp(-0.7)))
    optimizer.param_groups[0]["relaxation"] = 2.0
    with pytest.raises(ConfigError, match=r"relaxation must lie in \(0, 1\], got 2.0"):
        optimizer.step()


def test_rounds_end_at_the_horizon_and_nothing_is_lost():
    mixture = uniform_mixture(1, 2)
    optimizer = ExpertsOptimizer([mixture], horizon=3)
    play(optimizer, mixture, torch.randn(3, 1, 2))
    before = {name: value.clone() for name, value in optimizer.state[mixture].items()}
    with pytest.raises(RoundError, match="the horizon of 3 rounds has passed; set a longer one"):
        optimizer.step()
    assert all(torch.equal(value, before[name]) for name, value in optimizer.state[mixture].items())


def test_experts_wiped_by_hand_stay_behind_and_out_of_the_mixture():
    rewards = torch.tensor([[0.5, 0.25, 0.0, -0.5]])
    mixture = uniform_mixture(1, 4)
    optimizer = ExpertsOptimizer([mixture], horizon=100, lr=0.3)
    optimizer.observe(mixture, rewards[None])
    optimizer.wipe(mixture, torch.tensor([[False, False, True, True]]))
    assert optimizer.alive(mixture).tolist() == [[True, True, False, False]]
    first = 1 / (1 + math.exp(-0.3 * 0.25))  # softmax of two, 0.25 apart
    assert mixture.tolist() == [pytest.approx([first, 1 - first, 0, 0])]
    assert optimizer.comparable_sums(mixture).tolist() == [[0.5, 0.25, 0.0, -0.5]]
    assert [(w.round_index, w.expert) for w in optimizer.ledger(mixture).wipeouts] == [(1, 2), (1, 3)]


def test_experts_wiped_before_the_first_round_leave_a_uniform_mixture():
    mixture = uniform_mixture(2, 3)
    optimizer = ExpertsOptimizer([mixture], horizon=5)
    optimizer.wipe(mixture, torch.tensor([[True, False, False], [False, False, False]]))
    assert mixture.tolist() == [pytest.approx([0, 0.5, 0.5]), pytest.approx([1 / 3] * 3)]


def test_wiping_every_expert_of_a_forecaster_is_refused():
    mixture = uniform_mixture(2, 3)
    optimizer = ExpertsOptimizer([mixture], horizon=5)
    with pytest.raises(ConfigError, match="each must keep one"):
        optimizer.wipe(mixture, torch.tensor([[True, True, True], [False, False, False]]))
    assert optimizer.alive(mixture).all()
