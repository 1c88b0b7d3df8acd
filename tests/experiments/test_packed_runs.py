"""Unfinished trainings travel: packed in one place, resumed in another with the same numbers."""

import json
import tarfile
from argparse import Namespace
from dataclasses import replace

import pytest

import nasbench301
import trainings
from jobs import Budget, ResultsFile
from packed_runs import collect, take_up
from xnas.engine import Checkpoints

MACHINE = {"train_seconds", "calls", "epoch_seconds", "ready_seconds", "memory_bytes"}
MACHINE |= {"process_seconds", "import_seconds"}


class AfterSteps:
    """A deadline that has passed at the tenth look at the clock: in the second of two epochs."""

    looks = 0

    def __lt__(self, now):
        self.looks += 1
        return self.looks > 9


class Cut(Budget):
    """Time is up in the second epoch."""

    def deadline(self):
        return AfterSteps()


def job_of(name):
    return next(job for job in nasbench301.all_jobs() if job.of.name == name)


def short(name):
    """A training of seconds, two epochs of eight steps, with mixup and images held out."""
    job = trainings.tiny(job_of(name))
    return replace(job, options={**job.options, "batch_size": 128})


def runner(folder, budget):
    given = Namespace(runs=folder / "runs", keep=True, device="cpu", data_dir=None)
    return trainings.Runner(given, budget)


def lasting(record):
    return {key: value for key, value in record.items() if key not in MACHINE}


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A place where one training was cut, another has not begun, and a third has ended."""
    here = tmp_path_factory.mktemp("here")
    jobs = [short(name) for name in ("xnas", "darts_v2", "pc_darts_cifar")]
    assert runner(here, Cut(None))(jobs[0]) is None
    results = ResultsFile(here / "nasbench301.jsonl")
    results.append({"job": jobs[2].name, "command": jobs[2].command, "valid_accuracy": 0.5})
    made = collect(jobs, results, here / "runs", here / "out")
    return here, jobs, made


def test_results_and_begun_runs_are_collected_without_the_best_weights(begun):
    here, jobs, made = begun
    assert [path.name for path in made] == ["nasbench301.jsonl", f"{jobs[0].folder_name}.tar.gz"]
    with tarfile.open(made[1]) as archive:
        names = [name.removeprefix(jobs[0].folder_name) for name in archive.getnames()]
    assert [name for name in names if "checkpoints" not in name] == [
        *("/config.json", "/recipe.json", "/genotype.json", "/metrics.jsonl", ".spent.json"),
    ]
    assert sum("checkpoints" in name for name in names) == 1
    size = max(path.stat().st_size for path in (here / "runs").rglob("*.pt"))
    assert made[1].stat().st_size < size


@pytest.mark.slow
def test_a_training_that_travelled_ends_as_one_that_was_never_stopped(begun, tmp_path):
    here, jobs, _ = begun
    there = ResultsFile(tmp_path / "nasbench301.jsonl")
    take_up(jobs, there, tmp_path / "runs", here / "out")
    assert [line["job"] for line in there.lines()] == [jobs[2].name]
    resumed = runner(tmp_path, Budget(None))(jobs[0])
    whole = runner(tmp_path / "whole", Budget(None))(jobs[0])
    assert lasting(resumed) == lasting(whole)
    assert (resumed["calls"], whole["calls"]) == (2, 1)
    assert resumed["valid_accuracy"] is not None
    saved = json.loads((tmp_path / "runs" / jobs[0].folder_name / "config.json").read_text("utf8"))
    assert saved["config"]["mixup"] == 0.2


def test_what_is_there_already_stays(begun, tmp_path):
    here, jobs, _ = begun
    results = ResultsFile(tmp_path / "nasbench301.jsonl")
    results.append({"job": jobs[2].name, "command": jobs[2].command, "valid_accuracy": 0.7})
    (tmp_path / "runs" / jobs[0].folder_name).mkdir(parents=True)
    take_up(jobs, results, tmp_path / "runs", here / "out")
    assert [line["valid_accuracy"] for line in results.lines()] == [0.7]
    assert not Checkpoints(tmp_path / "runs" / jobs[0].folder_name / "checkpoints").files()


def test_the_archive_of_a_run_that_has_ended_is_deleted(begun, tmp_path):
    here, jobs, _ = begun
    results = ResultsFile(tmp_path / "nasbench301.jsonl")
    (path,) = collect(jobs[:1], results, here / "runs", tmp_path / "out")
    assert path.exists()
    results.append({"job": jobs[0].name, "command": jobs[0].command})
    assert [p.name for p in collect(jobs[:1], results, here / "runs", tmp_path / "out")] == [
        "nasbench301.jsonl"
    ]
    assert not path.exists()
