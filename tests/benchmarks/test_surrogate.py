"""The judge of DARTS cells: what it says of cells, how good it is, and which files it refuses."""

import time

import numpy as np
import pytest
from darts_cells import (
    CELLS,
    HEADER,
    REAL,
    made_up,
    needs_the_real_cells,
    rows,
    write_cells,
)

from xnas import DatasetError, Genotype, GenotypeError
from xnas.benchmarks import SurrogateBenchmark
from xnas.benchmarks.surrogate import FEWEST_CELLS
from xnas.space import SPACES, zoo_cell
from xnas.space.genotype import CellGenotype, Edge


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    return SurrogateBenchmark.load(write_cells(tmp_path_factory.mktemp("cells") / "cells.csv", rows()))


class TestAnswers:
    def test_it_orders_cells_that_it_has_not_seen(self, judge):
        others = [Genotype.random("darts", seed) for seed in range(300)]
        known, judged = np.array([made_up(g) for g in others]), np.array(judge.accuracies(others))
        assert np.corrcoef(known, judged)[0, 1] > 0.9
        assert np.sqrt(((known - judged) ** 2).mean()) < 1.6 * judge.quality.error

    def test_quality_is_measured_on_held_out_cells(self, judge):
        assert judge.quality.cells == CELLS
        assert judge.quality.folds == 5
        assert 0.7 < judge.quality.kendall < 0.99
        assert 0.05 < judge.quality.error < np.std([row[2] for row in rows()])

    def test_accuracies_that_say_nothing_give_no_correlation(self):
        drawn = [Genotype.random("darts", seed) for seed in range(FEWEST_CELLS)]
        noise = np.random.default_rng(0).normal(93, 0.5, len(drawn)).tolist()
        quality = SurrogateBenchmark(drawn, noise).quality
        assert abs(quality.kendall) < 0.25
        assert quality.error > 0.4

    def test_one_cell_and_many_cells_are_judged_alike(self, judge):
        cells = [Genotype.random("darts", seed) for seed in range(40)]
        assert judge.accuracies(cells) == [judge.accuracy(cell) for cell in cells]
        assert judge.accuracies([]) == []

    def test_the_same_rows_in_another_order_make_the_same_judge(self, judge, tmp_path):
        again = SurrogateBenchmark.load(write_cells(tmp_path / "again.csv", rows()[::-1]))
        cells = [Genotype.random("darts", seed) for seed in range(40)]
        assert again.accuracies(cells) == judge.accuracies(cells)
        assert again.quality == judge.quality

    def test_percentile_counts_random_cells_that_are_worse(self, judge):
        cells = [Genotype.random("darts", 50_000 + seed) for seed in range(400)]
        judged = judge.accuracies(cells)
        for cell in cells[:10]:
            worse = 100 * np.mean(np.array(judged) < judge.accuracy(cell))
            assert judge.percentile(cell) == pytest.approx(worse, abs=7)  # 400 drawn: 2.5 at most

    def test_an_error_bar_grows_where_the_regressors_differ(self, judge):
        cells = [Genotype.random("darts", seed) for seed in range(60)]
        errors = np.array([judge.error(cell) for cell in cells])
        assert 0.3 * judge.quality.error < errors.min() <= errors.max() < 5 * judge.quality.error

    def test_an_estimate_holds_all_three(self, judge):
        cell = Genotype.random("darts", 3)
        found = judge.estimate(cell)
        told = (judge.accuracy(cell), judge.error(cell), judge.percentile(cell))
        assert (found.accuracy, found.error, found.percentile) == told

    def test_a_cell_that_is_numbered_otherwise_is_judged_alike(self, judge):
        a, b = (
            (Edge("sep_conv_3x3", 0), Edge("skip_connect", 1)),
            (Edge("dil_conv_5x5", 0), Edge("sep_conv_5x5", 1)),
        )
        reduction = Genotype.random("darts", 0).reduction

        def cell(first, second, place):  # nodes 2 and 3 read the inputs alone, so they may change places
            fourth = (Edge("max_pool_3x3", 1), Edge("sep_conv_3x3", place))
            fifth = (Edge("skip_connect", place), Edge("avg_pool_3x3", 4))
            return Genotype(
                "darts", CellGenotype((first, second, fourth, fifth), (2, 3, 4, 5)), reduction
            )

        same, other = judge.accuracies([cell(b, a, 3), cell(a, b, 3)])
        assert same == pytest.approx(judge.accuracy(cell(a, b, 2)), abs=1e-9)
        assert other != pytest.approx(same, abs=1e-6)


class TestRefusedCells:
    def test_cells_of_another_space_are_refused_by_name(self, judge):
        with pytest.raises(
            GenotypeError, match="knows cells of the space 'darts'; this one is of 'nasbench201'"
        ):
            judge.accuracy(Genotype.random("nasbench201", 0))

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            (
                "snas_aggressive",
                "the reduction cell has 'none'; the judge knows the operations max_pool",
            ),
            ("enas", "cell has nodes of 2, 2, 2, 2, 2 edges; the judge knows cells of 4 nodes with 2"),
        ],
    )
    def test_published_cells_that_a_search_cannot_find_are_refused(self, judge, name, words):
        for ask in (judge.accuracy, judge.percentile, judge.error, judge.estimate):
            with pytest.raises(GenotypeError, match=words):
                ask(zoo_cell(name).genotype)

    @pytest.mark.parametrize("cell", ["xnas", None, 5])
    def test_what_is_no_genotype_is_refused(self, judge, cell):
        with pytest.raises(GenotypeError, match=f"a cell is a Genotype, got {type(cell).__name__}"):
            judge.accuracy(cell)


def put(line, column, value):
    """A change of one field; lines count from 1, the header's."""

    def change(table):
        table[line - 2][HEADER.index(column)] = value

    return change


def fractions(table):
    for row in table:
        row[2] /= 100


def level(table):
    for row in table:
        row[2] = 93.5


ORDER = "sep_conv_3x3:0 sep_conv_3x3:1 " * 4
SWAPPED = "sep_conv_3x3:1 sep_conv_3x3:0 " * 4


class TestRefusedFiles:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (put(7, "valid_100", "good"), "line 7 of .* has 'good' as valid_100, which is no number"),
            (put(7, "valid_100", "nan"), "line 7 of .* has 'nan' as valid_100, which is no number"),
            (put(7, "valid_100", ""), "line 7 of .* has '' as valid_100"),
            (put(9, "valid_100", 100.5), "line 9 of .* has an accuracy outside 0..100: 100.5"),
            (put(9, "valid_100", -3), "line 9 of .* has an accuracy outside 0..100: -3"),
            (
                put(3, "normal", "nor_conv_3x3:0 none:1 " * 4),
                "line 3 of .* is no cell of the space 'darts': .*'nor_conv_3x3'",
            ),
            (
                put(3, "normal", ORDER.replace("sep_conv_3x3:0", "sep_cnv_3x3:0")),
                r"'sep_cnv_3x3'; did you mean sep_conv_3x3, sep_conv_5x5 or dil_conv_3x3\? there are: "
                + ", ".join(SPACES["darts"].operations)
                + "; get the file again",
            ),
            (
                put(3, "reduction", "none:0 none:1 " * 4),
                "line 3 of .* is no cell of the space 'darts': the reduction cell has 'none'",
            ),
            (
                put(3, "normal", "sep_conv_3x3:0 sep_conv_3x3:1 " * 3),
                "line 3 of .* is no cell of the space 'darts': the normal cell has 6 edges",
            ),
            (put(3, "normal", ORDER + "skip_connect:1"), "line 3 of .* is no cell of the space 'darts'"),
            (put(3, "normal", ""), "line 3 of .* is no cell of the space 'darts'"),
            (
                put(3, "normal", ORDER.replace(":1", ":5")),
                "line 3 of .* is no cell of the space 'darts': node 2 .*an edge from 5",
            ),
            (
                put(3, "normal", ORDER.replace(":1", ":-1")),
                "line 3 of .*'sep_conv_3x3:-1' as an edge; an edge is operation:source",
            ),
            (put(3, "normal", ORDER.replace(":1", "~1")), "line 3 of .*'sep_conv_3x3~1' as an edge"),
            (
                put(3, "normal", "|nor_conv_3x3~0|"),
                "line 3 of .*as an edge; an edge is operation:source",
            ),
            (lambda t: t.insert(9, t[3]), "line 11 of .* has the cell of line 5 again; keep one of the"),
            (
                lambda t: t.extend([[ORDER, ORDER, 93.0, 1], [SWAPPED, ORDER, 93.1, 1]]),
                f"line {CELLS + 3} of .* has the cell of line {CELLS + 2} again",
            ),
            (lambda t: t.__setitem__(0, t[0][:2]), "line 2 of .* has not the 4 fields of the header"),
            (lambda t: t.__setitem__(0, [*t[0], 1]), "line 2 of .* has not the 4 fields of the header"),
            (fractions, r"line 2 of .* has the accuracy 0\.9\d+, a fraction; give it in percent"),
            (put(7, "valid_100", 0.93), r"line 7 of .* has the accuracy 0\.93, a fraction; give it in"),
            (level, "cells.csv: all cells have the accuracy 93.5, so there is nothing to learn; give"),
            (lambda t: t.__delitem__(slice(99, None)), "cells.csv: 99 cells are too few to fit a judge"),
            (lambda t: t.clear(), "cells.csv: 0 cells are too few to fit a judge to; give at least 100"),
        ],
    )
    def test_a_fault_is_one_line_that_names_the_file(self, tmp_path, change, words):
        table = rows()
        change(table)
        path = write_cells(tmp_path / "cells.csv", table)
        with pytest.raises(DatasetError, match=words) as caught:
            SurrogateBenchmark.load(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("missing", HEADER[:3])
    def test_a_column_that_is_not_there_is_named(self, tmp_path, missing):
        path = write_cells(tmp_path / "cells.csv", [], [name for name in HEADER if name != missing])
        with pytest.raises(DatasetError, match=f"lacks the column {missing}; give a CSV of DARTS cells"):
            SurrogateBenchmark.load(path)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"", "lacks the column normal"),
            (b"\x89PNG\r\n\x1a\n\xff\xfe", "cannot read the benchmark .*: 'utf-8' codec can't decode"),
            (",".join((*HEADER, "normal")).encode(), "has the column normal twice; get the file again"),
            (",".join(HEADER).encode() + b'\n"' + b"x" * 200_000, "cannot read .*field larger than"),
        ],
    )
    def test_a_file_that_is_no_such_csv_is_refused(self, tmp_path, content, words):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(DatasetError, match=words) as caught:
            SurrogateBenchmark.load(tmp_path / "file")
        assert "\n" not in str(caught.value)

    def test_a_folder_and_a_file_that_is_not_there_are_refused(self, tmp_path):
        with pytest.raises(DatasetError, match="Is a directory; give a CSV of DARTS cells"):
            SurrogateBenchmark.load(tmp_path)
        with pytest.raises(DatasetError, match="No such file or directory; give a CSV"):
            SurrogateBenchmark.load(tmp_path / "cells.csv")

    def test_the_table_of_nasbench201_is_refused(self, tmp_path):
        path = write_cells(tmp_path / "c10.csv", [], ["arch", "c10_valid_200", "c10_test_200"])
        words = "holds cells of the space 'nasbench201': it lacks the column normal; give a CSV of DARTS"
        with pytest.raises(DatasetError, match=words):
            SurrogateBenchmark.load(path)

    def test_fractions_are_refused(self):
        drawn = [Genotype.random("darts", seed) for seed in range(FEWEST_CELLS)]
        with pytest.raises(DatasetError, match=r"as fractions, at most 0\.94; give them in percent"):
            SurrogateBenchmark(drawn, [0.94, *[0.93] * (FEWEST_CELLS - 1)])

    def test_lists_of_different_lengths_are_refused(self):
        with pytest.raises(DatasetError, match="1 cells have 2 accuracies; give one for each"):
            SurrogateBenchmark([Genotype.random("darts", 0)], [93.0, 94.0])


@needs_the_real_cells
def test_on_the_real_cells_it_is_as_good_as_asked_for():
    began = time.process_time()
    real = SurrogateBenchmark.load(REAL)
    assert time.process_time() - began < 60  # some 10 s on a quiet core
    assert real.quality.cells == 718
    assert real.quality.kendall >= 0.77
    assert real.quality.error <= 0.24
    judged = {name: real.accuracy(zoo_cell(name).genotype) for name in ("pc_darts_cifar", "xnas")}
    assert judged["pc_darts_cifar"] > judged["xnas"] > 93.6  # random cells have 93.1 on average
    assert real.percentile(zoo_cell("pc_darts_cifar").genotype) > 95
