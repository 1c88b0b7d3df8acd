"""Rows of the paper with our counts; `test_tables.py` compares their entries with the paper."""

import pytest

from xnas.paper.compared_rows import compared_rows


@pytest.mark.slow
def test_a_row_is_compared_with_every_cell_that_it_could_mean():
    snas = [row.cell for row in compared_rows(1) if row.paper.row == "SNAS"]
    assert snas == ["snas_mild", "snas_moderate"]
    lines = [row.paper.line for row in compared_rows(1)]
    assert lines == sorted(lines)
    assert set(lines) == set(range(1, 20))


def test_the_numbers_of_a_row_are_flat_and_ours_are_empty_without_a_network():
    rows = {row.paper.row: row.numbers() for row in compared_rows(2)}
    xnas, other = rows["XNAS"], rows["RandWire"]
    assert xnas.keys() == other.keys()
    assert (xnas["printed"], xnas["parameters"], xnas["macs"]) == (5.2, 5_258_564, 568_761_264)
    assert (xnas["channels"], xnas["stem_channels"], xnas["agrees"]) == (46, 56, "yes, truncated")
    ours = ("cell", "network", "channels", "parameters", "depth", "agrees", "nearest_channels")
    assert {other[name] for name in ours} == {None}
    assert other["note"]
