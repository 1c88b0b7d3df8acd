"""Workers that are processes of this machine: they are replaced when they die, and stop when asked."""

import os
import signal
from functools import partial

import pytest
from worker_jobs import Counted, Unreadable, about_itself, die, fail, play, reader, square, wait_for

from xnas.errors import ConfigError, RoundError, WorkerError
from xnas.process.interrupt import Interrupted
from xnas.workers import LocalProcesses
from xnas.workers.local import cause, environment


def test_jobs_are_done_in_other_processes_which_are_replaced_when_they_die(tmp_path):
    with LocalProcesses(2) as workers:
        for number in range(3):
            workers.submit(number, partial(square, number))
        assert [workers.result(n) for n in (2, 0, 1)] == [4, 0, 1]
        workers.submit(0, partial(die, tmp_path, 1))  # dies once
        workers.submit(1, partial(fail, "round"))
        with pytest.raises(RoundError, match=r"^the loss is nan") as found:
            workers.result(1)
        assert "in a worker:" in found.value.__notes__[0]
        assert (workers.first(), workers.result(0)) == (
            0,
            1,
        )  # a second worker has done the job, and knows of the first
        workers.submit(5, about_itself)
        pid, group, (threads, _) = workers.result(5)
        assert group == pid != os.getpid()  # a Ctrl-C of the terminal does not reach it
        assert threads == os.environ.get("OMP_NUM_THREADS", threads)
        with pytest.raises(ConfigError, match=r"a job cannot be sent to a worker: .*top of a module"):
            workers.submit(9, lambda: None)


def test_a_shared_value_is_sent_to_each_worker_once(tmp_path):
    (tmp_path / "deaths").mkdir()
    with LocalProcesses(1) as workers:
        value = Counted(tmp_path)
        shared = workers.share(value)
        first, _ = [_done(workers, partial(reader, shared)) for _ in range(2)]
        assert first[1] == tmp_path
        assert len(list(tmp_path.glob("read-*"))) == 1
        assert _done(workers, partial(die, tmp_path / "deaths", 1)) == 1
        again = _done(workers, partial(reader, shared))
        assert again[0] != first[0]
    assert {int(path.name.split("-")[1]) for path in tmp_path.glob("read-*")} == {first[0], again[0]}
    assert len(list(tmp_path.glob("read-*"))) == 2


def test_a_shared_value_that_cannot_be_read_fails_the_job_with_its_line():
    with LocalProcesses(1) as workers:
        with pytest.raises(ConfigError, match=r"cannot be sent to a worker"):
            workers.share(lambda: None)
        workers.share(Unreadable(1, 2))  # pickles, and cannot be made again
        workers.submit(0, about_itself)
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            workers.result(0)


def _done(workers, job):
    workers.submit(0, job)
    return workers.result(0)


def test_a_job_that_ends_every_worker_fails_with_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr("xnas.workers.local.DEATHS", 2)
    with LocalProcesses(1) as workers:
        workers.submit(4, partial(die, tmp_path, 9))
        with pytest.raises(
            WorkerError, match="job 4 ended 2 workers, the last by SIGKILL, as when memor"
        ):
            workers.result(4)
    assert len(list(tmp_path.iterdir())) == 2
    assert cause(-signal.SIGSEGV) == "SIGSEGV"
    assert cause(1) == "exit status 1"
    with pytest.raises(ConfigError, match="at least 1 worker is needed, got 0"):
        LocalProcesses(0)


def test_closing_stops_jobs_after_a_round_and_waits_for_them(tmp_path):
    with LocalProcesses(1) as workers:
        workers.submit(0, partial(play, tmp_path))
        workers.submit(1, partial(play, tmp_path))  # waits, and is never begun
        wait_for(lambda: list(tmp_path.glob("pid-*")))
    assert len(list(tmp_path.glob("pid-*"))) == len(list(tmp_path.glob("stopped-*"))) == 1
    with pytest.raises(Interrupted, match="job 0 was stopped"):
        workers.result(0)


def test_cores_and_gpus_are_shared_out(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert environment(0, 3, ()) == {"OMP_NUM_THREADS": "2"}
    assert environment(0, 16, ())["OMP_NUM_THREADS"] == "1"
    assert [environment(n, 3, ("4", "6"))["CUDA_VISIBLE_DEVICES"] for n in range(3)] == ["4", "6", "4"]
    monkeypatch.setenv("OMP_NUM_THREADS", "5")  # the user's own
    assert environment(0, 16, ())["OMP_NUM_THREADS"] == "5"


def test_one_gpu_is_shared_by_nvidias_service_and_several_only_if_there_are_too_few(monkeypatch):
    calls = []
    monkeypatch.setattr("xnas.workers.local.share_gpu", lambda: calls.append(1))
    for at_once, gpus in ((2, ("0", "1")), (4, ()), (3, ("0", "1"))):
        LocalProcesses(at_once, gpus=gpus).close()
    assert calls == [1]
