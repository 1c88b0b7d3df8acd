"""ProxylessNAS by REINFORCE."""

import torch
from method_games import near, one_edge, row

from xnas.methods.passes import Seen


class Given:
    """Sees paths that choose expert 2 or 0, with accuracies 0.62 and 0.58."""

    def see(self, half, weights, *, by):
        assert (half, by) == ("valid", "nothing")
        (chosen,) = weights["normal"].argmax(-1).tolist()
        return Seen(loss=torch.zeros(()), accuracy=torch.tensor({2: 0.62, 0: 0.58}[chosen]).double())


def test_two_samples(monkeypatch):
    """The worked example, with as many paths as it has."""
    monkeypatch.setattr("xnas.methods.proxyless_rl.PATHS", 2)
    _, method = one_edge("proxyless-rl")
    paths = iter([row(0, 0, 1), row(1, 0, 0)])
    monkeypatch.setattr(method, "weights", lambda *_: {"normal": next(paths)})
    method.baseline.fill_(0.55)
    method.learn(Given())
    assert near(method.baseline, 0.5995)  # 0.55 + 0.99 (0.60 - 0.55)
    assert near(method.logits[0].grad, 0.009919, 0.000125, -0.010044)


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
