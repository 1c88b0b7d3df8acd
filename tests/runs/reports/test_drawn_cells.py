"""Genotypes as plain edges."""

import pages

from xnas.runs.reports.drawn_cells import drawn_cell, saved_cell
from xnas.space import Genotype


def test_both_cells_keep_their_edges_and_states():
    found = drawn_cell(pages.CELL)
    assert list(found.kinds) == ["normal", "reduction"]
    edge = pages.CELL.normal.nodes[0][0]
    assert found.kinds["normal"][0] == (edge.source, 2, edge.operation)
    assert found.concat["normal"] == (2, 3, 4, 5)


def test_a_space_of_one_kind_has_one_input():
    found = drawn_cell(Genotype.random("nasbench201", 0))
    assert (found.inputs, list(found.kinds)) == (1, ["normal"])
    assert len(found.kinds["normal"]) == 6


def test_a_folder_without_a_genotype_has_no_cell(tmp_path):
    assert saved_cell(tmp_path) is None
