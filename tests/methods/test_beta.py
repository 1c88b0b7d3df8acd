"""β-DARTS's penalty."""

import torch
from method_games import COMMON, near, one_edge, row

from xnas.methods.beta import logsumexp_gradient
from xnas.methods.logits import Edges


def test_the_term_of_epoch_ten_with_six_edges():
    one = torch.tensor(COMMON["logits"]).double()
    six = one.repeat(6, 1)
    edges = Edges(six, torch.ones_like(six, dtype=torch.bool), torch.tensor(5.0).double(), six)
    term = logsumexp_gradient(edges)
    assert near(term[0], 0.281320, 0.208407, 0.343606)
    logits = one.repeat(6, 1).requires_grad_()
    (expected,) = torch.autograd.grad(5 * logits.logsumexp(-1).mean(), logits)
    torch.testing.assert_close(term, expected)
    assert near(one.logsumexp(-1), 1.285939)


def test_the_gradient_of_the_logits_is_both_and_the_penalty_grows_by_a_half_per_epoch():
    mixture, method = one_edge("beta")
    method.begin_epoch(10)
    method.level /= 6  # as one of six edges
    mixture.grad = row(*COMMON["gradient"])
    method.step()
    assert near(method.logits[0].grad, 0.404539, 0.099619, 0.329175)
    assert [method.schedule(epoch) for epoch in (0, 49)] == [0, 24.5]
