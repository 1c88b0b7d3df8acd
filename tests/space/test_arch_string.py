"""NAS-Bench-201's strings: what is read is what was written, and every fault is reported in one line."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nasbench201 import OPERATIONS, all_cells, arch

from xnas import Genotype, GenotypeError
from xnas.space import CellGenotype, Edge
from xnas.space.arch_string import LONGEST, read_arch, write_arch

GOOD = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|none~2|"
LIKE = r"it must read like \|nor_conv_3x3~0\|\+\|skip_connect~0"

names = st.text("abcdefghijklmnopqrstuvwxyz_0123456789", min_size=1, max_size=12)
edges = st.lists(st.builds(Edge, names, st.integers(0, 999)), min_size=1, max_size=5).map(tuple)
cells = st.lists(edges, min_size=1, max_size=5).map(
    lambda nodes: CellGenotype(tuple(nodes), (len(nodes),))
)


def test_a_string_is_read_node_by_node():
    cell = read_arch(GOOD)
    assert cell.nodes == (
        (Edge("nor_conv_3x3", 0),),
        (Edge("none", 0), Edge("skip_connect", 1)),
        (Edge("avg_pool_3x3", 0), Edge("nor_conv_1x1", 1), Edge("none", 2)),
    )
    assert cell.concat == (3,)
    assert write_arch(cell) == GOOD


@given(cells)
def test_any_cell_is_written_and_read_again(cell):
    assert read_arch(write_arch(cell)) == cell


def test_all_strings_of_the_benchmark_are_read_as_they_stand():
    every = [arch(operations) for operations in all_cells()]
    assert len(set(every)) == 15_625  # five operations on six edges
    assert all(Genotype.from_arch(text).arch == text for text in every)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "the architecture is None; " + LIKE),
        (7, "the architecture is 7; " + LIKE),
        (["|a~0|"], r"the architecture is \['\|a~0\|'\]; " + LIKE),
        ("", "the architecture is ''; " + LIKE),
        ("nor_conv_3x3~0", "node 1 of the architecture is 'nor_conv_3x3~0'; " + LIKE),
        ("|", r"node 1 of the architecture is '\|'; " + LIKE),
        ("||", r"node 1 of the architecture is '\|\|'; " + LIKE),
        (GOOD + "+", "node 4 of the architecture is ''; " + LIKE),
        (GOOD[:-1], "node 3 of the architecture is '.*none~2'; " + LIKE),
        (GOOD + "\n", r"node 3 of the architecture is .*\\n'; " + LIKE),
        (GOOD.replace("~1", ""), "node 2 of the architecture has the edge 'skip_connect'; " + LIKE),
        (GOOD.replace("none~0", "none~"), "node 2 of the architecture has the edge 'none~'; "),
        (GOOD.replace("none~0", "none~-1"), "node 2 of the architecture has the edge 'none~-1'; "),
        (GOOD.replace("none~0", "none~0.0"), r"node 2 of the architecture has the edge 'none~0\.0'; "),
        (GOOD.replace("none~0", "none~00"), "node 2 of the architecture has the edge 'none~00'; "),
        (GOOD.replace("none~0", "none~٠"), "node 2 of the architecture has the edge 'none~٠'; "),
        (GOOD.replace("none~0", "none~1000"), "node 2 of the architecture has the edge 'none~1000'; "),
        (GOOD.replace("none~0", " none~0"), "node 2 of the architecture has the edge ' none~0'; "),
        (GOOD.replace("none~0", "nöne~0"), "node 2 of the architecture has the edge 'nöne~0'; "),
        (GOOD.replace("none~0", "~0"), "node 2 of the architecture has the edge '~0'; "),
        (GOOD.replace("none~0|", "none~0||"), "node 2 of the architecture has the edge ''; "),
        ("|a~0|" * LONGEST, r"the architecture is '\|a~0\|.*\.\.\..*'; " + LIKE),
        ("+" * LONGEST, "node 1 of the architecture is ''; "),
    ],
)
def test_what_cannot_be_read_is_named_in_one_line(text, words):
    with pytest.raises(GenotypeError, match=words) as caught:
        read_arch(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("|none~0|", r"; write it like \|op~0\|\+\|op~0\|op~1\|\+\|op~0\|op~1\|op~2\|$"),
        ("|none~0|+|none~0|none~1|", r"has 3 nodes and gives the last; this one has 2 and gives \[2\]"),
        (GOOD + "+|none~0|none~1|none~2|none~3|", "has 3 nodes and gives the last; this one has 4"),
        (
            GOOD.replace("|none~0|", "|"),
            r"node 2 of the normal cell is fed by \[1\]; .* in order: \[0, 1",
        ),
        (GOOD.replace("none~0", "none~1"), r"node 2 of the normal cell is fed by \[1, 1\]"),
        (GOOD.replace("none~2", "none~3"), "node 3 of the normal cell has an edge from 3; .* 0 to 2"),
        (
            "|none~0|+|none~1|none~0|+|none~0|none~1|none~2|",
            r"node 2 of the normal cell is fed by \[1, 0\]; here every node is fed by all .* in order",
        ),
        (
            GOOD.replace("nor_conv_1x1", "sep_conv_3x3"),
            "uses 'sep_conv_3x3', which the space 'nasbench201' does not have; did you mean nor_conv",
        ),
    ],
)
def test_a_cell_of_another_shape_is_refused_by_the_space(text, words):
    read_arch(text)  # it reads as a cell
    with pytest.raises(GenotypeError, match=words) as caught:
        Genotype.from_arch(text)
    assert "\n" not in str(caught.value)


def test_a_mutated_string_is_refused_or_read_as_it_stands():
    seen, messages = Counter(), []
    pieces = st.sampled_from(
        ["|", "+", "~", "0", "1", "2", "3", " ", "\n", "none", "skip_connect", "é", ""]
    )

    @given(st.integers(0, len(GOOD)), st.integers(0, 12), pieces)
    def check(at, length, put):
        text = GOOD[:at] + put + GOOD[at + length :]
        try:
            found = Genotype.from_arch(text)
        except GenotypeError as error:
            seen[GenotypeError] += 1
            messages.append(str(error))
        else:
            seen[Genotype] += 1
            assert found.arch == text

    check()
    assert seen[GenotypeError] > 50
    assert not any("\n" in message for message in messages)
    assert seen[Genotype] >= 1


@given(st.text())
def test_arbitrary_text_is_refused(text):
    with pytest.raises(GenotypeError):
        Genotype.from_arch(text)


@given(st.lists(st.sampled_from(OPERATIONS), min_size=6, max_size=6))
def test_a_genotype_of_a_string_goes_through_json_unchanged(operations):
    genotype = Genotype.from_arch(arch(operations))
    assert Genotype.from_json(genotype.to_json()) == genotype


def test_a_cell_of_another_space_has_no_string():
    with pytest.raises(GenotypeError, match="cells of the space 'darts' have no string; use to_json"):
        _ = Genotype.random("darts", 0).arch
