"""A cell is plain data: hashable whatever it was made of."""

from xnas.space.cell_genotype import CellGenotype, CellKind, Edge


def test_a_cell_of_lists_is_the_cell_of_tuples_and_can_be_a_key():
    edges = [Edge("sep_conv_3x3", 0), Edge("skip_connect", 1)]
    listed, frozen = CellGenotype([edges], [2]), CellGenotype((tuple(edges),), (2,))
    assert listed == frozen
    assert {frozen: "found"}[listed] == "found"


def test_kinds_of_cells_are_written_by_their_names():
    assert [f"{kind}" for kind in CellKind] == ["normal", "reduction"]
