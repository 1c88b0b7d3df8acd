"""The scripts run what the commands in their lines say, and resume where they were cut."""

import json
import shlex
from argparse import Namespace
from pathlib import Path

import pytest
from nasbench201 import rows, write_table

import compare_cells
import jobs
import quick_accuracy
import searches
import trainings
from jobs import Budget
from xnas import Genotype, SearchConfig, TrainConfig
from xnas.cli import app
from xnas.process.interrupt import Interrupted

ROOT = Path(__file__).parent.parent.parent
SEARCHES = {job.name: job for declared in searches.SETS.values() for job in declared}.values()
MACHINE = {"train_seconds", "search_seconds", "calls", "epoch_seconds", "ready_seconds", "memory_bytes"}
MACHINE |= {"process_seconds", "import_seconds", "at_once_by_call"}


class Cut(Budget):
    """Time is up after the first step."""

    def deadline(self):
        return 0.0


def said(command):
    """Arguments that the command line makes of a command."""
    _, bound, *_ = app.parse_args(shlex.split(command)[1:], exit_on_error=False, print_error=False)
    return bound.args, bound.kwargs


def arguments(tmp_path, **others):
    usual = {"runs": tmp_path / "runs", "keep": True, "device": "cpu", "data_dir": None}
    return Namespace(**usual | {"truth": None, "at_once": 1} | others)


def lasting(record):
    """A record without what depends on the machine's speed."""
    if isinstance(record, dict):
        return {k: lasting(v) for k, v in record.items() if k not in MACHINE | {"cost"}}
    return [lasting(v) for v in record] if isinstance(record, list) else record


def test_the_command_of_a_training_gives_its_settings():
    for job in (*quick_accuracy.JOBS, *compare_cells.JOBS):
        (cell, data, *_), named = said(job.command)
        assert TrainConfig(**named, cell=cell) == job.config(), job.name
        assert data == job.data, job.name


def test_the_command_of_a_search_gives_its_settings():
    for job in SEARCHES:
        (data, *_), named = said(job.command)
        assert SearchConfig(**named) == job.config(), job.name
        assert data == job.data, job.name


def test_names_distinguish_jobs():
    for declared in ((*quick_accuracy.JOBS, *compare_cells.JOBS), *searches.SETS.values()):
        assert len({job.name for job in declared}) == len(declared)
    assert len({(job.name, job.command) for job in SEARCHES}) == len({job.name for job in SEARCHES})


def test_the_random_cells_are_those_of_their_seeds():
    for seed in (1, 2, 3, 4):
        cell = Genotype.load(ROOT / "experiments" / "cells" / f"random_{seed}.json")
        assert cell == Genotype.random("darts", seed)


def begun_elsewhere(folder):
    """As if the run had been begun on another machine, which has another device."""
    saved = json.loads((folder / "config.json").read_text(encoding="utf8"))
    saved["config"]["device"] = "cuda:77"
    (folder / "config.json").write_text(json.dumps(saved), encoding="utf8")


@pytest.mark.evidence
def test_a_training_that_was_cut_resumes_and_gives_the_same(tmp_path):
    job = trainings.tiny(quick_accuracy.JOBS[0])
    whole = trainings.Runner(arguments(tmp_path / "whole"), Budget(None))(job)
    given = arguments(tmp_path / "cut")
    assert trainings.Runner(given, Cut(None))(job) is None
    begun_elsewhere(given.runs / job.folder_name)
    runner = trainings.Runner(given, Budget(None))
    resumed = runner(job)
    assert (whole["calls"], resumed["calls"]) == (1, 2)
    assert lasting(whole) == lasting(resumed)
    assert whole["train_seconds"] >= whole["ready_seconds"] > 0
    assert resumed["process_seconds"] is None
    given.keep = False
    runner.clear(job)
    assert not list(given.runs.iterdir())


def test_ctrl_c_of_a_user_ends_the_script(tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise Interrupted("stopped after round 1")

    monkeypatch.setattr(trainings, "train", stopped)
    monkeypatch.setattr(searches, "search", stopped)
    for script, declared in ((trainings, quick_accuracy.JOBS), (searches, [*SEARCHES])):
        with pytest.raises(Interrupted):
            script.Runner(arguments(tmp_path), Budget(None))(declared[0])


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("truth") / "c10.csv", rows())


@pytest.mark.evidence
def test_the_first_epochs_are_those_of_the_whole_search(tmp_path, truth):
    job, whole = (searches.tiny(searches.SETS[name][0]) for name in ("first-epochs", "full"))
    assert (job.command, job.stop_after, whole.stop_after) == (whole.command, 2, None)
    given = arguments(tmp_path, truth=truth)
    runner = searches.Runner(given, Budget(None))
    first, all_epochs = runner(job), runner(whole)
    assert len(all_epochs["epochs"]) == whole.epochs == 4
    assert lasting(first["epochs"]) == lasting(all_epochs["epochs"][:2])
    assert first["stopped_after"] == 2
    assert "genotype" not in first
    assert (
        Genotype.from_json(json.dumps(all_epochs["genotype"])).arch
        == (all_epochs["epochs"][-1]["truth"]["arch"])
    )
    assert all_epochs["ledger"]["normal"]["rounds"] == 8
    assert sum(all_epochs["decided_by"].values()) == 6  # the edges of a cell
    assert str(tmp_path) not in json.dumps(all_epochs)
    assert str(truth) not in json.dumps(all_epochs)
    again = runner(job)  # it was stopped before its line was written: nothing is left to play
    assert again == first


@pytest.mark.evidence
def test_a_search_that_was_cut_resumes_and_gives_the_same(tmp_path, truth):
    job = searches.tiny(searches.SETS["first-epochs"][2])
    whole = searches.Runner(arguments(tmp_path / "whole", truth=truth), Budget(None))(job)
    given = arguments(tmp_path / "cut", truth=truth)
    assert searches.Runner(given, Cut(None))(job) is None
    begun_elsewhere(given.runs / job.folder_name)
    resumed = searches.Runner(given, Budget(None))(job)
    assert resumed["calls"] == 2
    assert lasting(whole) == lasting(resumed)


@pytest.mark.evidence
def test_the_script_searches_in_a_process_of_its_own_and_then_has_nothing_left(tmp_path, truth, capsys):
    words = [
        "--tiny",
        "--truth",
        str(truth),
        "--device",
        "cpu",
        "--only",
        "nasbench201-first-5-default-0",
    ]
    words += ["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "out.jsonl")]
    assert searches.main(words) == 0
    (record,) = jobs.ResultsFile(tmp_path / "out.jsonl").lines()
    assert record["job"] == "nasbench201-first-5-default-0"
    assert not list((tmp_path / "runs").iterdir())
    assert searches.main([*words, "--in-process"]) == 0
    assert searches.main([*words, "--list"]) == 0
    assert "0 of 1 jobs left" in capsys.readouterr().out


def test_without_time_nothing_is_run(tmp_path, capsys):
    words = ["--tiny", "--seconds", "1", "--out", str(tmp_path / "out.jsonl"), "--runs", str(tmp_path)]
    assert quick_accuracy.main(words) == 3
    assert "11 of 11 jobs left" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_sets_can_be_run_together_and_share_jobs(capsys):
    assert searches.main(["--set", "full", "wipeout", "--list", "--out", "/nowhere/out.jsonl"]) == 0
    assert "14 of 14 jobs left" in capsys.readouterr().out


def test_a_line_keeps_what_the_tables_need_of_fifty_epochs_and_stays_short():
    reward = {"skip_connect": 0.0123456}
    deletion = {"kind": "normal", "forecaster": 3, "expert": 1, "operation": "skip_connect"}
    metrics = {"rewards_by_stage": {"normal": {"0": reward}}, "deleted": [deletion]}
    kept = {n: searches._epoch({"epoch": n, **metrics}) for n in (1, 5, 6, 10, 11, 50)}
    assert [n for n, epoch in kept.items() if epoch["rewards_by_stage"]] == [1, 5, 10, 50]
    assert kept[50] == {
        "epoch": 50,
        "rewards_by_stage": {"normal": {"0": {"skip_connect": 0.01235}}},
        "deleted": ["normal 3 skip_connect"],
    }


def test_a_set_with_known_truth_asks_for_the_table(capsys):
    with pytest.raises(SystemExit):
        searches.main(["--set", "full"])
    assert "needs --truth" in capsys.readouterr().err
