"""Encodings: whole cells as tuples of small numbers."""

from collections import Counter
from itertools import islice
from math import comb, prod
from random import Random

import pytest

from xnas.errors import ConfigError, GenotypeError
from xnas.space import SPACES, CellKind, Genotype, encoding_of, zoo_cell

SPACES_HERE = ("nasbench201", "darts", "nasnet")


def drawn(encoding, number, seed=0):
    draw = Random(seed)
    return [encoding.draw(draw) for _ in range(number)]


def unordered(genotype):
    """The cells with the edges of every node as a set, for comparison."""
    cells = (genotype.normal, genotype.reduction)
    return [
        ([sorted((e.source, e.operation) for e in edges) for edges in cell.nodes], cell.concat)
        for cell in cells
        if cell
    ]


class TestCounts:
    def test_nasbench201_has_15625_cells(self):
        encoding = encoding_of("nasbench201")
        assert encoding.cardinalities == (5,) * 6
        assert encoding.size == 15_625

    def test_darts_has_as_many_cells_as_its_paper_says(self):
        # Liu et al. (2019), Sec. 3.1: for node k = 1..4 (k + 1) k / 2 pairs and 7^2 operations.
        a_cell = prod((k + 1) * k // 2 * 7**2 for k in range(1, 5))
        assert a_cell == 1_037_664_180
        assert encoding_of("darts").size == a_cell**2
        assert encoding_of("darts", tied=True).size == a_cell

    def test_a_nasnet_cell_has_556_million_million_tuples(self):
        # Block b draws two of b + 1 states and two of 8 operations.
        a_cell = prod(((b + 1) * 8) ** 2 for b in range(1, 6))
        assert encoding_of("nasnet", tied=True).size == a_cell == 556_627_761_561_600
        unordered_cells = prod(comb((b + 1) * 8 + 1, 2) for b in range(1, 6))
        assert unordered_cells == pytest.approx(2.08e13, rel=0.01)
        assert len(encoding_of("nasnet").cardinalities) == 40


class TestPositions:
    def test_a_position_says_what_its_numbers_mean(self):
        first, second, third = encoding_of("darts").positions[3:6]
        assert (first.name, first.values) == ("normal.3.sources", ((0, 1), (0, 2), (1, 2)))
        assert (second.name, second.what, second.edge) == ("normal.3.operation.0", "operation", 0)
        assert third.values == SPACES["darts"].operations
        last = encoding_of("nasnet").positions[-2]
        assert (last.name, last.values) == ("reduction.6.source.1", (0, 1, 2, 3, 4, 5))
        assert (last.kind, last.node) == (CellKind.REDUCTION, 6)

    def test_none_can_be_drawn_on_nasbench201_alone(self):
        assert encoding_of("nasbench201").positions[0].values[0] == "none"
        for space in ("darts", "nasnet"):
            assert not any("none" in position.values for position in encoding_of(space).positions)


@pytest.mark.parametrize("space", SPACES_HERE)
class TestEverySpace:
    def test_cells_survive_encoding_up_to_the_order_of_edges(self, space):
        encoding = encoding_of(space)
        for choices in drawn(encoding, 50):
            genotype = encoding.decode(choices)
            assert encoding.encode(genotype) == choices
            assert Genotype.from_json(genotype.to_json()) == genotype
            assert unordered(encoding.decode(encoding.encode(genotype))) == unordered(genotype)

    def test_neighbours_are_symmetric_and_come_once(self, space):
        encoding = encoding_of(space)
        for choices in drawn(encoding, 3, seed=1):
            around = list(encoding.neighbours(choices))
            assert len(set(around)) == len(around)
            assert choices not in around
            for other in islice(around, 0, None, 7):
                assert encoding.canonical(other) == other
                assert choices in set(encoding.neighbours(other))

    def test_a_mutation_is_a_neighbour(self, space):
        encoding, draw = encoding_of(space), Random(3)
        for choices in drawn(encoding, 5, seed=2):
            around = set(encoding.neighbours(choices))
            for _ in range(40):
                child = encoding.mutate(choices, draw)
                assert child in around or child == choices  # equal only if a block has two equal edges
        assert child != choices

    def test_numbers_that_are_no_cell_are_refused(self, space):
        encoding = encoding_of(space)
        with pytest.raises(
            GenotypeError, match=f"encoded by {len(encoding.cardinalities)} numbers, got 1"
        ):
            encoding.decode([0])
        wrong = [*encoding.cardinalities]
        with pytest.raises(
            GenotypeError, match=rf"{encoding.positions[0].name} is {wrong[0]}; it must be 0"
        ):
            encoding.decode(wrong)


def test_numbers_of_neighbours():
    by_operation, by_source = 16 * 6, 2 * (2 * 1 + 2 * 2 + 2 * 3)  # darts: one of two sources moves
    for space, number in (("nasbench201", 6 * 4), ("darts", by_operation + by_source)):
        encoding = encoding_of(space)
        for choices in drawn(encoding, 4):
            assert len(list(encoding.neighbours(choices))) == number
    # nasnet: 20 edges with 7 other operations, and 2 (1 + 2 + 3 + 4 + 5) other sources in each cell;
    # a block with two equal edges has the same neighbour on either side.
    encoding = encoding_of("nasnet")
    cell = encoding.encode(zoo_cell("pnas").genotype)
    assert len(list(encoding.neighbours(cell))) == 20 * 7 + 2 * 2 * 15


def test_mutations_of_a_nasbench201_cell_reach_all_neighbours_alike():
    encoding, draw = encoding_of("nasbench201"), Random(0)
    cell = encoding.draw(draw)
    counts = Counter(encoding.mutate(cell, draw) for _ in range(24_000))
    assert set(counts) == set(encoding.neighbours(cell))
    assert all(abs(count - 1000) <= 160 for count in counts.values())  # five standard deviations


@pytest.mark.parametrize("per_cell", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_draws_are_uniform(per_cell):
    encoding, draw = encoding_of("nasbench201"), Random(0)
    tuples = Counter(encoding.draw(draw) for _ in range(per_cell * encoding.size))
    chi_square = sum((n - per_cell) ** 2 / per_cell for n in tuples.values())
    chi_square += (encoding.size - len(tuples)) * per_cell
    freedom = encoding.size - 1
    assert abs(chi_square - freedom) < 5 * (2 * freedom) ** 0.5
    darts = encoding_of("darts")
    pairs = Counter(choices[9] for choices in drawn(darts, 10_000))  # of node 5: ten pairs
    assert darts.positions[9].name == "normal.5.sources"
    assert sum((pairs[pair] - 1000) ** 2 / 1000 for pair in range(10)) < 9 + 5 * 18**0.5


class TestTied:
    def test_both_cells_are_equal(self):
        encoding = encoding_of("nasnet", tied=True)
        genotype = encoding.decode(encoding.draw(Random(0)))
        assert genotype.normal == genotype.reduction
        assert encoding.decode(encoding.encode(zoo_cell("pnas").genotype)).space == "nasnet"

    def test_cells_that_differ_do_not_fit(self):
        with pytest.raises(GenotypeError, match="the reduction cell differs from the normal one"):
            encoding_of("nasnet", tied=True).encode(zoo_cell("nasnet_a").genotype)

    def test_a_space_of_one_kind_has_nothing_to_tie(self):
        with pytest.raises(ConfigError, match="'nasbench201' have one kind; there is nothing to tie"):
            encoding_of("nasbench201", tied=True)


@pytest.mark.parametrize("name", ["nasnet_a", "amoebanet_a", "pnas"])
def test_published_cells_encode_in_nasnet(name):
    published, encoding = zoo_cell(name).genotype, encoding_of("nasnet")
    here = encoding.decode(encoding.encode(published))
    assert [nodes for nodes, _ in unordered(here)] == [nodes for nodes, _ in unordered(published)]
    same_output = [concat for _, concat in unordered(here)] == [c for _, c in unordered(published)]
    assert same_output == (name != "pnas")  # which joins all nodes, although one is read


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "amoebanet_b",
            "node 3 of the normal cell uses 'nor_conv_1x1', which the space 'nasnet' does not",
        ),
        (
            "amoebanet_b_google",
            "node 2 of the normal cell uses 'nor_conv_1x1', which the space 'nasnet'",
        ),
        ("amoebanet_a_google", r"concat of the normal cell is \[1, 3, 4, 6\]; .* here \[3, 4, 6\]"),
        ("amoebanet_c_google", r"concat of the normal cell is \[1, 2, 4, 5, 6\]"),
        ("darts_v2", "the normal cell has 4 nodes; a cell of the space 'nasnet' that can"),
    ],
)
def test_published_cells_of_another_kind_are_refused(name, words):
    with pytest.raises(GenotypeError, match=words):
        encoding_of("nasnet").encode(zoo_cell(name).genotype)


def test_a_published_darts_cell_that_cannot_be_drawn_is_refused():
    encoding = encoding_of("darts")
    assert encoding.encode(zoo_cell("darts_v2").genotype)
    with pytest.raises(
        GenotypeError, match="the normal cell has 5 nodes; a cell of the space 'darts' that"
    ):
        encoding.encode(zoo_cell("nasnet_a").genotype)


def test_a_space_without_an_encoding_is_named():
    with pytest.raises(ConfigError, match="no search space called 'nasnett'; did you mean nasnet"):
        encoding_of("nasnett")
