"""Rules of NASNet's cells, and of loose ends; `test_genotype` has cells that other rules refuse."""

import pytest

from xnas.errors import GenotypeError
from xnas.space import CellGenotype, Edge, Genotype
from xnas.space.cell_rules import loose_ends

BLOCK = (Edge("skip_connect", 0), Edge("sep_conv_3x3", 0))


def test_loose_ends_or_all_nodes_are_joined():
    nodes = (BLOCK,) * 4 + ((Edge("max_pool_3x3", 5), Edge("max_pool_3x3", 5)),)
    for concat in ((2, 3, 4, 6), (2, 3, 4, 5, 6)):
        cell = CellGenotype(nodes, concat)
        assert Genotype("nasnet", cell, cell).normal.concat == concat
    with pytest.raises(GenotypeError, match=r"joins the nodes that no other reads, here \[2, 3, 4, 6\]"):
        Genotype("nasnet", *[CellGenotype(nodes, (6,))] * 2)


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ((BLOCK,) * 6, "the normal cell has 6 nodes; a cell of the space 'nasnet' has 1 to 5"),
        ((BLOCK,) * 4 + ((Edge("none", 0), Edge("skip_connect", 0)),), "node 6 .* uses 'none'"),
        ((BLOCK[:1],) * 5, "node 2 of the normal cell has 1 incoming edge; every node needs 2"),
    ],
)
def test_other_cells_are_refused(nodes, words):
    cell = CellGenotype(nodes, tuple(range(2, 2 + len(nodes))))
    with pytest.raises(GenotypeError, match=words):
        Genotype("nasnet", cell, cell)


def test_loose_ends_are_the_nodes_that_no_other_reads():
    nodes = (BLOCK, (Edge("skip_connect", 2), Edge("skip_connect", 1)), BLOCK)
    assert loose_ends(2, CellGenotype(nodes, (4,))) == (3, 4)
    assert loose_ends(1, CellGenotype(nodes[:1], (1,))) == (1,)
