"""ENAS: rewards, the baseline, TensorFlow's Adam and the cell at the end."""

from functools import partial

import pytest
import torch
from method_games import build, game, near, row
from methods.test_chosen_paths import Looks

from xnas.methods import METHODS
from xnas.methods.passes import Seen


class Scores(torch.nn.Module):
    """Raw scores of three edges, whatever the controller has decided before."""

    def __init__(self):
        super().__init__()
        self.raw = torch.nn.Parameter(row(0.3, -0.2, 0.5))

    def forward(self, joined):
        return self.raw.expand(len(joined), 3)[..., None]


class Accurate:
    """The accuracy of any cell is 0.6."""

    draw = None

    def see(self, half, weights, *, by):
        assert (half, by) == ("valid", "nothing")
        assert weights["normal"].flatten().tolist() == [0, 0, 1]
        return Seen(loss=torch.zeros(()), accuracy=torch.tensor(0.6).double())


def one_decision():
    """A method that picks one of three edges, which have one operation."""
    node = {"edges": ((0, 3), (1, 3), (2, 3)), "kept_edges": 1, "operations": ("conv",)}
    mixtures = {"normal": torch.nn.Parameter(torch.ones(3, 1).double())}
    method = METHODS["enas"](mixtures, game(**node, replications={"normal": 1}))
    method.controller.attention = Scores()
    method.squares["attention.raw"] = torch.zeros(1, 3).double()
    return method


def test_the_reward_of_one_decision(monkeypatch):
    """The worked example, with one sample that picks the third edge."""
    monkeypatch.setattr("xnas.methods.enas.SAMPLES", 1)
    method = one_decision()
    third = {"normal": torch.tensor([[[0.0], [0.0], [1.0]]]).double()}
    sample = partial(method.controller.sample, given=third)
    paths = [torch.eye(3).double()[n].reshape(1, 3, 1) for n in range(3)]
    found = [method.controller.sample(method.masks, None, 1, given={"normal": p}) for p in paths]
    assert near(torch.stack([f.log_probability.exp() for f in found]), 0.358311, 0.209316, 0.432372)
    assert near(found[0].entropy, 1.057636)
    monkeypatch.setattr(method.controller, "sample", sample)
    seen = {}
    monkeypatch.setattr(method, "_descend", seen.update)
    method.baseline.fill_(0.5)
    method.learn(Accurate())
    assert near(method.baseline, 0.501001)  # towards 0.6 + 1e-4 · 1.057636
    assert near(seen["attention.raw"], 0.035747, 0.021930, -0.048665)


def test_eps_stands_beside_the_root_as_in_tensorflow():
    _, method = build("enas")
    name, weight = next(iter(method.controller.named_parameters()))
    before, gradient = weight.detach().clone(), torch.full_like(weight, 0.01)
    others = {n: None for n, _ in method.controller.named_parameters()}
    with torch.no_grad():
        method._descend(others | {name: gradient})
    # v = 1e-3 · g², the rate 0.0035 · √(1 - 0.999)
    step = 0.0035 * 0.001**0.5 * 0.01 / ((0.001 * 0.01**2) ** 0.5 + 1e-3)
    torch.testing.assert_close(before - weight, torch.full_like(weight, step), rtol=1e-3, atol=0)


class Passes:
    """The accuracy of a cell is its share of one operation."""

    def __init__(self):
        self.draw = torch.Generator().manual_seed(0)

    def see(self, half, weights, *, by):
        assert (half, by) == ("valid", "nothing")
        share = sum(w[:, 0].sum() for w in weights.values()) / sum(w.sum() for w in weights.values())
        return Seen(loss=-share, accuracy=share)


def test_it_comes_to_sample_what_is_accurate_and_ends_with_the_best_cell():
    mixtures, method = build("enas")
    assert [r for r in range(30) if method.learns(0, r)] == [9, 19, 29]

    def share():
        cells = method.controller.sample(method.masks, torch.Generator().manual_seed(1), 200)
        return sum(float(p[..., 0].sum()) for p in cells.paths.values()) / 800

    before, passes = share(), Passes()
    for _ in range(100):
        method.learn(passes)
    # The biases of convolutions start where tanh is flat and stay there. With logits within ±0.44 around
    # ±0.25 the other operation can reach a share of 0.21 in normal cells and 0.29 in reduction cells.
    assert before < 0.19
    assert share() > 0.23
    assert mixtures["normal"].sum(-1).tolist() == pytest.approx([1.0] * 4)
    method.begin_epoch(19)
    looks = Looks()
    method.close_epoch(looks)
    assert looks.seen == [10] * 100
    assert method.strengths(mixtures["normal"]).sum() == 2
