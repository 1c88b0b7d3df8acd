"""NAS-Bench-201 on the command line: searches of its space, and its cells shown."""

import json
from functools import partial
from pathlib import Path

import pytest
from commands import call
from nasbench201 import arch, parameters, rows, write_table

from xnas import Genotype

SIZES = {"--cells": 1, "--channels": 2, "--epochs": 1, "--batch-size": 256}
TINY = ["--space", "nasbench201", "--device", "cpu", *(str(x) for pair in SIZES.items() for x in pair)]
SAMPLE = Path(__file__).parents[1] / "samples" / "genotype-nasbench201-v1.json"
SAMPLE_ARCH = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|nor_conv_3x3~2|"


@pytest.fixture
def run(capsys):
    """Status, output and errors of a command."""
    return partial(call, capsys)


@pytest.mark.parametrize(
    ("flags", "experts"),
    [([], 24), (["--include-none"], 30), (["--faithful"], 30), (["--method", "darts"], 30)],
)
def test_a_search_records_both_strings_and_ends_with_the_one_without_none(run, tmp_path, flags, experts):
    out = tmp_path / "run"
    status, told, warned = run("search", "digits", *TINY, *flags, "--out", out)
    assert status == 0, warned
    assert f"{experts} experts" in told
    genotype = Genotype.load(out / "genotype.json")
    saved = json.loads((out / "discretization.json").read_text(encoding="utf8"))
    assert saved["arch"] == genotype.arch
    assert "none" not in genotype.arch
    assert Genotype.from_arch(saved["arch_with_none"]).space == "nasbench201"
    if not flags:
        assert saved["arch_with_none"] == saved["arch"]
    assert len(saved["edges"]) == 6
    assert f"\n{genotype.arch}\n" in told
    assert "depth" not in told
    assert "reduction" not in told
    status, shown, _ = run("show", out, "--svg", tmp_path / "cell.svg")
    assert (status, genotype.arch in shown) == (0, True)
    assert (tmp_path / "cell.svg").read_text(encoding="utf8").startswith("<?xml")


def test_the_truth_is_printed_with_every_epoch(run, tmp_path):
    table = write_table(tmp_path / "c10.csv", rows())
    flags = [*TINY, "--truth", table, "--out", tmp_path / "run"]
    status, told, warned = run("search", "digits", *flags)
    assert status == 0, warned
    line = json.loads((tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf8"))
    assert f"true accuracy {line['truth']['test_200']:.2f} %" in told
    status, told, err = run("search", "--resume", tmp_path / "run")
    assert (status, err, told.count("\n")) == (0, "", 1)
    assert f"is finished; its cell is in genotype.json; next: xnas train {tmp_path / 'run'} dig" in told
    found = (tmp_path / "run" / "genotype.json").read_text(encoding="utf8")
    (tmp_path / "run" / "genotype.json").unlink()  # as if it had been killed just before its end
    status, told, _ = run("search", "--resume", tmp_path / "run")
    assert (status, Genotype.from_json(found).arch in told) == (0, True)
    assert (tmp_path / "run" / "genotype.json").read_text(encoding="utf8") == found
    (tmp_path / "run" / "genotype.json").unlink()
    write_table(table, [[*row[:2], *(12.5,) * 4, *row[6:]] for row in rows()])
    status, told, err = run("search", "--resume", tmp_path / "run")
    assert (status, told, err.count("\n")) == (2, "", 1)
    assert "is not the one that the run began with: it has 12.5 for |" in err
    assert "; restore that file, or remove it" in err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--space", "nasbench102"], "no search space called 'nasbench102'; did you mean nasbench201"),
        (
            [*TINY, "--truth", "there/is/none.csv"],
            "cannot read the benchmark there/is/none.csv: No such",
        ),
        (["--space", "nasbench201", "--cells", "0"], "cells must be at least 1, got 0"),
    ],
)
def test_settings_that_cannot_be_used_are_reported_in_one_line(run, tmp_path, flags, words):
    status, _, err = run("search", "digits", *flags, "--out", tmp_path / "run")
    assert status == 2
    assert words in err
    assert err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("cell", [SAMPLE, SAMPLE_ARCH])
def test_a_cell_is_shown_with_its_string_and_the_benchmark_s_network(run, cell):
    status, told, _ = run("show", cell)
    assert status == 0
    assert told.startswith(f"{cell}, search space nasbench201\n\ncell\n 0  the previous cell\n")
    assert f"\n{SAMPLE_ARCH}\n" in told
    assert "depth" not in told
    count = parameters(["nor_conv_3x3", "nor_conv_1x1", "nor_conv_3x3"])
    # By hand: 3x3 convolutions on two edges and 1x1 on one, in five cells a stage; then all the rest.
    cells = (9 + 9 + 1) * 5 * (16**2 * 32**2 + 32**2 * 16**2 + 64**2 * 8**2)
    rest = 432 * 32**2 + (4608 + 9216 + 512) * 16**2 + (18432 + 36864 + 2048) * 8**2 + 640
    row = ["nasbench201", "16", "5", "32", "x", "32", f"{count:,}", f"{cells + rest:,}"]
    assert row in [line.split() for line in told.splitlines()]
    assert "imagenet" not in told


def test_a_malformed_string_is_reported_in_one_line(run):
    status, told, err = run("show", arch(["conv"] * 6))
    assert (status, told) == (2, "")
    assert "node 1 of the normal cell uses 'conv', which the space 'nasbench201' does not have" in err
    status, told, err = run("show", "|none~0|+|none")
    assert (status, told) == (2, "")
    assert "node 2 of the architecture is '|none'; it must read like" in err
    assert err.count("\n") == 1
