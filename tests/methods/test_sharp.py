"""Max-W, and the schedule that came with it."""

import torch
from method_games import COMMON, edges_of, near, row

from xnas.methods import METHODS
from xnas.methods.sharp import MaxW


def test_the_strongest_has_weight_one():
    weights = MaxW().weights(edges_of(), "weights")
    assert near(weights, 0.925258, 0.837762, 1)
    back = MaxW().pull_back(edges_of(), row(*COMMON["gradient"]))
    assert near(back, 0.164977, -0.077853, -0.087125)


def test_the_gradient_is_autograds_through_the_largest():
    logits = row(*COMMON["logits"]).requires_grad_()
    u = logits.softmax(-1)
    weights = 1 - u.amax(-1, keepdim=True) + u
    (expected,) = torch.autograd.grad((weights * row(*COMMON["gradient"])).sum(), logits)
    torch.testing.assert_close(MaxW().pull_back(edges_of(), row(*COMMON["gradient"])), expected)


def test_the_dead_take_no_part():
    edges = edges_of(alive=[True, True, False])
    assert MaxW().weights(edges, "weights")[0, 0] == 1
    assert MaxW().weights(edges, "weights")[0, 2] == 0
    assert MaxW().pull_back(edges, row(0, 0, 5)).abs().max() == 0


def test_the_recipe_has_the_authors_rates():
    recipe = METHODS["sharp"].recipe_on("darts")
    first, last = recipe.weights_lr, recipe.final_weights_lr
    # those of their epochs 1, 6, 7, 25 and 50 of 50, counted from 1, by their formula
    shares = [recipe.schedule(epoch - 1, 50) for epoch in (1, 6, 7, 25, 50)]
    rates = torch.tensor([last + (first - last) * share for share in shares])
    assert near(rates.double(), 0.00425, 0.025, 0.0248323, 0.0125982, 0.0001)
