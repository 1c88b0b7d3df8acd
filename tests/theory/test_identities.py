"""Identities between rewards, gradients and policy gradients."""

import torch

from xnas.theory import mixture_of, predict

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


def test_mixture_of_sums_is_the_paper_s_normalised_weights():
    sums = torch.randn(3, 4, dtype=torch.float64)
    v = torch.exp(0.7 * sums)
    alive = torch.ones(3, 4, dtype=torch.bool)
    torch.testing.assert_close(
        mixture_of(sums, alive, learning_rate=0.7), v / v.sum(-1, keepdim=True), **EXACT
    )
