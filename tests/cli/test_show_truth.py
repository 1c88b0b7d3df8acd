"""`xnas show --truth`: accuracies of a cell and of the epochs of a search, and what cannot be judged."""

import json
import shutil
from pathlib import Path

import darts_cells
import pytest
from benchmark_files import read_once
from commands import call
from nasbench201 import HEADER, OTHERS, rows, with_others, write_table
from searching import stripes, tiny

from xnas import Genotype, search
from xnas.benchmarks import SurrogateBenchmark, TabularBenchmark
from xnas.benchmarks.taken_apart import take_apart
from xnas.cli.show_truth import epoch_lines, search_run, unfinished_run
from xnas.runs.truth import load_benchmark
from xnas.space import zoo_cell

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
ARCH = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|nor_conv_3x3~2|"


@pytest.fixture(scope="module", autouse=True)
def _read_once():
    with read_once():
        yield


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    path = tmp_path_factory.mktemp("cells") / "cells.csv"
    return darts_cells.write_cells(path, darts_cells.rows(100))


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A table of three data sets, of which one column is missing."""
    columns = OTHERS[:-1]
    path = tmp_path_factory.mktemp("table") / "all.csv"
    return write_table(path, with_others(rows(), columns), (*HEADER, *columns))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The run folder of a DARTS search; only read it."""
    out = tmp_path_factory.mktemp("search") / "run"
    search(tiny(out=out, epochs=2, batch_size=40, relaxation=0.05), stripes())
    return out


@pytest.fixture(scope="module")
def benchmark_run(tmp_path_factory):
    """The run folder of a search of NAS-Bench-201's space."""
    out = tmp_path_factory.mktemp("search") / "run"
    config = tiny(out=out, epochs=1, batch_size=40, space="nasbench201", cells=1)
    search(config, stripes())
    return out


@pytest.fixture
def copy(run, tmp_path):
    return shutil.copytree(run, tmp_path / "run")


@pytest.fixture
def files(wide, cells):
    return wide, cells


def epochs_shown(out):
    return [line for line in out.splitlines() if line.startswith("epoch ")]


def metrics(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf8").splitlines()]


def rewrite(run, change):
    """Change every line of a run's metrics."""
    lines = metrics(run)
    for line in lines:
        change(line)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (run / "metrics.jsonl").write_text(text, encoding="utf8")


class TestJudged:
    def test_a_published_cell_is_judged_and_taken_apart(self, capsys, cells):
        status, out, err = call(capsys, "show", "xnas", "--truth", str(cells))
        assert (status, err) == (0, "")
        judge, genotype = SurrogateBenchmark.load(cells), zoo_cell("xnas").genotype
        found, parts = judge.estimate(genotype), take_apart(judge, genotype)
        assert (
            f"\njudged accuracy {found.accuracy:.2f} ± {found.error:.2f} %, better than "
            f"{found.percentile:.1f} % of random cells\n"
        ) in out
        words = [" ".join(line.split()) for line in out.splitlines()]
        assert f"found {parts.found:.2f} %" in words
        shuffled = f"{parts.shuffled:.2f} % {parts.better_than_shuffled:.1f} %"
        assert f"same shape, operations shuffled {shuffled}" in words
        drawn = f"{parts.drawn:.2f} % {parts.better_than_drawn:.1f} %"
        assert f"same operations, shape and places drawn {drawn}" in words
        assert "estimated from the 100 cells of cells.csv" in " ".join(words)
        assert max(map(len, out.splitlines())) <= 100

    def test_every_epoch_of_a_search_is_judged_from_its_metrics(self, capsys, cells, run):
        status, out, _ = call(capsys, "show", str(run), "--truth", str(cells))
        judge, lines = SurrogateBenchmark.load(cells), epochs_shown(out)
        assert (status, len(lines)) == (0, 2)
        for shown, line in zip(lines, metrics(run), strict=True):
            found = judge.estimate(Genotype.from_json(json.dumps(line["cell"])))
            wanted = f"judged accuracy {found.accuracy:.2f} ± {found.error:.2f} %, better than "
            assert shown.startswith(f"epoch   {line['epoch']}  {wanted}")
        assert "normal cell" in out

    def test_a_search_that_has_not_ended_is_judged_so_far(self, capsys, cells, copy):
        (copy / "genotype.json").unlink()
        status, out, _ = call(capsys, "show", str(copy), "--truth", str(cells))
        assert (status, len(epochs_shown(out))) == (0, 2)
        assert out.startswith("judged accuracy: estimated from the 100 cells")
        assert "normal cell" not in out
        status, out, err = call(capsys, "show", str(copy))
        assert (status, out) == (2, "")
        assert f"has no genotype.json; xnas search --resume {copy} continues it\n" in err
        (copy / "metrics.jsonl").unlink()  # stopped in the first epoch
        assert call(capsys, "show", str(copy))[2] == err
        assert call(capsys, "show", str(copy), "--truth", str(cells))[2] == err

    def test_metrics_of_an_earlier_version_have_no_cells(self, capsys, cells, copy):
        rewrite(copy, lambda line: line.pop("cell"))
        status, out, _ = call(capsys, "show", str(copy), "--truth", str(cells))
        assert status == 0
        assert epochs_shown(out) == [
            f"epoch   {n}  the cell was not recorded, as in earlier versions" for n in (1, 2)
        ]
        assert "same shape, operations shuffled" in out

    def test_epochs_of_a_warm_up_have_no_cell_and_say_why(self, cells, tmp_path):
        run = tmp_path / "run"
        search(tiny(out=run, epochs=2, batch_size=40, warmup=0.5), stripes())
        first, second = epoch_lines(run, load_benchmark(cells, "darts")).splitlines()
        assert first == "epoch   1  no cell yet: the weights learned alone (warm-up)"
        assert second.startswith("epoch   2  judged accuracy 9")

    def test_only_the_folder_of_a_search_is_taken_for_a_run(self, run, copy, tmp_path):
        assert search_run(str(run)) == run
        assert unfinished_run(str(run)) is None
        (copy / "genotype.json").unlink(missing_ok=True)
        assert unfinished_run(str(copy)) == copy
        for cell in ("xnas", "xnas_large", ARCH, str(tmp_path), "x" * 5000, "a\0b"):
            assert search_run(cell) is None

    def test_a_folder_with_a_genotype_alone_and_a_training_have_no_epochs(
        self, capsys, cells, run, tmp_path
    ):
        shutil.copy(run / "genotype.json", tmp_path)
        for name, text in (("nothing", ""), ("recipe.json", "{}"), ("metrics.jsonl", "{}\n")):
            (tmp_path / name).write_text(text, encoding="utf8")
            status, out, _ = call(capsys, "show", str(tmp_path), "--truth", str(cells))
            assert (status, epochs_shown(out)) == (0, [])


class TestKnown:
    def test_a_cell_is_looked_up_with_its_rank(self, capsys, wide):
        status, out, _ = call(capsys, "show", ARCH, "--truth", str(wide))
        bench = TabularBenchmark.load(wide)
        entry = bench[ARCH]
        assert status == 0
        values = (entry.test_200, entry.valid_200, entry.test_12, entry.valid_12)
        row = ["cifar10", f"{bench.rank(ARCH):,}", *(f"{value:.2f}" for value in values)]
        assert out.splitlines()[-3].split() == row
        assert "\naccuracy in percent, from all.csv\n" in out

    def test_other_data_sets_have_lines_of_their_own(self, capsys, wide):
        _, out, _ = call(capsys, "show", ARCH, "--truth", str(wide))
        bench = TabularBenchmark.load(wide)
        shown = [line.split() for line in out.splitlines()[-2:]]
        test, rank = bench.accuracy(ARCH, data="cifar100"), bench.rank(ARCH, data="cifar100")
        assert shown[0][:3] == ["cifar100", f"{rank:,}", f"{test:.2f}"]
        valid = bench.accuracy(ARCH, 200, "valid", "imagenet16")
        assert shown[1][:4] == ["imagenet16", "-", "-", f"{valid:.2f}"]

    @pytest.mark.parametrize(("place", "name"), [(None, "cifar10"), ("/data/CIFAR-100", "cifar100")])
    def test_epochs_are_those_of_the_run_s_data_set(self, capsys, wide, benchmark_run, place, name):
        config = json.loads((benchmark_run / "config.json").read_text(encoding="utf8"))
        text = json.dumps(config | {"data": place})
        (benchmark_run / "config.json").write_text(text, encoding="utf8")
        status, out, _ = call(capsys, "show", str(benchmark_run), "--truth", str(wide))
        (line,) = metrics(benchmark_run)
        bench, arch = TabularBenchmark.load(wide), line["cell"]["arch"]
        accuracy, rank = bench.accuracy(arch, data=name), bench.rank(arch, data=name)
        assert status == 0
        assert epochs_shown(out) == [f"epoch   1  true accuracy {accuracy:.2f} %, rank {rank:,}"]
        assert f"true accuracy: on {name} after 200 epochs, from all.csv" in out


class TestRefused:
    @pytest.mark.parametrize(
        ("cell", "file", "words"),
        [
            (
                "xnas",
                "all.csv",
                "holds cells of the space 'nasbench201': it lacks the column normal; give",
            ),
            (
                ARCH,
                "cells.csv",
                "holds cells of the space 'darts': it lacks the column arch; give the CSV",
            ),
            ("enas", "cells.csv", "2 edges each; leave --truth out for this cell"),
            ("snas_aggressive", "cells.csv", "has 'none'; the judge knows the operations max_pool_3x3"),
            ("xnas", "gone.csv", "cannot read the benchmark"),
            ("--zoo", "cells.csv", "--truth is about one cell, got"),
        ],
    )
    def test_a_file_that_does_not_know_the_cell_is_refused_in_one_line(
        self, capsys, files, cell, file, words
    ):
        folder = files[file != "all.csv"].parent
        status, out, err = call(capsys, "show", cell, "--truth", str(folder / file))
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert words in err

    def test_a_search_that_has_not_ended_is_not_judged_by_the_file_of_another_space(
        self, capsys, benchmark_run, cells, tmp_path
    ):
        copy = shutil.copytree(benchmark_run, tmp_path / "run")
        (copy / "genotype.json").unlink()
        status, out, err = call(capsys, "show", str(copy), "--truth", str(cells))
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert "holds cells of the space 'darts'" in err

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (
                lambda line: line.update(cell=3),
                "metrics.jsonl is damaged in line 1: cell is a int, not an object; restore it",
            ),
            (
                lambda line: line.pop("deleted"),
                "metrics.jsonl is damaged in line 1: the key 'deleted' is missing; restore it",
            ),
            (
                lambda line: line["cost"].update(watts=3),
                "metrics.jsonl is damaged in line 1: the key 'watts' is unknown in 'cost'; restore it",
            ),
            (lambda line: line["cell"].pop("version"), "metrics.jsonl is damaged in epoch 1: the vers"),
            (
                lambda line: line["cell"].update(space="nowhere"),
                "metrics.jsonl is damaged in epoch 1: the genotype is of the search space 'nowhere'",
            ),
        ],
    )
    def test_damaged_metrics_are_named(self, capsys, cells, copy, change, words):
        rewrite(copy, change)
        status, out, err = call(capsys, "show", str(copy), "--truth", str(cells))
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert words in err

    @pytest.mark.parametrize(
        "change", [lambda line: line.update(extra=3), lambda line: line["cell"].pop("version")]
    )
    def test_metrics_of_a_search_that_has_not_ended_are_repaired_by_resuming_it(
        self, capsys, cells, copy, change
    ):
        (copy / "genotype.json").unlink()
        rewrite(copy, change)
        status, out, err = call(capsys, "show", str(copy), "--truth", str(cells))
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert f"; xnas search --resume {copy} repairs the file from the checkpoint\n" in err

    @pytest.mark.parametrize("ended", [True, False])
    def test_a_search_without_an_epoch_says_so(self, capsys, cells, copy, ended):
        (copy / "metrics.jsonl").write_text("", encoding="utf8")
        if not ended:
            (copy / "genotype.json").unlink()
        status, out, _ = call(capsys, "show", str(copy), "--truth", str(cells))
        assert status == 0
        assert out.endswith(f"\nno epoch has been recorded in {copy / 'metrics.jsonl'}\n")

    @pytest.mark.parametrize("cell", ["a\0b", "x" * 300, ""])
    def test_what_is_no_cell_is_refused_as_without_a_benchmark(self, capsys, cells, cell):
        with_truth = call(capsys, "show", cell, "--truth", str(cells))
        assert with_truth == call(capsys, "show", cell)
        assert with_truth[0] == 2


@pytest.mark.slow
@darts_cells.needs_the_real_cells
def test_the_page_shows_what_the_real_cells_give(capsys):
    _, out, _ = call(capsys, "show", "xnas", "--truth", str(darts_cells.REAL))
    text = PAGE.read_text(encoding="utf8")
    shown = [line.strip() for line in out.splitlines()[-6:] if line]
    assert shown[0].startswith("judged accuracy 9")
    assert all(f"    {line}\n" in text for line in shown)
