"""Cells of 0 and 1: kept edges, uniform draws, and mixtures for them."""

import pytest
import torch
from method_games import EDGES, SPACE, game

from xnas.methods.paths import belief_of, kept_edges, rows_of_nodes, uniform_path, without_none

DARTS_EDGES = tuple((source, node) for node in range(2, 6) for source in range(node))


def test_each_node_keeps_its_best_edges():
    darts = game(edges=DARTS_EDGES, kept_edges=2)
    assert [len(rows) for rows in rows_of_nodes(darts)] == [2, 3, 4, 5]
    kept = kept_edges(torch.arange(14.0), darts)
    assert kept.nonzero().flatten().tolist() == [0, 1, 3, 4, 7, 8, 12, 13]
    assert kept_edges(torch.arange(14.0), game(edges=DARTS_EDGES)).sum() == 14
    assert kept_edges(torch.arange(4.0), game()).sum() == 4


def test_sources_and_operations_are_drawn_equally_often():
    played = game(edges=DARTS_EDGES, kept_edges=2)
    generator = torch.Generator().manual_seed(0)
    alive, like = torch.ones(14, 7, dtype=torch.bool), torch.zeros(14, 7)
    total = sum(uniform_path(alive, played, generator, like) for _ in range(4000))
    for rows in rows_of_nodes(played):
        share = total[rows].sum(-1) / 4000
        assert share.tolist() == pytest.approx([2 / len(rows)] * len(rows), abs=0.035)  # 4 deviations
    by_operation = total.sum(0) / total.sum()
    assert by_operation.tolist() == pytest.approx([1 / 7] * 7, abs=0.009)


def test_only_the_living_are_drawn_and_none_only_if_alone():
    alive = torch.zeros(4, 5, dtype=torch.bool)
    alive[:, 2:4] = True
    alive[1, 3] = False
    choice = without_none(alive, SPACE["operations"])
    assert choice[:, 3].tolist() == [True, False, True, True]
    assert choice[:, 2].tolist() == [False, True, False, False]
    assert torch.equal(without_none(alive, ("a",) * 5), alive)
    path = uniform_path(choice, game(**SPACE), torch.Generator().manual_seed(0), torch.zeros(4, 5))
    assert (path[~choice] == 0).all()
    assert path.sum() == len({node for _, node in EDGES})


def test_edges_that_a_path_leaves_out_are_uniform_in_its_mixture():
    path = torch.tensor([[0.0, 1, 0], [0, 0, 0]])
    alive = torch.tensor([[True, True, True], [True, False, True]])
    assert belief_of(path, alive).tolist() == [[0, 1, 0], [0.5, 0, 0.5]]
