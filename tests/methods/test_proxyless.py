"""ProxylessNAS's gates: what is drawn, the pair, and what stands still."""

from dataclasses import replace

import pytest
import torch
from method_games import COMMON, FakePasses, edges_of, near, one_edge, row

from xnas.methods.logits import Edges
from xnas.methods.proxyless import FullGates, TwoGates

PAIR_02 = [[[5.0, -50.0, 5.0]], [[0.0, 0.0, 9.0]]]
"""Noise that draws experts 0 and 2, and makes 2 active."""


def test_full_is_the_gradient_of_a_softmax_at_the_drawn_path():
    edges = edges_of(noise=[[9.0, 0.0, 0.0]])
    assert FullGates().weights(edges, "rewards").tolist() == [[1, 0, 0]]
    back = FullGates().pull_back(edges, row(*COMMON["gradient"]))
    assert near(back, 0.123219, -0.108788, -0.014431)


def test_two_learns_from_its_pair_and_leaves_the_others_probabilities():
    mixture, method = one_edge("proxyless-two")
    method.drawn["normal"].copy_(torch.tensor(PAIR_02))
    edges = method.edges("normal")
    assert TwoGates().weights(edges, "rewards").tolist() == [[0, 0, 1]]
    within = edges.logits[:, [0, 2]].softmax(-1)
    assert near(within, 0.450166, 0.549834)
    back = TwoGates().pull_back(edges, row(*COMMON["gradient"]))
    assert near(back, 0.099007, 0, -0.099007)
    before = mixture.detach().clone()
    mixture.grad = row(*COMMON["gradient"])
    method.step()
    assert near(method.logits[0], 0.198900, -0.1, 0.400900)
    torch.testing.assert_close(mixture[0, 1], before[0, 1], rtol=1e-12, atol=0)
    assert near(mixture[0, 1], 0.250089)


def test_pairs_are_drawn_without_replacement():
    logits = torch.tensor(COMMON["logits"]).expand(200_000, 3)
    edges = Edges(logits, torch.ones_like(logits, dtype=torch.bool), torch.tensor(0.0), logits)
    edges = replace(edges, noise=TwoGates().draw(edges, torch.Generator().manual_seed(0)))
    pair, u = TwoGates().pair(edges), logits[0].softmax(-1)
    assert (pair.sum(-1) == 2).all()
    for i, j in ((0, 1), (0, 2), (1, 2)):
        expected = u[i] * u[j] / (1 - u[i]) + u[j] * u[i] / (1 - u[j])
        share = (pair[:, i] & pair[:, j]).float().mean()
        assert share == pytest.approx(float(expected), abs=0.0045)  # 4 deviations
    active = TwoGates().weights(edges, "weights")
    assert ((active > 0) & ~pair).sum() == 0
    first = active[pair[:, 0] & pair[:, 2]].mean(0)
    assert first[0] == pytest.approx(0.450166, abs=0.008)


def test_a_pair_of_one_when_only_one_lives():
    edges = edges_of(noise=PAIR_02, alive=[False, True, False])
    assert TwoGates().weights(edges, "weights").tolist() == [[0, 1, 0]]
    assert TwoGates().pull_back(edges, row(1, 1, 1)).tolist() == [[0, 0, 0]]


def test_it_rests_in_the_first_epoch_and_learns_in_every_fifth_round():
    _, method = one_edge("proxyless")
    assert [method.learns(0, r) for r in range(10)] == [False] * 10
    assert [r for r in range(12) if method.learns(3, r)] == [4, 9]
    drawn = method.weights("weights", FakePasses({}))["normal"]
    assert drawn.sum() == 1
