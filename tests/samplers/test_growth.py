"""Levels of the spaces: how many blocks, which cells."""

from itertools import islice
from random import Random

import pytest

from xnas.samplers.growth import GROWTHS, extended
from xnas.space import encoding_of

SPACES_HERE = sorted(GROWTHS)


def drawn(growth, level, draw):
    """A random cell of a level."""
    return tuple(draw.choice(growth.blocks(number)) for number in range(1, level + 1))


def test_nasnet_has_the_published_numbers_of_blocks():
    # n inputs (sources times 8 operations) make n (n + 1) / 2 unordered pairs: 16, 24, 32, 40, 48.
    found = [len(GROWTHS["nasnet"].blocks(level)) for level in range(1, 6)]
    assert found == [136, 300, 528, 820, 1176]
    kept = [136, 256, 256, 256]
    ranked = [cells * blocks for cells, blocks in zip(kept, found[1:], strict=True)]
    assert ranked == [40_800, 135_168, 209_920, 301_056]


def test_darts_adds_a_pair_of_sources_and_two_operations():
    # 49 pairs of operations times 1, 3, 6 and 10 pairs of sources.
    assert [len(GROWTHS["darts"].blocks(level)) for level in range(1, 5)] == [49, 147, 294, 490]


def test_the_benchmark_grows_to_all_its_cells():
    growth = GROWTHS["nasbench201"]
    assert [len(growth.blocks(level)) for level in range(1, 4)] == [5, 25, 125]
    cells = [((5, 5, 3),), ((5, 5, 3), (1, 5, 2)), ((5, 5, 3), (1, 5, 2), (4, 0, 3))]
    assert [growth.genotype(cell).arch for cell in cells] == [
        "|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|",
        "|skip_connect~0|+|none~0|none~1|+|nor_conv_3x3~0|nor_conv_1x1~1|none~2|",
        "|skip_connect~0|+|avg_pool_3x3~0|none~1|+|nor_conv_3x3~0|nor_conv_1x1~1|nor_conv_3x3~2|",
    ]


@pytest.mark.parametrize("space", SPACES_HERE)
def test_blocks_are_read_back_from_the_genotype(space):
    growth, draw = GROWTHS[space], Random(0)
    for level in range(1, growth.levels + 1):
        for _ in range(10):
            cell = drawn(growth, level, draw)
            assert growth.cell(growth.genotype(cell), level) == cell
            for block in cell:
                sizes = [growth.tables[table] for table in growth.columns]
                assert all(token < size for token, size in zip(block, sizes, strict=True))


@pytest.mark.parametrize("space", SPACES_HERE)
def test_cells_of_one_key_are_one_genotype_and_others_are_not(space):
    growth, draw = GROWTHS[space], Random(1)
    cells = [drawn(growth, level, draw) for level in range(1, growth.levels + 1) for _ in range(30)]
    keys = {growth.key(cell): growth.genotype(cell) for cell in cells}
    assert len(set(keys.values())) == len(keys)
    assert all(keys[growth.key(cell)] == growth.genotype(cell) for cell in cells)


def test_empty_blocks_at_the_end_of_a_benchmark_cell_change_nothing():
    growth = GROWTHS["nasbench201"]
    short, longer = ((5, 5, 3),), ((5, 5, 3), (0, 5, 0), (0, 0, 0))
    assert growth.key(longer) == growth.key(short) == short
    assert growth.genotype(longer) == growth.genotype(short)


def test_swapping_the_halves_of_a_block_leaves_the_cell():
    growth, encoding = GROWTHS["nasnet"], encoding_of("nasnet", tied=True)
    cell = drawn(growth, 5, Random(2))
    swapped = tuple(block[2:] + block[:2] for block in cell)
    assert encoding.encode(growth.genotype(swapped)) == encoding.encode(growth.genotype(cell))
    assert growth.cell(growth.genotype(swapped), 5) == cell


def test_nasnet_joins_loose_ends_and_darts_all_nodes():
    skip_of_first = (0, 0, 0, 0)
    reads_it = (2, 0, 2, 0)
    assert GROWTHS["nasnet"].genotype((skip_of_first, reads_it)).normal.concat == (3,)
    darts = GROWTHS["darts"].genotype(((0, 2, 1, 2), (0, 2, 2, 2)))
    assert darts.normal.concat == (2, 3)
    assert darts.normal == darts.reduction


def test_candidates_are_all_pairs_of_a_kept_cell_and_a_block():
    growth = GROWTHS["darts"]
    kept = [(block,) for block in growth.blocks(1)[:2]]
    cells = list(extended(kept, growth, 2))
    assert len(cells) == 2 * 147
    assert [cell[:1] for cell in islice(cells, 146, 148)] == kept
