"""Second order: a toy that is quadratic in the weights, and two errors of public code."""

from contextlib import contextmanager

import pytest
import torch
from method_games import near, row

from xnas.methods.darts2 import ahead_gradients, global_norm
from xnas.methods.passes import Seen

U = row(0.6, 0.4)
RATE, MOMENTUM, DECAY = 0.1, 0.9, 3e-4


class Toy:
    """p = ⟨u, w⟩ with L_train = (p - 1)²/2 and L_valid = (p - 2)²/2, which is quadratic in w."""

    targets = {"train": 1.0, "valid": 2.0}  # noqa: RUF012

    def __init__(self):
        self.w, self.momentum = row(0.5, -0.3)[0], row(0.02, -0.01)[0]
        self.rate = torch.tensor(RATE).double()

    def loss(self, half, w, u):
        return ((u * w).sum() - self.targets[half]) ** 2 / 2

    def see(self, half, weights=None, *, by="mixtures"):  # noqa: ARG002
        u, w = U.clone().requires_grad_(), self.w.clone().requires_grad_()
        with torch.enable_grad():
            loss = self.loss(half, w, u)
            by_u, by_w = torch.autograd.grad(loss, (u, w))
        return Seen(
            loss=loss.detach(), accuracy=loss.detach(), mixtures={"normal": by_u[None]}, weights=[by_w]
        )

    @contextmanager
    def at(self, direction, scale):
        kept, self.w = self.w, self.w + scale * direction[0]
        yield
        self.w = kept

    @contextmanager
    def ahead(self, gradient):
        kept = self.w
        self.w = kept - RATE * (MOMENTUM * self.momentum + gradient[0] + DECAY * kept)
        yield
        self.w = kept


def exact():
    """∂u by double backward through the step of the weights."""
    toy = Toy()
    u, w = U.clone().requires_grad_(), toy.w.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(toy.loss("train", w, u), w, create_graph=True)
    there = w - RATE * (MOMENTUM * toy.momentum + gradient + DECAY * w)
    (found,) = torch.autograd.grad(toy.loss("valid", there, u), u)
    return found


def test_the_gradient_is_that_of_double_backward():
    toy = Toy()
    found = ahead_gradients(toy)["normal"]
    assert near(found, -1.014549, 0.387429)
    # The difference of gradients is exact where the loss is quadratic, but for rounding.
    torch.testing.assert_close(found, exact(), rtol=1e-7, atol=0)
    by_logits = U * (found - (U * found).sum())
    assert near(by_logits, -0.336475, 0.336475)
    assert toy.w.tolist() == [0.5, -0.3]


def test_it_is_none_of_the_errors_of_public_code_nor_first_order():
    toy, found = Toy(), ahead_gradients(Toy())["normal"]
    now = toy.see("train")
    with toy.ahead(now.weights):
        there = toy.see("valid")
    v = there.weights
    scale = 0.01 / global_norm(v)
    assert float(scale) == pytest.approx(0.00779912, abs=5e-9)
    with toy.at(v, scale):
        up = toy.see("train").mixtures["normal"][0]
    with toy.at(v, -scale):
        down = toy.see("train").mixtures["normal"][0]
    assert near((up - down) / (2 * scale), 0.412516, 0.860593)
    multiplied = there.mixtures["normal"][0] - RATE * ((up - down) / 2 * scale)
    assert near(multiplied, -0.973300, 0.473483)
    stayed = toy.see("valid").mixtures["normal"][0]
    assert near(stayed, -0.910000, 0.546000)  # also that of first order
    w_stays = toy.see("valid").weights
    at = 0.01 / global_norm(w_stays)
    with toy.at(w_stays, at):
        up = toy.see("train").mixtures["normal"][0]
    with toy.at(w_stays, -at):
        down = toy.see("train").mixtures["normal"][0]
    no_step = stayed - RATE * (up - down) / (2 * at)
    assert near(no_step, -0.952224, 0.457912)
    for wrong in (multiplied, stayed, no_step):
        assert (found - wrong).abs().max() > 1e-2


def test_where_the_validation_loss_is_flat_nothing_is_learned():
    class Flat(Toy):
        def loss(self, half, w, u):
            return super().loss(half, w, u) * (half == "train")

    assert ahead_gradients(Flat())["normal"].tolist() == [[0.0, 0.0]]
