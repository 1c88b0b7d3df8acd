"""The table of NAS-Bench-201: what it answers, and what it says of files that are not one."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import mean

import pytest
import torch
from nasbench201 import (
    HEADER,
    OTHERS,
    REAL,
    all_cells,
    arch,
    needs_the_real_table,
    parameters,
    rows,
    with_others,
    write_table,
)

from xnas import ConfigError, DatasetError, Genotype, GenotypeError, create_model
from xnas.benchmarks import Entry, TabularBenchmark, same_function_key

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("docs/limits.md", "docs/results.md")
SKIPS = arch(["skip_connect"] * 6)


@pytest.fixture(scope="module")
def table():
    return rows()


@pytest.fixture(scope="module")
def bench(table, tmp_path_factory):
    return TabularBenchmark.load(write_table(tmp_path_factory.mktemp("table") / "c10.csv", table))


class TestAnswers:
    def test_every_row_is_found_by_its_string_and_its_genotype(self, bench, table):
        assert len(bench) == 15_625
        for row in table[::500]:
            _, name, valid_200, test_200, valid_12, test_12, count, mflops = row
            found = bench[name]
            assert found == Entry(name, valid_200, test_200, valid_12, test_12, count, mflops)
            assert bench[Genotype.from_arch(name)] is found
            assert bench.accuracy(name) == bench.accuracy(name, 200, "test") == test_200
            assert bench.accuracy(name, 12, "valid") == valid_12
            assert bench.accuracy(name, 200, "valid") == valid_200
            assert bench.accuracy(name, 12) == test_12

    @pytest.mark.parametrize(("column", "epochs", "split"), [(3, 200, "test"), (4, 12, "valid")])
    def test_rank_percentile_and_regret_are_those_of_counting(self, bench, table, column, epochs, split):
        values = [row[column] for row in table]
        for row in table[:40]:
            mine = row[column]
            assert values.count(mine) > 1  # accuracies tie, and equals share the better place
            assert bench.rank(row[1], epochs, split) == 1 + sum(v > mine for v in values)
            worse = sum(v < mine for v in values)
            assert bench.percentile(row[1], epochs, split) == pytest.approx(100 * worse / 15_625)
            assert bench.regret(row[1], epochs, split) == max(values) - mine

    def test_the_best_is_the_first_of_the_most_accurate(self, bench, table):
        top = max(row[3] for row in table)
        best = bench.best()
        assert best.arch == next(row[1] for row in table if row[3] == top)
        assert (bench.rank(best.arch), bench.regret(best.arch)) == (1, 0)

    def test_a_cell_of_another_space_is_refused(self, bench):
        with pytest.raises(
            GenotypeError, match="cells of the space 'nasbench201'; this one is of 'darts'"
        ):
            bench.accuracy(Genotype.random("darts", 0))
        with pytest.raises(GenotypeError, match="node 1 of the architecture is 'conv'"):
            bench.rank("conv")


@pytest.fixture(scope="module")
def wide(table, tmp_path_factory):
    """A table of all three data sets."""
    path = tmp_path_factory.mktemp("wide") / "all.csv"
    return TabularBenchmark.load(write_table(path, with_others(table), (*HEADER, *OTHERS)))


class TestOtherDataSets:
    def test_every_column_is_found(self, wide, table):
        for row in with_others(table)[::2500]:
            known = dict(zip((*HEADER, *OTHERS), row, strict=True))
            for name, begin in (("cifar10", "c10"), ("cifar100", "c100"), ("imagenet16", "in16")):
                for epochs in (12, 200):
                    for split in ("valid", "test"):
                        assert wide.knows(epochs, split, name)
                        found = wide.accuracy(row[1], epochs, split, name)
                        assert found == known[f"{begin}_{split}_{epochs}"]

    def test_rank_regret_and_the_best_are_those_of_the_data_set(self, wide, table):
        # The made-up accuracies on CIFAR-100 fall with those on CIFAR-10, so places are the same.
        for row in table[:20]:
            assert wide.rank(row[1], data="cifar100") == wide.rank(row[1])
            assert wide.percentile(row[1], data="cifar100") == wide.percentile(row[1])
            assert wide.regret(row[1], data="cifar100") < wide.regret(row[1]) or row[3] == 95
        assert wide.best(data="imagenet16").arch == wide.best().arch

    def test_each_column_may_be_missing(self, tmp_path, table, bench):
        some = ("c100_test_200",)
        path = write_table(tmp_path / "some.csv", with_others(table, some), (*HEADER, *some))
        found = TabularBenchmark.load(path)
        name = table[0][1]
        assert found.accuracy(name, data="cifar100") == round(table[0][3] * 0.9, 3)
        assert not found.knows(12, data="cifar100")
        for epochs, split, data, words in (
            (12, "test", "cifar100", "has no column c100_test_12; beyond CIFAR-10 it has c100_test_200"),
            (200, "valid", "cifar100", "has no column c100_valid_200; beyond"),
            (200, "test", "imagenet16", "has no column in16_test_200; beyond"),
        ):
            for ask in (found.accuracy, found.rank, found.percentile, found.regret):
                with pytest.raises(ConfigError, match=words):
                    ask(name, epochs, split, data)
        assert not bench.knows(data="cifar100")
        with pytest.raises(ConfigError, match="c100_test_200; beyond CIFAR-10 it has none"):
            bench.accuracy(name, data="cifar100")

    def test_a_path_is_for_load(self):
        for path in ("all.csv", Path("all.csv")):
            with pytest.raises(ConfigError, match=r"got the path all.csv; use .load\(path\)"):
                TabularBenchmark(path)

    def test_another_data_set_is_refused(self, wide):
        for data in ("svhn", None, []):
            with pytest.raises(ConfigError, match="knows the data sets cifar10, cifar100, imagenet16"):
                wide.accuracy(SKIPS, data=data)

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            ("", "line 3 of .* has '' as in16_test_200, which is no number"),
            (100.5, "line 3 of .* has 100.5 as in16_test_200, an accuracy outside 0..100"),
        ],
    )
    def test_a_fault_in_a_further_column_is_named(self, tmp_path, table, value, words):
        changed = with_others(table)
        changed[1][len(HEADER) + OTHERS.index("in16_test_200")] = value
        path = write_table(tmp_path / "all.csv", changed, (*HEADER, *OTHERS))
        with pytest.raises(DatasetError, match=words):
            TabularBenchmark.load(path)

    def test_fractions_in_a_further_column_are_refused(self, tmp_path, table):
        parts = [[*row, row[3] / 100] for row in table]
        path = write_table(tmp_path / "parts.csv", parts, (*HEADER, "c100_test_200"))
        with pytest.raises(
            DatasetError, match=r"largest on cifar100 \(test, 200 epochs\) is 0\.95; they"
        ):
            TabularBenchmark.load(path)

    def test_entries_given_in_python_have_the_same_columns(self, wide):
        first, *rest = wide.entries.values()
        with pytest.raises(DatasetError, match="entries have different columns; give all of them the"):
            TabularBenchmark([replace(first, others={}), *rest])


class TestIsomorphism:
    def test_there_are_6466_classes(self, bench):
        assert bench.classes == 6466  # Dong and Yang (2020), Sec. 2: unique after isomorphism

    def test_members_of_a_class_have_one_key_and_classes_part_all_cells(self, bench):
        members = [bench.isomorphic(name) for name in list(bench.entries)[:200]]
        for name, class_ in zip(bench.entries, members, strict=False):
            assert name in class_
            assert {same_function_key(other) for other in class_} == {same_function_key(name)}
        assert sum(len(c) for c in {bench.isomorphic(name) for name in bench.entries}) == 15_625

    def test_hand_made_pairs(self):
        s, c, n, p = "skip_connect", "nor_conv_3x3", "none", "avg_pool_3x3"
        # Behind a skip, node 1 is the input: the edges 0 to 2 and 1 to 2 may change places.
        assert same_function_key(arch([s, c, p, n, n, s])) == same_function_key(arch([s, p, c, n, n, s]))
        # Whatever leaves a node that is zero is zero.
        assert same_function_key(arch([n, c, c, s, p, c])) == same_function_key(arch([n, c, n, s, n, c]))
        assert same_function_key(arch([c] * 6)) != same_function_key(arch([c, c, c, c, c, p]))
        assert same_function_key(arch([s, c, n, n, n, s])) != same_function_key(arch([s, p, n, n, n, s]))

    def test_members_of_a_class_compute_the_same_with_the_same_weights(self, bench):
        x = torch.randn(2, 3, 8, 8)
        classes = sorted({bench.isomorphic(name) for name in bench.entries if "conv" not in name})
        # Cells without convolutions have no weights: one seed gives all of them the same network.
        classes = [c for c in classes if len(c) > 2 and not any("conv" in name for name in c)]
        assert len(classes) > 10
        for class_ in classes[::5]:
            answers = []
            for member in class_:
                torch.manual_seed(0)
                answers.append(create_model(member, channels=2, cells=1).eval()(x))
            for other in answers[1:]:
                torch.testing.assert_close(other, answers[0])


def spoilt(tmp_path, table, change):
    copies = [list(row) for row in table]
    change(copies)
    return write_table(tmp_path / "spoilt.csv", copies)


def put(line, column, value):
    """A change of one cell; lines count from 1, the header's."""

    def change(copies):
        copies[line - 2][HEADER.index(column)] = value

    return change


class TestFaults:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (
                put(7, "c10_test_200", "good"),
                "line 7 of .* has 'good' as c10_test_200, which is no number",
            ),
            (put(15_626, "c10_valid_12", ""), "line 15626 of .* has '' as c10_valid_12"),
            (put(2, "c10_test_12", "nan"), "line 2 of .* has 'nan' as c10_test_12, which is no number"),
            (put(2, "mflops_c10", "inf"), "line 2 of .* has 'inf' as mflops_c10"),
            (put(2, "params_c10", "1e999"), "line 2 of .* has '1e999' as params_c10"),
            (put(9, "params_c10", "12.5"), "line 9 of .* has 12.5 parameters and 7.5 MFLOPs, which no"),
            (put(9, "params_c10", "-3"), "line 9 of .* has -3 parameters"),
            (put(5, "c10_test_200", "100.01"), "line 5 of .* has 100.01 as c10_test_200, an accuracy"),
            (
                put(5, "c10_valid_200", "-1"),
                "line 5 of .* has -1 as c10_valid_200, an accuracy outside 0..100",
            ),
            (
                put(4, "arch", "|a~0|"),
                "line 4 of .* is of another space: a normal cell of .* has 3 nodes",
            ),
            (put(4, "arch", "resnet"), "line 4 of .* is of another space: node 1 .* is 'resnet'"),
            (
                put(4, "arch", SKIPS.replace("skip_connect", "sep_conv_3x3")),
                "line 4 of .* is of another space: .*uses 'sep_conv_3x3'.*; operations of the benchmark",
            ),
            (
                lambda t: t.pop(3),
                "has 15,624 architectures of 15,625 and ends at line 15625; get the whole",
            ),
            (
                lambda t: t.clear(),
                "has 0 architectures of 15,625 and ends at line 1; get the whole file",
            ),
            (lambda t: t.insert(9, t[3]), r"line 11 of .* has \|.*\| again, after line 5; get the file"),
            (lambda t: t.__setitem__(9, t[3]), r"line 11 of .* has \|.*\| again, after line 5"),
            (lambda t: t.__setitem__(0, t[0][:4]), "line 2 of .* has not the 8 fields of the header"),
            (lambda t: t.__setitem__(0, []), "has 15,624 architectures of 15,625"),
            (
                lambda t: t.__setitem__(0, ["x"]),
                "line 2 of .* has not the 8 fields of the header",
            ),
        ],
    )
    def test_a_damaged_row_is_named_by_its_line(self, tmp_path, table, change, words):
        path = spoilt(tmp_path, table, change)
        with pytest.raises(DatasetError, match=words) as caught:
            TabularBenchmark.load(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("missing", HEADER[1:])
    def test_a_column_that_is_not_there_is_named(self, tmp_path, missing):
        path = write_table(tmp_path / "t.csv", [], [name for name in HEADER if name != missing])
        with pytest.raises(DatasetError, match=f"t.csv lacks the column {missing}; give the CSV of"):
            TabularBenchmark.load(path)

    def test_further_columns_their_order_and_a_byte_order_mark_do_not_matter(self, tmp_path, table):
        path = write_table(
            tmp_path / "t.csv", [[*row[::-1], "more"] for row in table], [*HEADER[::-1], "x"]
        )
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        assert len(TabularBenchmark.load(str(path))) == 15_625

    def test_a_csv_of_darts_cells_is_refused_by_name(self, tmp_path):
        path = write_table(tmp_path / "cells.csv", [], ["normal", "reduction", "valid_100"])
        words = (
            "cells.csv holds cells of the space 'darts': it lacks the column arch; give the CSV of NAS"
        )
        with pytest.raises(DatasetError, match=words):
            TabularBenchmark.load(path)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"", "lacks the column arch"),
            (b'{"format": "json"}', "lacks the column arch"),
            (b"\x89PNG\r\n\x1a\n\xff\xfe\x00\x00", "cannot read the benchmark .*: 'utf-8' codec can't"),
            (bytes(2000), "lacks the column arch"),
            (
                ",".join(HEADER).encode() + b"\n" + b'"' + b"x" * 200_000,
                "cannot read .*field larger than",
            ),
        ],
    )
    def test_a_file_that_is_no_such_csv_is_refused(self, tmp_path, content, words):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(DatasetError, match=words) as caught:
            TabularBenchmark.load(tmp_path / "file")
        assert "\n" not in str(caught.value)

    def test_a_folder_and_a_file_that_is_not_there_are_refused(self, tmp_path):
        with pytest.raises(
            DatasetError, match=r"cannot read the benchmark .*: Is a directory; give the CSV"
        ):
            TabularBenchmark.load(tmp_path)
        with pytest.raises(
            DatasetError, match=r"cannot read the benchmark .*: No such file or directory"
        ):
            TabularBenchmark.load(tmp_path / "c10.csv")

    def test_entries_given_in_python_are_counted_too(self, bench):
        entries = list(bench.entries.values())
        with pytest.raises(DatasetError, match="has 15,624 architectures of 15,625; get the whole"):
            TabularBenchmark(entries[1:])
        with pytest.raises(DatasetError, match="twice; get the file again"):
            TabularBenchmark([*entries, entries[0]])


@needs_the_real_table
def test_the_known_numbers_of_the_real_table():
    real = TabularBenchmark.load(REAL)
    # The benchmark's optimum on CIFAR-10 and the cell to which searches collapse, as published.
    assert real.best().test_200 == 94.3733
    assert real.accuracy(SKIPS) == 54.2967
    assert real.rank(real.best().arch) == 1
    assert real.regret(SKIPS) == pytest.approx(94.3733 - 54.2967)
    assert real.classes == 6466
    assert all(real[arch(cell)].parameters == parameters(cell) for cell in all_cells())


@needs_the_real_table
def test_what_cells_without_a_search_reach_as_the_documents_tell_it():
    real = TabularBenchmark.load(REAL)
    open_to_it = sorted(e.test_200 for e in real.entries.values() if "none" not in e.arch)
    count, drawn = len(open_to_it), 50
    # The best of fifty is the i-th of all if one of them is, and the others are not above it.
    chances = [(i / count) ** drawn for i in range(count + 1)]
    best = sum(a * (high - low) for a, (low, high) in zip(open_to_it, pairwise(chances), strict=True))
    convolutions = arch(["nor_conv_3x3"] * 6)
    told = [" ".join((ROOT / name).read_text(encoding="utf8").split()) for name in DOCUMENTS]
    for number in (f"{mean(open_to_it):.2f}", f"{best:.2f}", f"{real.accuracy(convolutions):.2f}"):
        assert all(number in text for text in told)
    assert f"{count:,} of them are open to it" in told[1]
    assert f"rank {real.rank(convolutions)} " in told[1]


def test_columns_twice_fractions_and_long_rows_are_refused(tmp_path):
    good = rows()
    header = [*HEADER, "c10_test_200"]
    twice = write_table(tmp_path / "twice.csv", [[*row, 99.0] for row in good], header)
    with pytest.raises(DatasetError, match="has the column c10_test_200 twice"):
        TabularBenchmark.load(twice)
    long = write_table(tmp_path / "long.csv", [[*good[0], 1], *good[1:]])
    with pytest.raises(DatasetError, match=r"line 2 of .* has not the 8 fields of the header"):
        TabularBenchmark.load(long)
    places = [index for index, name in enumerate(HEADER) if name.startswith("c10_")]
    parts = [[v / 100 if i in places else v for i, v in enumerate(row)] for row in good]
    with pytest.raises(
        DatasetError, match=r"parts.csv: .* as fractions: the largest on cifar10 \(valid"
    ):
        TabularBenchmark.load(write_table(tmp_path / "parts.csv", parts))


def test_questions_that_the_table_cannot_answer(tmp_path):
    bench = TabularBenchmark.load(write_table(tmp_path / "c10.csv", rows()))
    arch = next(iter(bench.entries))
    for ask in (bench.accuracy, bench.rank, bench.percentile, bench.regret):
        with pytest.raises(ConfigError, match="after 12 and 200 epochs on valid and test, not after 50"):
            ask(arch, 50)
        with pytest.raises(ConfigError, match="not after 200 on 'train'"):
            ask(arch, 200, "train")
    for cell in (None, 5, b"x"):
        with pytest.raises(GenotypeError, match="a cell is a Genotype or its string, got"):
            bench.accuracy(cell)
