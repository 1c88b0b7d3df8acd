"""ProxylessNAS by REINFORCE."""

import pytest
import torch
from method_games import near, one_edge, row

from xnas.methods.passes import Seen
from xnas.methods.proxyless_rl import policy_gradient


def test_two_samples():
    u = row(0.2, -0.1, 0.4).softmax(-1)
    paths = torch.stack([row(0, 0, 1), row(1, 0, 0)])
    baseline = 0.55 + 0.99 * (0.60 - 0.55)
    assert baseline == pytest.approx(0.5995)
    advantages = torch.tensor([0.62, 0.58]).double() - baseline
    assert near(policy_gradient(u, paths, advantages), 0.009919, 0.000125, -0.010044)


class Passes:
    """One expert is accurate, the others are not."""

    def __init__(self):
        self.draw = torch.Generator().manual_seed(0)

    def see(self, half, weights, *, by):
        assert (half, by) == ("valid", "nothing")
        right = weights["normal"][0, 2]
        return Seen(loss=1 - right, accuracy=0.1 + 0.8 * right)


def test_it_comes_to_prefer_the_accurate_expert():
    mixture, method = one_edge("proxyless-rl", logits=[0.0, 0.0, 0.0])
    assert [r for r in range(30) if method.learns(1, r)] == [9, 19, 29]
    assert not method.learns(0, 9)
    passes = Passes()
    for _ in range(200):
        method.learn(passes)
    assert mixture[0].argmax() == 2
    assert mixture[0, 2] > 0.36
    assert 0.1 < float(method.baseline) < 0.9
