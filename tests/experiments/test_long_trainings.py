"""Trainings at full length: what is trained, what waits, and runs that travel between machines."""

import shlex

import pytest

import long_trainings
from jobs import Budget, ResultsFile
from long_trainings import all_jobs, sets
from trainings import Runner, tiny
from xnas import TrainConfig
from xnas.cli import app


def words(folder, *others):
    return [
        *("--tiny", "--device", "cpu", "--results", str(folder / "long.jsonl")),
        *("--runs", str(folder / "runs"), *others),
    ]


def test_the_command_of_a_training_gives_its_settings():
    for job in all_jobs():
        _, bound, *_ = app.parse_args(shlex.split(job.command)[1:], exit_on_error=False)
        cell, data, *_ = bound.args
        assert TrainConfig(**bound.kwargs, cell=cell) == job.config()
        assert data == job.data
    assert len({job.folder_name for job in all_jobs()}) == len(all_jobs())


def test_the_cell_of_the_paper_is_trained_to_the_end_of_its_recipe():
    (job,) = sets()["full"]
    assert job.command == "xnas train xnas cifar10 --recipe darts-600 --seed 0"


def test_the_transfer_has_the_papers_recipe_shortened_with_three_seeds():
    jobs = sets()["transfer"]
    assert {(job.data, job.options["recipe"], job.options["epochs"]) for job in jobs} == {
        ("fashion_mnist", "xnas-1500", 100)
    }
    assert [job.options["seed"] for job in jobs] == [0, 1, 2]


def test_found_cells_wait_for_their_files(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(long_trainings, "ROOT", tmp_path)
    assert long_trainings.main(words(tmp_path, "--set", "found", "--list")) == 0
    told = capsys.readouterr().out
    assert "waits for experiments/cells/found_1.json: darts-600-found_1" in told


@pytest.mark.slow
def test_a_training_that_is_cut_is_collected_and_ends_elsewhere(tmp_path, monkeypatch, capsys):
    class Cut(Budget):
        """Time is up after the first step."""

        def deadline(self):
            return 0.0

    here, there = tmp_path / "here", tmp_path / "there"
    monkeypatch.setattr(long_trainings, "Budget", Cut)
    assert long_trainings.main(words(here, "--out", str(tmp_path / "out"))) == 3
    assert not (here / "long.jsonl").exists()
    assert [path.suffix for path in (tmp_path / "out").iterdir()] == [".gz"]
    monkeypatch.undo()
    assert long_trainings.main(words(there, "--resume-from", str(tmp_path / "out"))) == 0
    (line,) = ResultsFile(there / "long.jsonl").lines()
    assert (line["epochs"], line["calls"]) == (2, 2)
    assert "0 of 1 jobs left" in capsys.readouterr().out
    whole = Runner(
        long_trainings._arguments(words(tmp_path, "--runs", str(tmp_path / "whole"))), Budget(None)
    )(tiny(sets()["full"][0]))
    assert (line["test_accuracy"], line["train_loss"]) == (whole["test_accuracy"], whole["train_loss"])


def test_a_folder_that_is_not_there_is_named(tmp_path, capsys):
    with pytest.raises(SystemExit):
        long_trainings.main(words(tmp_path, "--resume-from", "/nowhere"))
    assert (
        "--resume-from /nowhere is no folder; give one that --out collected" in capsys.readouterr().err
    )
