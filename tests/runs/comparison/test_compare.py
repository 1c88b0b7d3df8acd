"""Whole comparisons, tiny ones: what they find, that they resume exactly, that failures are lines."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from benchmark_files import read_once
from comparing import TRAIN, images, saved, settings
from nasbench201 import rows, write_table
from worker_jobs import wait_for

from xnas import CompareConfig, SearchConfig, compare, resume_comparison
from xnas.errors import ConfigError, DatasetError, LockedError, RoundError
from xnas.process.interrupt import Interrupted
from xnas.report.page import chart_figures
from xnas.runs.comparison import jobs
from xnas.runs.comparison.display import CompareProgress
from xnas.runs.lock import locked

TESTS = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = write_table(tmp_path_factory.mktemp("table") / "table.csv", rows())
    with read_once():
        yield path


@pytest.fixture(scope="module")
def compared(table, tmp_path_factory):
    """Two methods and a sampler, two seeds; its folder and its result. Only read it."""
    out = tmp_path_factory.mktemp("compared") / "out"
    sample = {"evaluator": "table", "evaluations": 4}
    given = settings(truth=table, samplers="random", sample=sample, random_cells=20)
    return out, compare(images(), out=out, **given)


def test_every_run_is_listed_with_the_accuracy_of_its_cell(compared):
    out, result = compared
    found = result.comparison
    assert [run.name for run in found.runs] == [
        *("xnas-0", "darts-0", "sample-random-0", "xnas-1", "darts-1", "sample-random-1")
    ]
    assert {run.state for run in found.runs} == {"done"}
    accuracies = {row[1]: row[3] for row in rows()}
    for run in found.runs:
        genotype = json.loads((out / "runs" / run.name / "genotype.json").read_text())
        assert run.accuracy == accuracies[genotype["arch"]]
        assert run.curve[-1][1] == run.accuracy
    assert repr(result).endswith("measure='true', runs=6 of 6, failed=0)")


def test_runs_are_those_of_the_commands_themselves(compared):
    out, _ = compared
    config = json.loads((out / "runs" / "darts-1" / "config.json").read_text())
    found = [config["config"][name] for name in ("method", "seed", "epochs")]
    assert (config["kind"], found) == ("search", ["darts", 1, 1])
    sampled = json.loads((out / "runs" / "sample-random-0" / "config.json").read_text())
    assert (sampled["kind"], sampled["config"]["evaluations"]) == ("sample", 4)


def test_all_files_are_there(compared):
    out, _ = compared
    names = {path.name for path in out.iterdir()}
    assert names >= {"comparison.json", "comparison.md", "comparison.csv", "comparison.tex", "runs.csv"}
    assert (out / "figures" / "accuracy.svg").is_file()
    page = (out / "comparison.md").read_text(encoding="utf8")
    assert "true accuracy: on cifar10 after 200 epochs, from table.csv, which has none on stripes" in (
        re.sub(r"\\", "", page).replace("True", "true")
    )
    assert "cells are looked up in the benchmark" in page


@pytest.mark.usefixtures("undrawn")
def test_a_finished_comparison_is_written_again_without_a_run(compared, monkeypatch):
    out, result = compared
    before = saved(out)
    monkeypatch.setattr(jobs, "search", None)
    again = resume_comparison(out, data=images(), quiet=True, test=True, test_kind="welch")
    assert again.comparison.runs == result.comparison.runs
    assert again.comparison.test.startswith("Welch")
    assert all(one.p is not None for one in again.comparison.differences)
    resume_comparison(out, data=images(), quiet=True, test=False)
    assert before["runs"] == saved(out)["runs"]
    with pytest.raises(ConfigError, match="given the images 'stripes' in memory; resume it with"):
        resume_comparison(out)
    with pytest.raises(DatasetError, match="images of stripes are not those"):
        resume_comparison(out, data=images(count=48))
    with pytest.raises(ConfigError, match="keeps its seeds, and --seeds leaves out 1; add to 0,1"):
        resume_comparison(out, data=images(), seeds="0")
    with locked(out, nullcontext), pytest.raises(LockedError):
        resume_comparison(out, data=images(), quiet=True)


@pytest.fixture
def undrawn(monkeypatch):
    """Without figures, which take longest."""
    monkeypatch.setattr(chart_figures, "save_chart", lambda *_: ())


class Stopping(CompareProgress):
    """Stops the comparison after a run, as Ctrl-C would."""

    def __init__(self):
        super().__init__(quiet=True)

    def after_run(self, run, comparison):  # noqa: ARG002
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("undrawn")
def test_one_that_was_stopped_resumes_to_the_same_and_takes_more_seeds(tmp_path):
    given = settings(train=TRAIN, methods="xnas", seeds="0", test=False)
    compare(images(), out=tmp_path / "whole", **given)
    with pytest.raises(Interrupted, match=r"stopped after 1 of 2 runs; resume with: xnas compare --res"):
        compare(images(), out=tmp_path / "out", display=Stopping(), **given)
    assert not (tmp_path / "out" / "comparison.md").exists()
    assert saved(tmp_path / "out")["state"] == "waiting"
    resume_comparison(tmp_path / "out", data=images(), quiet=True)
    whole = saved(tmp_path / "whole")
    assert whole == saved(tmp_path / "out")
    assert whole["measure"] == "trained"
    assert {run["entry"] for run in whole["runs"]} == {"xnas", "random cells"}
    more = resume_comparison(tmp_path / "out", data=images(), quiet=True, seeds="0-1").comparison
    assert [run.seed for run in more.runs] == [0, 0, 1, 1]
    assert more.runs[0].accuracy == whole["runs"][0]["accuracy"]


@pytest.mark.usefixtures("undrawn")
def test_a_run_that_fails_is_a_line_and_the_rest_goes_on(tmp_path, monkeypatch):
    whole = jobs.search

    def search(config, data):
        if config.method == "darts" and config.seed == 0:
            raise RoundError("in round 3: the loss is nan")
        if config.method == "darts":
            raise KeyError("a fault of the program")
        return whole(config, data)

    monkeypatch.setattr(jobs, "search", search)
    found = compare(images(), out=tmp_path / "out", **settings()).comparison
    assert [run.state for run in found.runs] == ["done", "failed", "done", "failed"]
    assert found.runs[1].reason == "in round 3: the loss is nan"
    assert found.runs[3].reason == "KeyError: 'a fault of the program'"
    assert "Traceback" in (tmp_path / "out/runs/darts-1.failure.txt").read_text()
    assert found.summaries[1].failed == 2
    assert found.summaries[1].mean is None
    assert "supernet accuracies do not compare" in found.notes[0]
    monkeypatch.setattr(jobs, "search", whole)
    again = resume_comparison(tmp_path / "out", data=images(), quiet=True).comparison
    assert {run.state for run in again.runs} == {"done"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"methods": "xnas,dart"}, "no method called 'dart'; did you mean darts"),
        ({"samplers": "rundom"}, "no sampler called 'rundom'; did you mean random"),
        ({"methods": "xnas,xnas"}, "--methods names 'xnas' twice"),
        ({"methods": "xnas"}, "there is 1 entry to compare: xnas; name at least two"),
        ({"space": "dart"}, "no search space called 'dart'; did you mean darts"),
        ({"pool": "procesess"}, "no pool called 'procesess'; did you mean processes"),
        ({"against": "dart"}, "--against names no entry: 'dart'; did you mean darts"),
        (
            {"search": {"epoch": 1}},
            "'epoch', which xnas search has not; did you mean epochs",
        ),
        ({"search": {"epochs": 0}}, "the entry 'xnas': --epochs must be at least 1, got 0"),
        ({"search": {"seed": 1}}, "has the setting 'seed', which the comparison sets"),
        ({"search": {"batch_size": 4096}}, "the entry 'xnas' cannot run on stripes: batch of 4096"),
        (
            {"test": True, "truth": "x.csv"},
            "needs 4 seeds to reach p = 0.05 in 1 comparison after Holm's correction, got 2; ",
        ),
        ({"truth": "x.csv"}, "x.csv"),
        ({"truth": __file__}, "test_compare.py"),
        ({"entries": {"a": {"method": "xnas", "sampler": "random"}}}, "names a method and a sampler"),
        ({"entries": {"a": {"method": "nope"}}}, "no method called 'nope'"),
        ({"entries": {"xnas": {"method": "darts"}}}, "the entry 'xnas' is named twice"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_starts(given, words, tmp_path):
    with pytest.raises((ConfigError, DatasetError)) as caught:
        compare(images(), out=tmp_path / "out", **settings(**given))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_method_that_a_space_cannot_run_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="the entry 'pc-darts' cannot run on stripes"):
        compare(images(), out=tmp_path / "out", **settings(methods="xnas,pc-darts", search=SMALL_PART))
    assert not (tmp_path / "out").exists()


SMALL_PART = {"epochs": 1, "cells": 1, "channels": 2, "batch_size": 20, "backend": "fused"}


def test_data_are_named_once_and_folders_are_new(tmp_path):
    with pytest.raises(ConfigError, match="two data sets are called 'stripes'"):
        compare([images(), images()], out=tmp_path / "out", **settings())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(ConfigError, match="is not empty; choose another --out"):
        compare(images(), out=tmp_path / "full", **settings())
    with pytest.raises(ConfigError, match="takes CompareConfig, got"):
        compare(SearchConfig(), "digits")
    with pytest.raises(ConfigError, match="there is no data to compare on"):
        compare(CompareConfig(), [])


def test_nothing_that_was_asked_for_is_no_comparison(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"needs data or entries, and none are named; give data, such"):
        compare()
    with pytest.raises(ConfigError, match="none are named"):
        compare(CompareConfig(space="nasbench201"))
    file = tmp_path / "plan.toml"
    file.write_text('space = "nasbench201"\n', encoding="utf8")
    with pytest.raises(
        ConfigError, match=r'plan.toml needs data or entries.* write data = \["photos"\]'
    ):
        compare(file)
    with pytest.raises(ConfigError, match="no method called 'nope'"):  # entries are enough
        compare(file, methods="nope")
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.slow
def test_a_comparison_in_processes_is_that_of_one_process(tmp_path):
    """Named data, which each process loads; two seeds, two at a time."""
    for pool in ("local", "processes"):
        compare("digits", out=tmp_path / pool, pool=pool, at_once=2, **settings(search=SEARCH_DIGITS))
    one, other = saved(tmp_path / "local"), saved(tmp_path / "processes")
    assert one.pop("config") != other.pop("config")
    assert one == other


SEARCH_DIGITS = {"epochs": 1, "cells": 1, "channels": 2, "batch_size": 96}


@pytest.mark.slow
def test_one_that_is_killed_at_any_time_ends_as_one_that_is_not(tmp_path):
    text = "epochs=2,cells=1,channels=2,batch_size=64,checkpoint_minutes=0"
    command = [
        *(
            sys.executable,
            "-m",
            "xnas",
            "compare",
            "digits",
            "--methods",
            "xnas,darts",
            "--seeds",
            "0-1",
        ),
        *("--space", "nasbench201", "--search", text, "--device", "cpu", "--quiet", "--out"),
    ]
    environment = os.environ | {"PYTHONPATH": str(TESTS.parent / "src"), "OMP_NUM_THREADS": "1"}

    def started(*arguments):
        return subprocess.Popen([*command[:3], *arguments], env=environment, stderr=subprocess.DEVNULL)

    assert started(*command[3:], str(tmp_path / "whole")).wait() == 0
    out = tmp_path / "out"
    program = started(*command[3:], str(out))
    for name in ("xnas-0", "darts-0", "xnas-1"):
        wait_for(lambda name=name: any((out / "runs" / name / "checkpoints").glob("*.pt")))
        program.send_signal(signal.SIGKILL)
        program.wait()
        program = started("compare", "--resume", str(out))
    assert program.wait() == 0
    assert saved(tmp_path / "whole") == saved(out)
