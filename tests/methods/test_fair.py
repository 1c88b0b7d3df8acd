"""FairDARTS: gates of their own, and the zero-one loss."""

import torch
from method_games import COMMON, FakePasses, build, edges_of, near, one_edge, row

from xnas.methods.fair import zero_one


def gradient_of(entries):
    mixture, method = one_edge("fair")
    method.weight_terms = (zero_one(entries),)
    mixture.grad = row(*COMMON["gradient"])
    method.step()
    return method.logits[0].grad


def test_gates_and_their_gradient():
    _, method = one_edge("fair")
    gates = method.weights("weights", FakePasses({}))["normal"]
    assert near(gates, 0.549834, 0.475021, 0.598688)
    assert near(gradient_of(196), 0.122500, -0.074177, 0.021607)
    assert near(gradient_of(3), 0.041527, -0.033285, -0.134046)


def test_the_gradient_is_autograds_through_sigmoid_and_loss():
    logits = row(*COMMON["logits"]).requires_grad_()
    gates = logits.sigmoid()
    loss = (gates * row(*COMMON["gradient"])).sum() - 10 * ((gates - 0.5) ** 2).mean()
    (expected,) = torch.autograd.grad(loss, logits)
    torch.testing.assert_close(gradient_of(3), expected)


def test_the_zero_one_term_pushes_gates_away_from_a_half():
    term = zero_one(3)(edges_of())
    assert (term[0, [0, 2]] < 0).all()  # above 1/2: the descent raises them
    assert term[0, 1] > 0


def test_it_starts_at_a_half_and_counts_the_entries_of_both_kinds():
    mixtures, method = build("fair")
    assert all((logits == 0).all() for logits in method.logits)
    for mixture in mixtures.values():
        mixture.grad = torch.zeros_like(mixture)
    with torch.no_grad():
        method.logits[0].fill_(10.0)
    method.step()
    gate = torch.tensor(10.0).sigmoid()
    expected = -2 * 10 * (gate - 0.5) / 40 * gate * (1 - gate)  # 2 kinds of 4 edges with 5 experts
    torch.testing.assert_close(method.logits[0].grad[0, 0], expected)
