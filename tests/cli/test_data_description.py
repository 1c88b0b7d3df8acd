"""Texts about datasets; `test_data.py` runs the command."""

from xnas.cli.data_description import catalogue_table, described, description
from xnas.data import CATALOGUE, DataOptions


def test_the_table_has_one_line_per_dataset_and_says_where_it_looked(tmp_path):
    lines = catalogue_table(tmp_path)
    assert [line.split()[0] for line in lines[1 : 1 + len(CATALOGUE)]] == list(CATALOGUE)
    assert f"looked for in {tmp_path}" in lines[-2]


def test_a_dataset_that_is_not_there_comes_with_how_to_get_it(tmp_path):
    lines = description(CATALOGUE["cifar10"], tmp_path)
    assert "not found" in lines
    assert lines[-1].startswith("how to get it: ")


def test_a_dataset_is_never_refused(tmp_path):
    lines, refusal = described("digits", DataOptions(data_dir=tmp_path))
    assert lines
    assert refusal is None
