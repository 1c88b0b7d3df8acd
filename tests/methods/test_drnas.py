"""DrNAS: gradients of Dirichlet samples, and the private functions of PyTorch that give them."""

from functools import partial

import torch
from method_games import COMMON, edges_of, near, one_edge, row

from xnas.methods.drnas import (
    Dirichlet,
    concentration,
    dirichlet_pull_back,
    drnas,
    kl_gradient,
    kl_to_uniform,
    sampled,
)

EVERYONE = torch.ones(1, 3, dtype=torch.bool)


def test_three_experts_at_concentration_one():
    w, b = row(0.2, 0.3, 0.5), row(1, 1, 1)
    found = dirichlet_pull_back(w, b, row(*COMMON["gradient"]), EVERYONE)
    assert near(found, 0.144168, -0.148418, 0.021589)
    q = torch._dirichlet_grad(w, b, row(3, 3, 3))
    assert near(q, 0.327654, 0.412272, 0.539721)
    assert near(q * (1 - w), 0.262124, 0.288590, 0.269860)
    closed = -((2 - w) * w * w.log() + w * (1 - w)) / (2 * (1 - w))  # of Beta(1, 2)
    torch.testing.assert_close(q * (1 - w), closed)


def test_two_experts_at_concentration_one():
    q = torch._dirichlet_grad(row(0.3, 0.7), row(1, 1), row(2, 2))
    assert near(q[0, 0] * 0.7, 0.361192)


def test_mean_and_divergence_of_the_common_example():
    b = concentration(row(*COMMON["logits"]))
    assert near(b, 1.2, 0.904837, 1.4)
    assert near(Dirichlet().belief(edges_of()), 0.342384, 0.258168, 0.399448)
    assert near(kl_to_uniform(b), 0.086284)
    uniform = torch.distributions.Dirichlet(torch.ones(3).double())
    own = torch.distributions.Dirichlet(b)
    torch.testing.assert_close(kl_to_uniform(b), torch.distributions.kl_divergence(own, uniform))


def test_the_gradient_of_the_divergence_is_autograds():
    logits = row(*COMMON["logits"]).requires_grad_()
    loss = 1e-3 * kl_to_uniform(concentration(logits)).sum()
    (expected,) = torch.autograd.grad(loss, logits)
    torch.testing.assert_close(kl_gradient(edges_of()), expected)
    mixture, method = one_edge(partial(drnas, kl=True))
    mixture.grad = row(0, 0, 0)
    method.drawn["normal"].copy_(row(0.2, 0.3, 0.5))
    method.step()
    torch.testing.assert_close(method.logits[0].grad, expected)
    assert method.adam.param_groups[0]["weight_decay"] == 0


def test_the_gradient_of_the_logits_is_that_of_torch_distributions():
    logits = row(0.5, -0.7, 0.0).requires_grad_()
    torch.manual_seed(7)
    sample = torch.distributions.Dirichlet(torch.nn.functional.elu(logits) + 1).rsample()
    gradient = row(*COMMON["gradient"])
    (expected,) = torch.autograd.grad((sample * gradient).sum(), logits)
    edges = edges_of([0.5, -0.7, 0.0], noise=sample.detach().tolist())
    torch.testing.assert_close(Dirichlet().pull_back(edges, gradient), expected)


def test_samples_have_the_mean_and_leave_the_dead_out():
    generator = torch.Generator().manual_seed(0)
    b = torch.tensor([1.2, 0.9, 1.4, 3.0]).expand(20_000, 4)
    alive = torch.tensor([True, True, True, False]).expand(20_000, 4)
    drawn = sampled(b, alive, generator)
    torch.testing.assert_close(drawn.sum(-1), torch.ones(20_000))
    assert (drawn[:, 3] == 0).all()
    mean = torch.tensor([1.2, 0.9, 1.4, 0.0]) / 3.5
    torch.testing.assert_close(drawn.mean(0), mean, atol=0.005, rtol=0)  # 3 deviations
    gradient = dirichlet_pull_back(drawn, b, torch.ones(20_000, 4), alive)
    assert gradient.abs().max() < 1e-4  # what all experts share changes nothing
