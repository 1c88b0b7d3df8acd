"""Graphs of cells: a frame per epoch, with what was kept and what was gone."""

from dataclasses import replace

import pages
import pytest
from pages import CELLS, story

from xnas.report.page.cell_graphs import cell_edges, finished_graphs, reason, searched_graphs
from xnas.report.page.stories import DrawnCell


def test_every_epoch_is_a_frame_with_the_mixtures_of_it():
    normal, reduction = searched_graphs(story()).graphs
    assert (normal.kind, reduction.kind) == ("normal", "reduction")
    assert [frame.epoch for frame in normal.frames] == [1, 2, 3]
    assert normal.frames[0].weights == pages.epochs()[0].mixtures["normal"]


def test_the_last_frame_has_the_cell_that_was_chosen():
    normal = searched_graphs(story()).graphs[0]
    kept = [c for c in pages.choices() if c.kind == "normal" and c.kept]
    assert len(normal.frames[-1].kept) == len(kept) == 8
    for choice in kept:
        at = pages.SPACE.edges.index((choice.source, choice.node))
        assert normal.operations[normal.frames[-1].chosen[at]] == choice.operation
        assert choice.operation in normal.edges[at].reason


def test_wiped_experts_have_their_epoch_and_round():
    normal, reduction = searched_graphs(story()).graphs
    (wiped,) = normal.wiped
    assert (wiped.edge, wiped.expert, wiped.epoch, wiped.round_index) == (0, 6, 2, 35)
    assert reduction.wiped == ()


def test_a_search_without_choices_shows_the_cell_of_its_last_epoch():
    found = searched_graphs(story(choices=()))
    assert found.title == "The cell so far"
    assert len(found.graphs[0].frames[-1].kept) == 8
    assert found.graphs[0].edges[0].reason == ""


@pytest.mark.parametrize("shape", ["no mixtures", "another space", "no space"])
def test_what_does_not_fit_is_not_drawn(shape):
    old = tuple(replace(epoch, mixtures=None) for epoch in pages.epochs())
    changes = {
        "no mixtures": {"epochs": old},
        "another space": {"cells": replace(CELLS, edges=CELLS.edges[:5])},
        "no space": {"cells": None},
    }
    assert searched_graphs(story(**changes[shape])) is None


def test_a_reason_names_the_operation_its_rival_and_what_decided():
    choice = pages.choices()[0]
    text = reason(replace(choice, kept=True, operation="sep_conv_3x3"))
    assert "wiped" not in text
    assert "as if no expert had been wiped out" in reason(choice, wiped=True)
    assert "sep_conv_3x3 is the strongest operation here (62.5 %)" in text
    assert "before max_pool_3x3 (25.0 %), by 1.5 in summed rewards" in text
    assert "kept: what decided was how much the validation loss grows" in text
    alone = replace(choice, runner_up=None, lead=None, absence_cost=None, decided_by="only none")
    assert "what decided was only none" in reason(replace(alone, kept=False))


def test_edges_are_read_from_both_notations():
    arch = {"arch": "|conv~0|+|skip~0|none~1|"}
    assert cell_edges(arch, "normal", 1) == [(0, 1, "conv"), (0, 2, "skip"), (1, 2, "none")]
    nodes = {"normal": {"nodes": [[["sep", 1], ["skip", 0]]]}}
    assert cell_edges(nodes, "normal", 2) == [(1, 2, "sep"), (0, 2, "skip")]


@pytest.mark.parametrize("cell", [None, {}, {"arch": 3}, {"arch": "|conv|"}, {"normal": {"nodes": 3}}])
def test_what_is_no_cell_has_no_edges(cell):
    assert cell_edges(cell, "normal", 2) == []


def test_a_finished_cell_has_one_frame_without_weights():
    cell = DrawnCell(inputs=1, kinds={"normal": ((0, 1, "a"), (1, 2, "b"))}, concat={"normal": (2,)})
    found = finished_graphs(cell)
    (graph,) = found.graphs
    assert (graph.states, graph.frames[0].kept, graph.frames[0].chosen) == (3, (0, 1), (0, 1))
    assert set(found.colours) == {"a", "b"}
