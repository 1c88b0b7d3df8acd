"""How the edges of one node are chosen and written."""

import pytest

from xnas.errors import GenotypeError
from xnas.space.cell_genotype import Edge
from xnas.space.edge_choices import AllSources, FreeSources, PairOfSources

NAMES = ("a", "b", "c")


def test_the_order_of_edges_means_nothing():
    one, other = Edge("c", 1), Edge("a", 1)
    free = FreeSources(3, NAMES)
    assert free.choices([one, other]) == free.choices([other, one]) == (1, 0, 1, 2)
    pair = PairOfSources(3, NAMES)
    assert pair.choices([Edge("b", 2), Edge("a", 0)]) == (1, 0, 1)
    assert pair.edges((1, 0, 1)) == (Edge("a", 0), Edge("b", 2))


def test_an_edge_that_moves_keeps_its_operation():
    edges = (Edge("a", 0), Edge("b", 2))
    assert PairOfSources(4, NAMES).other_sources(edges, 0) == [Edge("a", 1), Edge("a", 3)]
    assert FreeSources(3, NAMES).other_sources(edges, 1) == [Edge("b", 0), Edge("b", 1)]
    assert AllSources(2, NAMES).other_sources((Edge("a", 0), Edge("b", 1)), 0) == []


@pytest.mark.parametrize(
    ("node", "edges", "words"),
    [
        (AllSources(2, NAMES), [Edge("a", 0), Edge("a", 0)], "one edge from every state before it"),
        (
            PairOfSources(2, NAMES),
            [Edge("a", 0), Edge("a", 0)],
            r"reads the states \[0, 0\]; .* two diff",
        ),
        (
            FreeSources(2, NAMES),
            [Edge("x", 0), Edge("a", 0)],
            "uses 'x', which cannot be chosen; .* a, b, c",
        ),
    ],
)
def test_edges_that_cannot_be_drawn_are_refused(node, edges, words):
    with pytest.raises(GenotypeError, match=words):
        node.choices(edges)
