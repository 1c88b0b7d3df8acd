"""The accuracy of a cell with a supernet's weights."""

import copy

import pytest
import torch
from searching import engine

from xnas import ConfigError, Genotype, GenotypeError
from xnas.engine import discretization_gap, play_round
from xnas.engine.shared_weights import cell_accuracy, cell_mixtures
from xnas.runs.cells import architecture_of
from xnas.space import SPACES


@pytest.mark.parametrize("arguments", [{}, {"space": "nasbench201", "cells": 1, "include_none": True}])
def test_a_cell_is_worth_what_the_discretization_gap_says_and_nothing_is_touched(arguments):
    search = engine(epochs=4, **arguments)
    play_round(search)
    space = search.supernet.space
    cell = search.standing().cell(space)
    before = copy.deepcopy(search.supernet.state_dict())
    value = cell_accuracy(search, cell)
    for name, tensor in search.supernet.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    assert value == discretization_gap(search).cell
    rows = {kind: u.sum(-1) for kind, u in cell_mixtures(search, cell, space).items()}
    kept = dict.fromkeys(rows, 6 if arguments else 8)
    assert {kind: int(row.sum()) for kind, row in rows.items()} == kept
    assert {float(u) for row in rows.values() for u in row} <= {0.0, 1.0}


def test_an_edge_of_none_is_an_edge_that_is_not_there():
    search = engine(space="nasbench201", cells=1, epochs=4)
    arch = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|avg_pool_3x3~2|"
    mixtures = cell_mixtures(search, Genotype.from_arch(arch), search.supernet.space)
    assert mixtures["normal"].sum(-1).tolist() == [1, 0, 1, 0, 0, 1]


def test_cells_that_the_supernet_does_not_hold_are_refused():
    search = engine(epochs=4)
    space = search.supernet.space
    with pytest.raises(
        GenotypeError, match="a cell of the space nasbench201 is not in a supernet of dar"
    ):
        cell_accuracy(search, Genotype.random("nasbench201", 0))
    with pytest.raises(GenotypeError, match="the normal cell has 5 nodes and joins"):
        cell_accuracy(search, architecture_of("pnas"))
    cell = search.standing().cell(space)
    edge = cell.normal.nodes[0][0]
    row, column = space.edges.index((edge.source, 2)), space.operations.index(edge.operation)
    search.deleted.append(("normal", row, column))
    with pytest.raises(
        GenotypeError, match=f"{edge.operation} of the edge {edge.source} -> 2 of the nor"
    ):
        cell_accuracy(search, cell)
    odd = SPACES["darts"].__class__("darts", ("skip_connect",))
    search.deleted.clear()
    if edge.operation != "skip_connect":
        with pytest.raises(GenotypeError, match="which the supernet has not trained"):
            cell_mixtures(search, cell, odd)


def test_a_supernet_of_no_space_has_no_cells():
    search = engine(epochs=4)
    search.replicated = None
    with pytest.raises(ConfigError, match="Supernet is the supernet of no registered space"):
        cell_accuracy(search, Genotype.random("darts", 0))
