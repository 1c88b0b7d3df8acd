"""`xnas sample` on the command line."""

import json
from functools import partial

import pytest
from benchmark_files import read_once
from commands import call
from darts_cells import rows as darts_rows
from darts_cells import write_cells
from nasbench201 import rows, write_table


@pytest.fixture
def run(capsys):
    return partial(call, capsys)


@pytest.fixture(scope="module")
def flags(tmp_path_factory):
    path = write_table(tmp_path_factory.mktemp("table") / "table.csv", rows())
    with read_once():
        yield ("--space", "nasbench201", "--evaluator", "table", "--truth", path)


def test_it_prints_the_best_cells_and_the_front(run, flags, tmp_path):
    out = tmp_path / "run"
    status, told, warned = run("sample", *flags, "--sampler", "local", "--evaluations", 30, "--out", out)
    assert (status, warned) == (0, "")
    assert "sampler local (climbs from random starts); space nasbench201, seed 0" in told
    assert "evaluated by the table: validation accuracy on cifar10 after 12 epochs" in told
    assert "30 evaluations, 30 different cells; the best cells:" in told
    assert "validation  M parameters  M MACs  trial  front" in told
    assert "the best cell: true accuracy" in told
    assert told.splitlines()[-2:] == [
        f"report: {out / 'report.html'}",
        f"next: xnas train {out} cifar10",
    ]
    status, told, _ = run("sample", "--resume", out)
    assert status == 0
    assert "is finished; its best cell is in genotype.json" in told
    status, told, _ = run("sample", "--resume", out, "--evaluations", 40)
    assert status == 0
    assert "resuming after evaluation 30" in told
    assert "40 evaluations" in told


@pytest.mark.slow
def test_a_judge_evaluates_cells_of_darts(run, tmp_path):
    path = write_cells(tmp_path / "cells.csv", darts_rows())
    out = tmp_path / "run"
    settings = ("--settings", "population=4,sample=2", "--max-params", "3e6", "--tied")
    status, told, warned = run(
        *("sample", "--evaluator", "surrogate", "--truth", path, "--evaluations", 8, "--out", out),
        *settings,
    )
    assert (status, warned) == (0, "")
    assert "population 4, sample 2; space darts" in told
    assert "evaluated by a judge fitted to 130 cells" in told
    assert "the best cell: judged accuracy" in told
    genotype = json.loads((out / "genotype.json").read_text())
    assert genotype["normal"]["nodes"] == genotype["reduction"]["nodes"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--sampler", "rundom"], "no sampler called 'rundom'; did you mean random"),
        (["--resume", "nowhere"], "there is no folder nowhere; give the folder of a run"),
        (["digits", "--resume", "nowhere"], "--resume uses the data of the run; leave digits out"),
        (["--evaluations", "0"], "--evaluations must be at least 1, got 0"),
        (["--max-params", "5"], "no cell of the space nasbench201 is within --max-params 5"),
    ],
)
def test_refusals_are_one_line(run, flags, given, words):
    resumed = "--resume" in given
    status, _, warned = run("sample", *given, *(() if resumed else flags))
    assert status == 2
    assert words in warned
    assert warned.count("\n") == 1


def test_options_that_change_nothing_are_named_in_one_line(run, flags, tmp_path):
    given = (
        "--channels",
        4,
        "--recipe",
        "quick",
        "--epochs",
        12,
        "--seed",
        1,
        "--evaluations",
        2,
        "--no-report",
    )
    status, _, warned = run("sample", *flags, *given, "--quiet", "--out", tmp_path / "run")
    assert status == 0
    assert warned.count("\n") == 1
    assert warned.endswith("the evaluator table does not use --recipe, --channels\n")


def test_another_kind_of_run_is_named(run, flags, tmp_path):
    out = tmp_path / "run"
    assert run("sample", *flags, "--evaluations", 2, "--quiet", "--out", out) == (0, "", "")
    status, _, warned = run("search", "--resume", out)
    assert status == 2
    assert f"holds a sampling, not a search; resume it with: xnas sample --resume {out}" in warned


@pytest.mark.slow
def test_the_best_cell_is_trained(run, flags, tmp_path):
    out = tmp_path / "run"
    assert run("sample", *flags, "--evaluations", 2, "--quiet", "--out", out)[0] == 0
    tiny = ["--epochs", 1, "--channels", 2, "--cells", 1, "--batch-size", 500, "--quiet"]
    assert run("train", out, "digits", *tiny, "--device", "cpu", "--out", tmp_path / "train")[0] == 0
