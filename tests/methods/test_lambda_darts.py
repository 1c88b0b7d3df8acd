"""Λ-DARTS: the alignment of cells, its gradient, and a correction that raises it."""

import pytest
import torch
from method_games import game, near

from xnas.methods.lambda_darts import alignment, alignment_gradient, growth, lambda_darts
from xnas.methods.passes import Seen

G = torch.tensor([[0.3, -0.1, 0.2], [0.1, 0.2, 0.1], [-0.2, 0.1, 0.3]]).double()[:, None]


def test_three_cells():
    assert float(alignment(G)) == pytest.approx(0.194408, abs=6e-7)
    delta = alignment_gradient(G)
    assert near(delta[0], -0.295278, 1.026416, 0.956126)
    assert near(delta[1], 0, -0.727393, 1.454786)
    assert near(delta[2], 1.199839, 0.428370, 0.657102)
    assert float(delta.norm()) == pytest.approx(2.599095, abs=6e-7)
    assert 1e-3 / float(delta.norm()) == pytest.approx(0.000384749, abs=6e-10)


def test_the_gradient_is_autograds():
    g = G.clone().requires_grad_()
    (expected,) = torch.autograd.grad(alignment(g), g)
    torch.testing.assert_close(alignment_gradient(G), expected)


def test_its_strength_grows():
    assert growth(50)(25) == pytest.approx(0.063776, abs=6e-7)
    assert growth(50)(49) == 0.125


class Toy:
    """Three cells with L = Σ_l (⟨u_l, W_l w⟩)²/2 + ..., whose gradients by u_l depend on w."""

    def __init__(self):
        generator = torch.Generator().manual_seed(0)
        self.maps = torch.randn(3, 4, 2, generator=generator).double()
        self.weights = [torch.nn.Parameter(torch.tensor([0.7, -0.4]).double())]

    def loss(self, u):
        return ((u[:, 0] * (self.maps @ self.weights[0])).sum(-1).exp() / 3).sum()

    def gradients(self, u):
        u = u.detach().clone().requires_grad_()
        with torch.enable_grad():
            (found,) = torch.autograd.grad(self.loss(u), u)
        return found

    def see(self, half, weights=None, *, by="mixtures"):
        assert (half, by) == ("train", "weights")
        with torch.enable_grad():
            found = torch.autograd.grad(self.loss(weights["normal"]), self.weights)
        return Seen(loss=torch.zeros(()), accuracy=torch.zeros(()), weights=found)


def test_a_step_along_the_correction_raises_the_alignment():
    toy = Toy()
    mixture = torch.nn.Parameter(torch.full((1, 4), 0.25).double())
    method = lambda_darts({"normal": mixture}, game(replications={"normal": 3}))
    method.begin_epoch(19)
    spread = mixture.detach().expand(3, -1, -1)
    seen = Seen(
        loss=torch.zeros(()), accuracy=torch.zeros(()), mixtures={"normal": toy.gradients(spread)}
    )
    toy.weights[0].grad = torch.zeros_like(toy.weights[0])
    method.correct(seen, toy)
    before = alignment(toy.gradients(spread))
    with torch.no_grad():
        toy.weights[0] -= 0.01 * toy.weights[0].grad
    assert alignment(toy.gradients(spread)) > before + 1e-7


def test_one_cell_has_nobody_to_agree_with():
    mixture = torch.nn.Parameter(torch.full((1, 4), 0.25).double())
    method = lambda_darts({"normal": mixture}, game(replications={"normal": 1}))
    seen = Seen(loss=torch.zeros(()), accuracy=torch.zeros(()), mixtures={"normal": torch.ones(1, 1, 4)})
    method.correct(seen, None)  # no pass
