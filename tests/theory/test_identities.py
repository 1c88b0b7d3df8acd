"""Identities between rewards, gradients and policy gradients."""

import torch

from xnas.theory import mixture_of, predict, softmax_gd_rewards

EXACT = {"rtol": 0, "atol": 1e-14}  # float64, a handful of operations


def scene():
    """Logits, the advice of 5 experts as 4 x 3 feature maps, and a loss that is not linear in p."""
    logits = torch.randn(2, 5, dtype=torch.float64)
    advice = torch.randn(2, 5, 12, dtype=torch.float64)
    return logits, advice, lambda p: (p.sin() * p).sum() + p.pow(4).mean()


def test_reward_is_the_negative_gradient_with_respect_to_the_mixture():
    logits, advice, loss = scene()
    u = logits.softmax(-1).requires_grad_()
    p = predict(u, advice)
    p.retain_grad()
    loss(p).backward()
    explicit = (p.grad[:, None] * advice).sum(-1)  # ∇_p ℓ · f_i, over all elements of the map
    torch.testing.assert_close(u.grad, explicit, **EXACT)


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


def test_mixture_of_sums_is_the_paper_s_normalised_weights():
    sums = torch.randn(3, 4, dtype=torch.float64)
    v = torch.exp(0.7 * sums)
    alive = torch.ones(3, 4, dtype=torch.bool)
    torch.testing.assert_close(
        mixture_of(sums, alive, learning_rate=0.7), v / v.sum(-1, keepdim=True), **EXACT
    )
