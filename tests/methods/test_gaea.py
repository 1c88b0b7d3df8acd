"""Exponentiated gradients: the floor, entropy, and equality with XNAS without wipeout."""

import math

import pytest
import torch
from method_games import COMMON, build, game, near, one_edge, row

from xnas import ExpertsOptimizer, uniform_mixture
from xnas.methods import METHODS
from xnas.methods.gaea import ExponentiatedGradient, eg_step


def test_one_step():
    u = row(*COMMON["logits"]).softmax(-1)
    g = row(*COMMON["gradient"])
    assert near(eg_step(u, g, learning_rate=0.1, floor=1e-5), 0.325334, 0.261086, 0.413580)
    edges = eg_step(row(1 / 3, 1 / 3, 1 / 3), row(0.2, -0.1, 0.05), learning_rate=0.1)
    assert near(edges, 0.328346, 0.338346, 0.333308)


def test_the_floor_holds():
    start = row(0.99998, 1e-5, 1e-5)
    assert near(eg_step(start, row(0, 2, 0), learning_rate=0.1, floor=1e-5), 0.99998, 1e-5, 1e-5)
    mixture, method = one_edge("gaea")
    for _ in range(300):
        mixture.grad = row(-5, 5, 5)
        method.step()
    assert 0.99e-5 < mixture[0, 1] <= 1e-5  # divided by the sum after the floor


def test_it_is_xnas_without_wipeout_while_the_floor_is_far():
    mixtures, method = build("gaea")
    other = {kind: uniform_mixture(4, 5) for kind in mixtures}
    experts = ExpertsOptimizer(list(other.values()), horizon=100, lr=0.1, wipeout=False)
    generator = torch.Generator().manual_seed(0)
    for _ in range(50):
        for kind, mixture in mixtures.items():
            mixture.grad = torch.rand(4, 5, generator=generator) - 0.5
            other[kind].grad = mixture.grad.clone()
        method.step()
        experts.step()
    for kind, mixture in mixtures.items():
        torch.testing.assert_close(mixture, other[kind], rtol=1e-5, atol=1e-6)


def test_the_term_of_entropy_pulls_to_the_uniform_mixture():
    mixture = torch.nn.Parameter(row(0.7, 0.2, 0.1))
    method = ExponentiatedGradient("flat", {"normal": mixture}, game(), entropy=0.1)
    u = mixture.detach().clone().requires_grad_()
    (term,) = torch.autograd.grad(0.1 * (u * (3 * u).log()).sum(), u)
    expected = eg_step(u.detach(), term, learning_rate=0.1, floor=1e-5)
    mixture.grad = torch.zeros_like(mixture)
    method.step()
    torch.testing.assert_close(mixture.detach(), expected)
    assert mixture[0, 0] < 0.7


def test_on_the_benchmark_the_rate_stops_half_way_through_a_cosine():
    recipe = METHODS["gaea"].recipe_on("nasbench201")
    shares = [recipe.schedule(epoch, recipe.epochs) for epoch in (0, 24)]
    # of a cosine over 50 epochs, its epochs 0 and 24
    assert shares == pytest.approx([1, (1 + math.cos(math.pi * 24 / 50)) / 2])
