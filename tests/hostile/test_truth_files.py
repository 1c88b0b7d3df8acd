"""Files for --truth that are no benchmark of the space are refused in one line, before the search."""

import darts_cells
import nasbench201
import pytest
from commands import call

SIZES = ("--cells", "3", "--channels", "2", "--epochs", "1", "--device", "cpu")
HALF = "sep_conv_3x3:0 sep_conv_3x3:1 " * 4


def put(line, column, value):
    """A change of one field; lines count from 1, the header's."""

    def change(table):
        table[line - 2][column] = value

    return change


def fractions(columns):
    def change(table):
        for row in table:
            for column in columns:
                row[column] = row[column] / 100

    return change


DARTS = {
    "short": (lambda t: t.__delitem__(slice(5, None)), "5 cells are too few to fit a judge to; give at"),
    "empty": (lambda t: t.clear(), "0 cells are too few to fit a judge to; give at least 100"),
    "ragged": (lambda t: t[3].pop(), "line 5 of {} has not the 4 fields of the header; get the file"),
    "of other operations": (
        put(4, 0, HALF.replace("sep_conv_3x3", "nor_conv_3x3")),
        "line 4 of {} is no cell of the space 'darts': the normal cell has 'nor_conv_3x3'; did you",
    ),
    "with none": (
        put(4, 1, HALF.replace("sep_conv_3x3:0", "none:0", 1)),
        "the reduction cell has 'none'",
    ),
    "of fractions": (fractions([2]), ", a fraction; give it in percent"),
    "with one fraction": (put(9, 2, 0.93), "line 9 of {} has the accuracy 0.93, a fraction; give it"),
    "with a cell twice": (lambda t: t.append(t[0]), "has the cell of line 2 again; keep one of the two"),
    "without differences": (
        lambda t: [row.__setitem__(2, 93) for row in t],
        "all cells have the accuracy 93, so there is nothing to learn; give cells of different",
    ),
}
BENCHMARK = {
    "short": (lambda t: t.pop(), "has 15,624 architectures of 15,625 and ends at line 15625; get the"),
    "ragged": (lambda t: t[3].pop(), "line 5 of {} has not the 8 fields of the header; get the file"),
    "of other operations": (
        lambda t: t[2].__setitem__(1, t[2][1].replace("nor_conv", "sep_conv")),
        "line 4 of {} is of another space: ",
    ),
    "of fractions": (
        fractions(range(2, 6)),
        "accuracies as fractions: the largest on cifar10 (valid, 12",
    ),
    "with a cell twice": (lambda t: t.insert(1, t[0]), "again, after line 2; get the file again"),
}


def refused(capsys, path, tmp_path, *words):
    """The line with which a search with this truth is refused."""
    out = tmp_path / "run"
    status, said, err = call(
        capsys, "search", "digits", *words, *SIZES, "--truth", str(path), "--out", str(out)
    )
    assert (status, said, err.count("\n"), out.exists()) == (2, "", 1, False)
    return err


@pytest.mark.parametrize("fault", DARTS)
def test_a_damaged_csv_of_darts_cells_is_refused(capsys, tmp_path, fault):
    change, words = DARTS[fault]
    table = darts_cells.rows(100)
    change(table)
    path = darts_cells.write_cells(tmp_path / "cells.csv", table)
    assert words.format(path) in refused(capsys, path, tmp_path)


@pytest.mark.parametrize("fault", BENCHMARK)
def test_a_damaged_table_of_nasbench201_is_refused(capsys, tmp_path, fault):
    change, words = BENCHMARK[fault]
    table = nasbench201.rows()
    change(table)
    path = nasbench201.write_table(tmp_path / "c10.csv", table)
    assert words.format(path) in refused(capsys, path, tmp_path, "--space", "nasbench201")


def test_the_file_of_another_space_is_named(capsys, tmp_path):
    cells = darts_cells.write_cells(tmp_path / "cells.csv", darts_cells.rows(1))
    line = refused(capsys, cells, tmp_path, "--space", "nasbench201")
    assert f"{cells} holds cells of the space 'darts': it lacks the column arch; give the CSV" in line
    table = nasbench201.write_table(tmp_path / "c10.csv", nasbench201.rows()[:1])
    line = refused(capsys, table, tmp_path, "--space", "darts")
    assert f"{table} holds cells of the space 'nasbench201': it lacks the column normal; give" in line
