"""DSO-NAS: sparse scaling factors."""

import torch
from method_games import COMMON, near, one_edge, row

from xnas.methods.dso import proximal_step


def test_two_steps_by_the_same_gradient():
    mixture, method = one_edge("dso")
    method.factors["normal"].copy_(row(1, 0.5, 0.05))
    for expected in ((0.904810, 0.556810, 0.030810), (0.769039, 0.637839, 0.003439)):
        mixture.grad = row(*COMMON["gradient"])
        method.step()
        assert near(method.factors["normal"], *expected)


def test_a_strong_penalty_sets_factors_to_zero():
    factors, _ = proximal_step(
        row(0.01, 0.01, 0.01),
        row(0, 0, 0),
        row(0.2, 0, -0.2),
        learning_rate=0.1,
        penalty=0.05,
        momentum=0.9,
    )
    assert near(factors, 0, 0.0005, 0.0385)


def test_without_gradient_and_momentum_factors_shrink_by_rate_times_penalty():
    factors, _ = proximal_step(
        row(1, 0.5), row(0, 0), row(0, 0), learning_rate=0.1, penalty=0.01, momentum=0.0
    )
    assert near(factors, 0.999, 0.499)


def test_factors_are_never_negative_and_zeros_go_at_the_end_of_an_epoch():
    mixture, method = one_edge("dso")
    method.factors["normal"].copy_(row(0.1, 0.1, 1))
    mixture.grad = row(50, 2, -2)  # clipped to 2
    method.step()
    assert (method.factors["normal"] >= 0).all()
    assert method.factors["normal"][0, :2].tolist() == [0, 0]
    assert method.alive(mixture).all()
    method.close_epoch(None)
    assert method.alive(mixture).tolist() == [[False, False, True]]
    assert mixture.tolist() == [[0, 0, 1]]
    mixture.grad = row(-2, -2, 0)
    method.step()
    assert method.factors["normal"][0, :2].tolist() == [0, 0]


def test_the_last_expert_of_an_edge_stays():
    mixture, method = one_edge("dso")
    method.factors["normal"].zero_()
    method.close_epoch(None)
    assert method.alive(mixture).sum() == 1
    assert mixture.sum() == 1
    assert torch.equal(method.weights("weights", None)["normal"], row(0, 0, 0))
