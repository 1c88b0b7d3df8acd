"""What tables show of our own runs beside what the paper prints."""

import pytest

from xnas.methods import METHODS
from xnas.paper.compared_rows import ComparedRow
from xnas.paper.found_here import measured_here
from xnas.paper.measured_here import (
    COMMANDS,
    NO_SEARCH,
    NOT_MEASURED,
    MeasuredHere,
    SearchedHere,
    TrainedHere,
    command_of,
    datasets_trained,
)
from xnas.paper.tables import paper_table
from xnas.samplers import SAMPLERS
from xnas.space import zoo_cell
from xnas.space.zoo import other_systems

TRAINED = TrainedHere(
    cell="darts_v2", dataset="cifar10", trainings=2, error=7.25, deviation=0.1, recipe="quick, 3 epochs"
)
ONE = TrainedHere(
    cell="xnas", dataset="svhn", trainings=1, error=2.0, deviation=None, recipe="quick, 3 epochs"
)
SEARCHED = SearchedHere(
    command="xnas search --method snas", searches=3, accuracy=91.5, deviation=2.0, settings="50 epochs"
)
MEASURED = MeasuredHere(trained=(TRAINED, ONE), searched=(SEARCHED,))


def rows_of(table):
    """Rows without their networks, which take long to count."""
    found = [(row, None) for row in other_systems()]
    found += [(row, cell) for cell in ("darts_v2", "snas_mild", "xnas") for row in zoo_cell(cell).paper]
    return tuple(ComparedRow(paper=row, cell=cell) for row, cell in found if row.table == table)


def row_of(table, name):
    return next(row for row in rows_of(table) if row.paper.row == name)


def test_every_command_is_one_of_this_program():
    for command in COMMANDS.values():
        words = command.split()
        if "--method" in words:
            assert words[-1] in METHODS
        elif "--sampler" in words:
            assert words[-1] in SAMPLERS
        else:
            assert command == "xnas search"


@pytest.mark.parametrize(
    ("row", "command"),
    [
        ("DARTS(1nd)", "xnas search --method darts"),
        ("DARTS(2nd)", "xnas search --method darts2"),
        ("DARTS†", "xnas search --method darts2"),
        ("NAONet-2", "xnas sample --sampler latent"),
        ("XNAS-Large", "xnas search"),
        ("AutoAugment", NO_SEARCH),
        ("Known SotA", NO_SEARCH),
        ("NAONet-WS", "xnas sample --evaluator shared --sampler latent"),
    ],
)
def test_a_row_names_the_search_of_its_system(row, command):
    assert command_of(row) == command


def test_entries_say_how_they_were_measured_or_that_they_were_not():
    darts, snas = row_of(1, "DARTS(2nd)"), row_of(1, "SNAS")
    assert MEASURED.training(darts, "cifar10") == "7.25 ± 0.10 (quick, 3 epochs, 2 trainings)"
    assert MEASURED.training(darts, "cifar100") == NOT_MEASURED
    assert MEASURED.training(row_of(3, "XNAS-Small"), "svhn") == "2.00 (quick, 3 epochs, 1 training)"
    assert MEASURED.search(snas) == "91.50 ± 2.00 (3 searches, 50 epochs)"
    assert MEASURED.search(darts) == NOT_MEASURED


def test_trainings_of_a_cell_stand_in_one_row_of_xnas():
    on_cifar = TrainedHere(
        cell="xnas", dataset="cifar10", trainings=1, error=7.0, deviation=None, recipe="quick, 3 epochs"
    )
    measured = MeasuredHere(trained=(on_cifar,))
    rows = {row.paper.row: row for row in rows_of(1) if row.cell == "xnas"}
    told = {name: measured.training(row, "cifar10") for name, row in rows.items()}
    assert told.pop("XNAS-Small").startswith("7.00 (quick")
    assert told == {"XNAS-Medium": NOT_MEASURED, "XNAS-Large": NOT_MEASURED}


def test_a_table_has_a_column_for_each_data_set_that_was_trained_on():
    rows = rows_of(3)
    assert datasets_trained(rows, MEASURED) == ["svhn"]
    table = paper_table(3, rows, (), MEASURED)
    assert [t for t in table.header if t.endswith(" here")] == [
        "SVHN error, trained here",
        "search here",
        "found here",
    ]
    assert "by the tables of NAS-Bench-201" in table.note
    ours = next(row for row in table.rows if row[0] == "XNAS-Small")
    assert ours[table.header.index("SVHN error, trained here")].startswith("2.00 (quick")
    assert not [t for t in paper_table(2, rows_of(2)).header if t.endswith(" here")]


def test_the_data_file_has_runs():
    measured = measured_here()
    assert {t.cell for t in measured.trained} >= {"xnas", "darts_v2"}
    assert {s.command for s in measured.searched} >= {"xnas search", "xnas search --method darts"}
    small = {s.command for s in measured.searched if "800 images, 16x16, NAS-Bench-201" in s.settings}
    assert {f"xnas search --method {name}" for name in ("darts2", "snas", "enas", "asap")} < small
