"""SNAS: the drawn softmax and its gradient."""

import pytest
import torch
from method_games import COMMON, edges_of, near, row

from xnas.methods.snas import GumbelSoftmax, cooling

NOISE = [[0.3, -0.2, 0.3]]
EDGES = edges_of(level=0.5, noise=NOISE)


def test_a_sample_and_its_gradient():
    assert near(GumbelSoftmax().weights(EDGES, "weights"), 0.371234, 0.074951, 0.553816)
    back = GumbelSoftmax().pull_back(EDGES, row(*COMMON["gradient"]))
    assert near(back, 0.208995, -0.077726, -0.131269)
    logits = row(*COMMON["logits"]).requires_grad_()
    z = ((logits + torch.tensor(NOISE)) / 0.5).softmax(-1)
    (expected,) = torch.autograd.grad((z * row(*COMMON["gradient"])).sum(), logits)
    torch.testing.assert_close(back, expected)


def test_the_temperature_falls_with_the_searchs_own_epochs():
    found = [cooling(150)(epoch) for epoch in (0, 50, 149)]
    assert found == pytest.approx([1, 0.676667, 0.036467], abs=6e-7)
    assert cooling(20)(20) == pytest.approx(0.03)
