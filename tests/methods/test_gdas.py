"""GDAS: the drawn expert, and three forms of its gradient."""

import pytest
import torch
from method_games import COMMON, edges_of, near, row

from xnas.methods.gdas import HardGumbel, cooling, straight_through

NOISE = [[0.3, -0.2, 0.3]]
EDGES = edges_of(level=5.0, noise=NOISE)
G = row(*COMMON["gradient"])


def test_the_relaxed_sample_and_the_drawn_expert():
    relaxation = HardGumbel()
    assert near(relaxation.relaxed(EDGES), 0.345667, 0.294558, 0.359774)
    assert relaxation.weights(EDGES, "weights").tolist() == [[0, 0, 1]]


def test_three_forms_of_the_gradient_differ_in_their_signs():
    exact = HardGumbel("exact").pull_back(EDGES, G)
    selected = HardGumbel("selected").pull_back(EDGES, G)
    relaxed = HardGumbel().relaxed(EDGES)
    published = straight_through(relaxed, G, 5.0, others=row(0.05))
    assert near(exact, 0.026240, -0.024769, -0.001471)
    assert near(published, -0.001244, -0.001060, 0.002303)
    assert near(selected, -0.002487, -0.002119, 0.004607)
    assert (exact.sign() != published.sign()).any()


def test_the_exact_form_is_autograds_of_hard_plus_soft_minus_soft():
    logits = row(*COMMON["logits"]).requires_grad_()
    y = ((logits.log_softmax(-1) + torch.tensor(NOISE)) / 5.0).softmax(-1)
    hard = row(0, 0, 1) - y.detach() + y
    (expected,) = torch.autograd.grad((hard * G).sum(), logits)
    torch.testing.assert_close(HardGumbel().pull_back(EDGES, G), expected)


def test_the_temperature_falls_to_a_tenth():
    schedule = cooling(250)
    assert [schedule(e) for e in (0, 249)] == pytest.approx([10, 0.1])
    assert cooling(1)(0) == 10
