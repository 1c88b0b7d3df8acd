"""Path encoding: the bits of known cells."""

import random

import pytest
import torch

from xnas import Genotype
from xnas.samplers.path_encoding import MOST_BITS, PathEncoding
from xnas.space import CellGenotype, CellKind, Edge, SearchSpace, encoding_of

BEST = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_1x1~2|"


def test_the_best_cell_of_the_benchmark():
    # Digits: none 0, skip 1, 1x1 2, 3x3 3, average 4. Edge 0-3: 1. Edges 0-1-3: 5 + 3 + 5 * 3 = 23.
    # Edges 0-2-3: 5 + 3 + 5 * 2 = 18. Edges 0-1-2-3: 30 + 3 + 5 * 3 + 25 * 2 = 98.
    paths = PathEncoding("nasbench201")
    assert paths.size == 5 + 25 + 125
    assert paths.bits(Genotype.from_arch(BEST)) == [1, 18, 23, 98]
    row = paths.rows([Genotype.from_arch(BEST)])
    assert row.shape == (1, 155)
    assert row.nonzero()[:, 1].tolist() == [1, 18, 23, 98]


def test_every_cell_of_the_benchmark_has_four_paths_one_direct_one_long():
    paths, encoding, draw = PathEncoding("nasbench201"), encoding_of("nasbench201"), random.Random(0)
    for _ in range(50):
        genotype = encoding.decode(encoding.draw(draw))
        bits = paths.bits(genotype)
        assert sum(bit < 5 for bit in bits) == sum(bit >= 30 for bit in bits) == 1
        assert len(bits) in (3, 4)  # two paths of two edges may be the same sequence


def test_inputs_and_kinds_have_bits_of_their_own():
    space = SearchSpace("two", ("sep_conv_3x3", "skip_connect"), nodes=2)
    paths = PathEncoding(space)
    assert (paths.bits_of_one, paths.size) == (2 + 4, 2 * 2 * 6)
    normal = CellGenotype(
        (
            (Edge("skip_connect", 0), Edge("sep_conv_3x3", 1)),
            (Edge("sep_conv_3x3", 0), Edge("skip_connect", 2)),
        ),
        (2, 3),
    )

    class Cells:
        def cell(self, kind):
            return normal if kind is CellKind.NORMAL else reduction

    reduction = CellGenotype(((Edge("sep_conv_3x3", 0), Edge("sep_conv_3x3", 1)),) * 2, (2, 3))
    # Normal, input 0: skip (1), sep (0), skip then skip (2 + 1 + 2). Input 1: sep (0), sep then skip
    # (2 + 2), in the six bits after.
    # Reduction: sep from either input.
    assert paths.bits(Cells()) == [0, 1, 5, 6, 6 + 4, 12, 18]


@pytest.mark.parametrize(("space", "longest"), [("darts", 3), ("nasnet", 3)])
def test_paths_too_long_for_the_bits_are_left_out(space, longest):
    paths, encoding = PathEncoding(space), encoding_of(space)
    assert paths.longest == longest
    assert paths.size <= MOST_BITS
    genotype = encoding.decode(encoding.draw(random.Random(0)))
    assert len(paths.bits(genotype)) == len(set(paths.bits(genotype))) > 4
    assert paths.rows([genotype]).sum() == len(paths.bits(genotype))


def test_a_permutation_of_a_nodes_edges_changes_nothing():
    encoding, paths = encoding_of("darts"), PathEncoding("darts")
    genotype = encoding.decode(encoding.draw(random.Random(1)))
    turned = CellGenotype(tuple(n[::-1] for n in genotype.normal.nodes), genotype.normal.concat)
    other = Genotype("darts", turned, genotype.reduction)
    assert torch.equal(paths.rows([genotype]), paths.rows([other]))
