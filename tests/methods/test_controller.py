"""ENAS's controller: probabilities against enumeration, and the cells that it emits."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from method_games import game

from xnas.methods.controller import Controller

DARTS_EDGES = tuple((source, node) for node in range(2, 6) for source in range(node))
BENCHMARK_EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
OPERATIONS = ("skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3", "max_pool_3x3")


def controller(edges, kept, experts):
    played = game(edges=edges, kept_edges=kept, operations=OPERATIONS[:experts])
    alive = {"normal": torch.ones(len(edges), experts, dtype=torch.bool)}
    return Controller({"normal": torch.zeros(len(edges), experts)}, played), alive


def test_probabilities_of_all_cells_of_the_benchmark_sum_to_one():
    with torch.no_grad():
        made, alive = controller(BENCHMARK_EDGES, None, 5)
        choices = torch.tensor(list(itertools.product(range(5), repeat=6)))
        paths = torch.nn.functional.one_hot(choices, 5).float()
        found = made.sample(alive, None, len(paths), given={"normal": paths})
        assert len(paths) == 5**6
        assert torch.equal(found.paths["normal"], paths)
        assert float(found.log_probability.exp().sum()) == pytest.approx(1, abs=1e-4)
        drawn = made.sample(alive, torch.Generator().manual_seed(0), 4)
        again = made.sample(alive, None, 4, given=drawn.paths)
        torch.testing.assert_close(drawn.log_probability, again.log_probability)


def test_nodes_keep_different_edges_with_living_operations():
    made, alive = controller(DARTS_EDGES, 2, 4)
    alive["normal"][3] = torch.tensor([False, False, True, False])
    cells = made.sample(alive, torch.Generator().manual_seed(0), 200)
    path = cells.paths["normal"]
    assert ((path == 0) | (path == 1)).all()
    assert (path.sum(-1) <= 1).all()
    for first, last in ((0, 2), (2, 5), (5, 9), (9, 14)):
        assert (path[:, first:last].sum((1, 2)) == 2).all()
    assert (path[:, ~alive["normal"]] == 0).all()
    assert path.flatten(1).unique(dim=0).shape[0] > 150
    assert (cells.entropy > 0).all()


def test_convolutions_are_likelier_at_first():
    made, alive = controller(BENCHMARK_EDGES, None, 5)
    path = made.sample(alive, torch.Generator().manual_seed(0), 500).paths["normal"]
    shares = path.sum((0, 1)) / path.sum()
    # logits 0.44 · tanh(10) + 0.25 and about -0.25
    expected = torch.tensor([-0.25, 0.69, 0.69, -0.25, -0.25]).softmax(0)
    torch.testing.assert_close(shares, expected, atol=0.06, rtol=0)


def test_logits_of_operations_are_flatter_than_those_of_edges_and_biased_in_normal_cells():
    """(c/2.5) tanh(raw + learned bias) + 0.25 for convolutions and -0.25 for others, c = 1.1."""
    played = game(edges=((0, 1),), kept_edges=None, operations=("nor_conv_3x3", "skip_connect"))
    alive = {kind: torch.ones(1, 2, dtype=torch.bool) for kind in ("normal", "reduction")}
    made = Controller({kind: torch.zeros(1, 2) for kind in alive}, played)
    assert made.bias.tolist() == [10, 0]
    with torch.no_grad():
        made.bias.copy_(torch.tensor([0.3, -0.2]))
        made.operation.weight.zero_()
        paths = {kind: torch.tensor([[[1.0, 0.0]]]) for kind in alive}
        found = float(made.sample(alive, None, 1, given=paths).log_probability)
    flat = 0.44 * (math.tanh(0.3) - math.tanh(-0.2))
    assert found == pytest.approx(
        -sum(math.log1p(math.exp(-flat - bias)) for bias in (0.5, 0.0)), abs=1e-6
    )


def test_a_game_without_edges_has_one_decision_each():
    played = replace(game(), operations=("a", "b"))
    made = Controller({"x": torch.zeros(3, 2)}, played)
    mask = {"x": torch.ones(3, 2, dtype=torch.bool)}
    path = made.sample(mask, torch.Generator().manual_seed(0), 7).paths["x"]
    assert (path.sum(-1) == 1).all()
