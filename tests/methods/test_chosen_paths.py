"""The best of several cells, and what remains of it."""

import torch
from method_games import SPACE, game

from xnas import uniform_mixture
from xnas.methods.chosen_paths import best_of
from xnas.methods.random_search import random_search


class Looks:
    """Accuracies by how much weight the first column has."""

    def __init__(self):
        self.draw = torch.Generator().manual_seed(0)
        self.seen = []

    def accuracy(self, weights, batches=None):
        self.seen.append(batches)
        return float(weights["normal"][:, 0].sum())


def test_the_best_come_first_and_of_equals_the_first():
    paths = [{"normal": torch.full((1, 1), float(a))} for a in (1, 3, 2, 3)]
    assert [p is q for p, q in zip(best_of(paths, Looks(), 10, 2), (paths[1], paths[3]), strict=True)]
    assert best_of(paths, Looks(), None)[0] is paths[1]


def test_the_chosen_cell_is_the_strength_and_survives_a_restart():
    mixtures = {"normal": uniform_mixture(4, 5)}
    method = random_search(mixtures, game(**SPACE, replications={"normal": 1}))
    torch.testing.assert_close(method.strengths(mixtures["normal"]), torch.full((4, 5), 0.2).double())
    path = torch.zeros(4, 5)
    path[[1, 3], [4, 0]] = 1
    method.choose({"normal": path})
    others = {"normal": uniform_mixture(4, 5)}
    resumed = random_search(others, game(**SPACE, replications={"normal": 1}))
    resumed.load_state_dict(method.state_dict())
    assert torch.equal(resumed.strengths(others["normal"]), path.double())
    assert others["normal"].sum(-1).tolist() == [1, 1, 1, 1]
    assert others["normal"][1].tolist() == [0, 0, 0, 0, 1]
