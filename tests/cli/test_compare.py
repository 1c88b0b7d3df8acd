"""`xnas compare` on the command line; what a comparison computes is tested in runs/comparison."""

import json

import pytest
from commands import call
from comparing import failed, found, run

from xnas.cli.compare import farewell
from xnas.runs.comparison import compare as job
from xnas.runs.comparison.compare import CompareResult


@pytest.fixture
def asked(monkeypatch):
    """Calls of the job, which does nothing."""
    calls = []

    def played(*given, **settings):
        calls.append((given, settings))
        runs = (run("xnas"), failed("darts") if "bad" in given else run("darts"))
        return CompareResult("runs/c 1", found(*runs))

    monkeypatch.setattr(job, "compare", played)
    monkeypatch.setattr(job, "resume_comparison", played)
    return calls


def test_options_reach_the_comparison(asked, capsys, tmp_path):
    flags = ("--methods", "xnas,darts", "--seeds", "0-3", "--no-test", "--out", tmp_path / "out")
    status, out, err = call(capsys, "compare", "digits", "photos", *flags)
    assert (status, err) == (0, "")
    assert asked[0][0] == (["digits", "photos"],)
    assert asked[0][1] == {
        "methods": "xnas,darts",
        "seeds": "0-3",
        "test": False,
        "out": tmp_path / "out",
    }
    assert "folder: runs/c 1 (comparison.md, .csv, .tex, .json, runs.csv, figures/, runs/)" in out
    call(capsys, "compare", "plan.toml")
    call(capsys, "compare")
    call(capsys, "compare", "--resume", "x", "--seeds", "0-9", "--quiet")
    assert [given for given, _ in asked[1:3]] == [("plan.toml",), (None,)]
    assert asked[3][1] == {"quiet": True, "seeds": "0-9"}


def test_failed_runs_are_an_exit_status(asked, capsys):
    status, out, err = call(capsys, "compare", "bad")
    assert status == 2
    assert "darts, seed 0 on digits, darts: failed: the loss is nan" in out
    assert err == (
        "xnas: 1 run of 2 failed, for the reasons in runs/c 1/comparison.md; xnas compare --resume "
        "'runs/c 1' tries it again\n"
    )
    assert asked


def test_scripts_get_one_document(asked, capsys):
    status, out, _ = call(capsys, "compare", "bad", "--json")
    told = json.loads(out)
    assert status == 2  # as a run failed
    assert list(told) == [
        *("format", "version", "out", "report", "measure", "reference", "random_mean", "random_words"),
        *("test", "runs", "summaries", "differences", "notes"),
    ]
    assert (told["format"], told["out"], told["report"]) == ("xnas-compare", "runs/c 1", None)
    assert [run["state"] for run in told["runs"]] == ["done", "failed"]
    assert asked[0][1]["display"].console.stderr
    call(capsys, "compare", "--resume", "x", "--json")
    assert asked[1][1]["display"].console.stderr


def test_a_resumed_comparison_has_its_own_data(capsys):
    status, _, err = call(capsys, "compare", "digits", "--resume", "x")
    assert status == 2
    assert "--resume uses the data of the comparison; leave digits out" in err


def test_the_end_says_what_differs():
    runs = [run(name, seed, 90.0 + seed) for name in ("xnas", "darts") for seed in range(4)]
    means = {("digits", "darts"): 88.0}
    text = farewell(
        CompareResult("x", found(*runs, test="exact", random_means=means, random_words="20 cells"))
    )
    assert "random cells (20 cells): 88.00 %" in text
    assert "compared with xnas:" in text
    assert "chance may explain how darts differs from xnas" in text
    assert "(exact permutation test of the difference of means (two-sided); p corrected by Holm)" in text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--methods", "xnas,dart"], "no method called 'dart'; did you mean darts"),
        (
            ["digits", "--seeds", "0-1", "--train", "quick"],
            "needs 5 seeds to reach p = 0.05 in 3",
        ),
        (["--seeds", "0-1"], "needs data or entries, and none are named"),
        (["nowhere.toml"], "the comparison nowhere.toml is not there"),
        (["--metods", "xnas"], "has no option --metods; did you mean --methods"),
        (["--resume", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_refusals_are_one_line(capsys, given, words):
    status, _, err = call(capsys, "compare", *given)
    assert status == 2
    assert words in err
    assert err.count("\n") == 1
