"""Pools of several processes: the same ledger as one process writes, whatever happens to workers."""

import json
import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from sampling_jobs import Noisy
from training import same_runs
from worker_jobs import wait_for

from xnas import SampleConfig, sample
from xnas.errors import WorkerError
from xnas.process.interrupt import Interrupted
from xnas.runs.sampling import sample_job, worker_pools
from xnas.runs.sampling.evaluators import EVALUATORS, EvaluatorKind
from xnas.runs.sampling.pools import POOLS
from xnas.samplers import Trial
from xnas.space import Genotype
from xnas.workers import ThisProcess

TESTS = Path(__file__).parents[2]
ALONE = {  # what a cluster of this machine alone needs
    "OMP_NUM_THREADS": "1",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "of this test",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
CELL = Genotype.random("nasbench201", 0)


@pytest.fixture
def config(tmp_path, monkeypatch):
    """A search of 14 cells, of which two fail, on an evaluator that other processes can find."""
    monkeypatch.setattr(sample_job, "_draw", lambda *_: None)
    marks = tmp_path / "marks"
    marks.mkdir()
    kind = EvaluatorKind(lambda *_: Noisy(marks, failing=(2, 9)), "a digest", needs_images=False)
    monkeypatch.setitem(EVALUATORS._entries, "noisy", kind)
    return SampleConfig(
        space="nasbench201",
        evaluator="noisy",
        settings="population=4,sample=2",
        evaluations=14,
        out=tmp_path / "run",
    )


def ledger(config):
    sample(config)
    return (config.out / "ledger.jsonl").read_bytes()


@pytest.mark.parametrize(
    "at_once", [2, pytest.param(1, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)]
)
def test_the_ledger_is_that_of_one_process(config, at_once, tmp_path):
    config = replace(config, at_once=at_once)
    here = ledger(config)
    there = ledger(replace(config, pool="processes", out=tmp_path / "parallel"))
    assert here == there
    assert here.count(b'"failed"') == 2
    processes = {path.name.split("-")[1] for path in (tmp_path / "marks").iterdir()}
    assert str(os.getpid()) in processes
    assert len(processes) <= 1 + at_once


@pytest.mark.slow
def test_results_come_in_any_order_if_that_is_wanted(config):
    config = replace(config, at_once=2, unordered=True, pool="processes")
    events = [json.loads(line) for line in ledger(config).splitlines()]
    told = [event["number"] for event in events if event["event"] == "tell"]
    assert sorted(told) == list(range(14))


class Dying:
    """Workers that a trial always ends."""

    def __init__(self):
        self.jobs, self.closed = {}, False
        self.share = ThisProcess().share

    def submit(self, number, job):
        self.jobs[number] = job

    def first(self, *, stopped):
        assert not stopped()
        return next(iter(self.jobs))

    def result(self, number, *, stopped):
        assert not stopped()
        del self.jobs[number]
        raise WorkerError(f"job {number} ended 3 workers, the last by SIGKILL")

    def close(self):
        self.closed = True


def test_a_trial_that_ends_every_worker_is_a_failed_one(tmp_path):
    workers = Dying()
    pool = worker_pools.WorkerPool(workers, Noisy(tmp_path), tmp_path / "trials")
    for number in (3, 4):
        pool.submit(Trial(number=number, genotype=CELL))
        assert b"Noisy" not in pickle.dumps(workers.jobs[number])  # it has been sent once, before
    assert workers.jobs[3]().value == workers.jobs[4]().value  # the cell is the same
    results = pool.result(4), pool.result()
    assert [(one.number, one.state) for one in results] == [(4, "failed"), (3, "failed")]
    assert results[0].reason == "job 4 ended 3 workers, the last by SIGKILL"
    pool.close()
    assert workers.closed


class Waiting:
    """Workers that never have a result, while a user stops the run."""

    def share(self, value):
        return value

    def first(self, *, stopped):
        os.kill(os.getpid(), signal.SIGINT)
        assert stopped()
        raise Interrupted("the jobs are stopped")


def test_a_signal_ends_the_waiting(tmp_path):
    pool = worker_pools.WorkerPool(Waiting(), Noisy(tmp_path), tmp_path)
    with pytest.raises(Interrupted):
        pool.result()


def test_gpus_are_given_to_evaluators_that_compute_on_them(monkeypatch, tmp_path):
    made = []
    monkeypatch.setattr(worker_pools, "visible_gpus", lambda: ("0", "1"))

    def workers(*given, **named):
        made.append((given, named))
        return ThisProcess()

    monkeypatch.setattr(worker_pools, "LocalProcesses", workers)
    monkeypatch.setattr(worker_pools, "RayTasks", workers)
    evaluator = Noisy(tmp_path)
    for name in ("processes", "ray"):
        POOLS[name].build(evaluator, tmp_path, 4)
    evaluator.device = "cuda"
    for name in ("processes", "ray"):
        POOLS[name].build(evaluator, tmp_path, 4)
    assert made == [
        ((4,), {"gpus": (), "fresh": False}),
        ((4,), {"on_gpus": False}),
        ((4,), {"gpus": ("0", "1"), "fresh": True}),
        ((4,), {"on_gpus": True}),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["processes", "ray"])
def test_ctrl_c_leaves_one_line_and_a_checkpoint_of_every_open_training(tmp_path, pool):
    out = tmp_path / "run"
    settings = "--space darts --sampler random --evaluations 4 --at-once 2 --quiet"
    sizes = "--epochs 500 --cells 3 --channels 2 --checkpoint-minutes 1000 --device cpu"
    command = [sys.executable, "-m", "xnas", "sample", "digits", *settings.split(), *sizes.split()]
    environment = os.environ | ALONE | {"PYTHONPATH": str(TESTS.parent / "src")}
    program = subprocess.Popen(
        [*command, "--pool", pool, "--out", str(out)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    trials = [out / "trials" / name for name in ("00000", "00001")]
    wait_for(lambda: all((trial / "tensorboard").exists() for trial in trials))
    program.send_signal(signal.SIGINT)
    _, said = program.communicate()
    assert program.returncode == 130
    assert len(said.splitlines()) == 1
    assert f"stopped after evaluation 0; resume with: xnas sample --resume {out}" in said
    assert all(list((trial / "checkpoints").glob("*.pt")) for trial in trials)


def with_ray(what, place, kind):
    """In a process of its own: Ray starts threads, and warns."""
    (place / "marks").mkdir()
    environment = os.environ | ALONE | {"PYTHONPATH": f"{TESTS}:{TESTS.parent / 'src'}"}
    command = [sys.executable, str(TESTS / "ray_kills.py"), what, str(place), kind]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def on_a_cluster(place, kind):
    with_ray("cluster", place, kind)
    ledgers = [(place / run / "ledger.jsonl").read_bytes() for run in ("whole", "run")]
    assert ledgers[0] == ledgers[1]


@pytest.mark.slow
def test_the_ledger_of_ray_is_that_of_one_process(tmp_path):
    with_ray("compare", tmp_path, "noisy")


@pytest.mark.slow
def test_a_search_survives_its_worker_its_driver_and_a_machine(tmp_path):
    on_a_cluster(tmp_path, "noisy")
    begun = len(list((tmp_path / "marks").iterdir()))
    assert 40 < begun < 50  # each of the three kills lost one or two evaluations


@pytest.mark.slow
def test_a_training_whose_worker_is_killed_ends_bit_for_bit_on_another(tmp_path):
    on_a_cluster(tmp_path, "train")
    for number in range(4):
        same_runs(*(tmp_path / run / "trials" / f"{number:05}" for run in ("whole", "run")))
