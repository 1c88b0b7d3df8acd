"""What is printed of a cell fits the terminal and says where the cell comes from."""

from pathlib import Path

import pytest

from xnas.cli.cell_description import show_genotype, source_lines
from xnas.space import Genotype, list_cells, zoo_cell

SAMPLE = Path(__file__).parents[1] / "samples" / "genotype-v1.json"


def test_a_genotype_is_shown_without_a_file():
    text = show_genotype(Genotype.load(SAMPLE))
    assert text.splitlines()[0].startswith("normal cell")
    assert text.splitlines()[-1].startswith("depth of the normal cell: 1.375")


@pytest.mark.parametrize("name", list_cells())
def test_every_published_cell_says_where_it_is_from(name):
    lines = source_lines(zoo_cell(name)).splitlines()
    assert lines[0].startswith(f"{zoo_cell(name).title}, from ")
    assert max(map(len, lines)) <= 100
