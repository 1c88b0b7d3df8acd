"""Encodings of the cells within limits: nothing they give is beyond."""

from itertools import product
from random import Random

from xnas.space import NETWORKS, encoding_of
from xnas.space.limited_encoding import LimitedEncoding, smallest_cell
from xnas.space.network_size import NetworkSizes

ENCODING = encoding_of("nasbench201")


def convolutions(genotype):
    return sum("conv" in e.operation for edges in genotype.normal.nodes for e in edges)


def limited(most):
    return LimitedEncoding(ENCODING, lambda cell: convolutions(cell) <= most, (0,) * 6)


def test_draws_mutations_and_neighbours_obey():
    encoding, draw = limited(1), Random(0)
    here = encoding.draw(draw)
    for _ in range(30):
        assert encoding.allows(here)
        around = list(encoding.neighbours(here))
        assert around == [o for o in ENCODING.neighbours(here) if convolutions(ENCODING.decode(o)) < 2]
        here = encoding.mutate(here, draw)
        assert here in around
    assert encoding.encode(encoding.decode(here)) == here
    assert (encoding.space, encoding.tied) == ("nasbench201", False)


def test_draws_are_uniform_among_the_allowed():
    # Of the 3^6 + 6 * 2 * 3^5 cells with at most one convolution, 729 of 3645 have none: one in five.
    encoding, draw = limited(1), Random(1)
    none = sum(convolutions(encoding.decode(encoding.draw(draw))) == 0 for _ in range(400))
    assert abs(none / 400 - 0.2) < 5 * (0.16 / 400) ** 0.5


def test_a_tiny_share_of_cells_is_reached_by_steps():
    only = {(0,) * 6, (1, 0, 0, 0, 0, 0), (1, 1, 0, 0, 0, 0)}
    encoding = LimitedEncoding(ENCODING, lambda cell: ENCODING.encode(cell) in only, (0,) * 6)
    draw = Random(0)
    assert {encoding.draw(draw) for _ in range(8)} <= only
    alone = LimitedEncoding(ENCODING, lambda cell: ENCODING.encode(cell) == (0,) * 6, (0,) * 6)
    assert alone.mutate((0,) * 6, draw) == (0,) * 6


def test_the_smallest_cell_is_found():
    sizes = NetworkSizes(NETWORKS["cifar"].but(channels=4, cells=3), (3, 32, 32))
    encoding = encoding_of("darts")
    least = sizes.size(encoding.decode(smallest_cell(encoding, lambda c: sizes.size(c).parameters)))
    # Pools have no weights. Which one, and what it reads, costs nothing.
    pools = encoding.decode([1 if p.what == "operation" else 0 for p in encoding.positions])
    assert least.parameters == sizes.size(pools).parameters
    numbers = {c: sum(c) for c in product(range(5), repeat=6)}
    cheapest = smallest_cell(ENCODING, lambda cell: -numbers[ENCODING.encode(cell)])
    assert cheapest == (4,) * 6
