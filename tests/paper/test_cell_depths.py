"""Depths of cells, by hand and by arithmetic."""

import pytest

from xnas.paper.cell_depths import (
    depth_rows,
    mean_random_depth,
    random_depths,
    reachable_depths,
    swapped_depth,
)
from xnas.space import list_cells, zoo_cell


def test_pnas_has_the_printed_depth_by_hand():
    # Inputs swapped: of the sources 0 0 1 1 1 1 4 1 0 1 three are now 1 and six 0; node 4 as the first
    # node is 2. (3 + 2) / 10 = 0.5.
    assert reachable_depths(zoo_cell("pnas").genotype.normal)[0] == 0.5


def test_random_cells_have_the_depth_that_arithmetic_gives():
    random = random_depths(1.375)
    # A node k picks two of k sources, whose mean is (k - 1) / 2: over nodes 2 to 5 that is 1.25.
    assert random.exact_mean == mean_random_depth(4) == 1.25
    error = random.exact_deviation / random.cells**0.5
    assert abs(random.mean - random.exact_mean) < 4 * error
    assert abs(random.share_deeper - random.exact_share_deeper) < 4 * 0.5 / random.cells**0.5
    assert mean_random_depth(5) == 1.5


@pytest.mark.parametrize("name", list_cells())
def test_a_cell_reaches_its_own_depth_and_that_of_swapped_inputs(name):
    cell = zoo_cell(name).genotype.normal
    assert {zoo_cell(name).depth, swapped_depth(cell)} <= set(reachable_depths(cell))


def test_rows_begin_with_the_papers_table_and_then_name_the_other_cells():
    rows = depth_rows()
    papers = [row for row in rows if row.row]
    assert rows[: len(papers)] == papers
    assert all(row.printed is None and row.reached is None for row in rows[len(papers) :])
    xnas = next(row for row in papers if row.cell == "xnas")
    assert (xnas.printed, xnas.depth, xnas.reached) == (1.375, 1.375, "as numbered")
