"""Sizes by addition are those that published cells were counted with."""

import pytest

from xnas import list_cells
from xnas.space import NETWORKS, Genotype, zoo_cell
from xnas.space.network_size import NetworkSize, NetworkSizes
from xnas.space.paper_size import IMAGE, JOINED, _table, edge_places, paper_size

SUMMED = [
    name
    for name in list_cells()
    if set(edge_places(zoo_cell(name).genotype)) <= set(_table())
    and {zoo_cell(name).genotype.normal.concat, zoo_cell(name).genotype.reduction.concat} == {JOINED}
]


@pytest.mark.parametrize("name", SUMMED)
def test_a_published_cell_has_the_size_in_its_file(name):
    cell = zoo_cell(name)
    known = next(size for size in cell.sizes if size.spec == NETWORKS["cifar"])
    assert paper_size(cell.genotype) == NetworkSize(known.parameters, known.macs)


def test_enough_published_cells_were_compared():
    assert {"xnas", "darts_v2", "pc_darts_image", "pdarts"} <= set(SUMMED)


def test_a_random_cell_has_the_size_that_is_counted():
    cell = Genotype.random("darts", 5)
    assert paper_size(cell) == NetworkSizes(NETWORKS["cifar"], IMAGE).size(cell)


def test_other_cells_are_counted():
    cell = zoo_cell("nasnet_a")
    known = next(size for size in cell.sizes if size.spec == NETWORKS["cifar"])
    assert "nasnet_a" not in SUMMED
    assert paper_size(cell.genotype) == NetworkSize(known.parameters, known.macs)
