"""Cells as a user names them: a damaged genotype in a run folder comes with the command that helps."""

from pathlib import Path

import pytest

from xnas import Genotype, GenotypeError
from xnas.runs.cells import LONGEST, architecture_of, recorded_cell


@pytest.fixture
def damaged(tmp_path):
    (tmp_path / "genotype.json").write_text("{", encoding="utf8")
    return tmp_path


def test_a_damaged_genotype_of_a_search_names_the_command(damaged):
    with pytest.raises(GenotypeError, match=r"not JSON.*; xnas search --resume .* a finished search"):
        architecture_of(damaged)


def test_that_of_a_training_names_the_other_command(damaged):
    (damaged / "recipe.json").touch()
    with pytest.raises(GenotypeError, match=r"; xnas train --resume .* a finished training again"):
        architecture_of(damaged)


def test_a_file_has_no_command(damaged):
    with pytest.raises(GenotypeError, match="not JSON") as raised:
        architecture_of(damaged / "genotype.json")
    assert "--resume" not in str(raised.value)
    (damaged / "empty").mkdir()
    with pytest.raises(GenotypeError, match=r"no genotype\.json in"):
        architecture_of(damaged / "empty")


def test_what_is_whole_is_what_find_architecture_gives():
    genotype = Genotype.random("darts", 0)
    assert architecture_of(genotype) is genotype
    assert architecture_of("xnas").space == "darts"


@pytest.mark.parametrize("cell", ["xnas", "runs/photos", Path("a/cell.json"), "x" * LONGEST])
def test_a_name_or_path_is_recorded_as_it_was_given(cell):
    assert recorded_cell(cell, "genotype") == str(cell)


@pytest.mark.parametrize("cell", [Genotype.random("darts", 0), "x" * (LONGEST + 1)])
def test_a_cell_without_a_short_name_is_recorded_as_the_file_that_has_it(cell):
    assert recorded_cell(cell, "genotype") == "genotype.json"
