"""Update rules of mixtures: exponentiated gradients, and gradient descent through a softmax."""

import pytest
import torch

from xnas.theory import (
    clip_rewards,
    eg_update,
    mixture_of,
    predict,
    softmax_gd_rewards,
    softmax_gd_update,
)


def test_clipping_is_element_wise_and_does_not_round():
    rewards = torch.tensor([0.3, 2.0, -7.0], dtype=torch.float64)
    assert clip_rewards(rewards, reward_bound=1.5).tolist() == [0.3, 1.5, -1.5]
    assert clip_rewards(torch.tensor([1, 2, -3]), reward_bound=0.5).tolist() == [0.5, 0.5, -0.5]


EXACT = {"rtol": 0, "atol": 1e-14}  # float64, a handful of operations


def scene():
    """Logits, the advice of 5 experts as 4 x 3 feature maps, and a loss that is not linear in p."""
    logits = torch.randn(2, 5, dtype=torch.float64)
    advice = torch.randn(2, 5, 12, dtype=torch.float64)
    return logits, advice, lambda p: (p.sin() * p).sum() + p.pow(4).mean()


def test_softmax_gradient_descent_reward_is_the_gradient_with_respect_to_the_logits():
    logits, advice, loss = scene()
    alpha = logits.clone().requires_grad_()
    loss(predict(alpha.softmax(-1), advice)).backward()
    u = logits.softmax(-1).requires_grad_()
    loss(predict(u, advice)).backward()
    rewards = -u.grad
    torch.testing.assert_close(softmax_gd_rewards(u.detach(), rewards), -alpha.grad, rtol=0, atol=1e-14)
    assert (rewards + alpha.grad).abs().max() > 0.1  # the two are not the same thing


def test_softmax_reward_is_the_advantage_of_an_expert_scaled_by_its_weight():
    u, rewards = torch.rand(7).double().softmax(-1), torch.randn(7).double()
    advantage = rewards - (u * rewards).sum()
    torch.testing.assert_close(softmax_gd_rewards(u, rewards), u * advantage, **EXACT)
    assert softmax_gd_rewards(u, rewards).sum().abs() < 1e-15


def test_expected_policy_gradient_is_the_softmax_gradient_descent_reward():
    # Σ_i u_i R_i ∇_α ln u_i, the score-function gradient of a forecaster that samples (Sec. 3.1).
    alpha = torch.randn(6, dtype=torch.float64, requires_grad=True)
    rewards = torch.randn(6, dtype=torch.float64)
    score = torch.stack([torch.autograd.grad(alpha.log_softmax(-1)[i], alpha)[0] for i in range(6)])
    u = alpha.detach().softmax(-1)
    expected = ((u * rewards)[:, None] * score).sum(0)
    torch.testing.assert_close(softmax_gd_rewards(u, rewards), expected, **EXACT)


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
