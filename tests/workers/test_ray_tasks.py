"""Tasks of Ray: what they do without Ray, and with it in a process of its own."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from xnas.errors import ConfigError
from xnas.workers import RayTasks
from xnas.workers.ray_tasks import gpu_share, join_cluster

TESTS = Path(__file__).parents[1]


def test_without_ray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        ConfigError, match=r"Ray is not installed; install it with: pip install 'xnas\[ra"
    ):
        RayTasks(2)


def test_a_cluster_that_does_not_answer_is_one_line(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{taken.getsockname()[1]}"
    monkeypatch.setenv("RAY_ADDRESS", nobody)
    with pytest.raises(
        ConfigError, match=rf"the Ray cluster at {nobody} cannot be reached .*RAY_ADDRESS"
    ):
        join_cluster(SimpleNamespace())


def test_a_cluster_of_this_machine_is_joined_and_else_started(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    calls = []

    def init(*, address, **_):
        calls.append(address)
        if address != "local":
            raise ConnectionError("nobody is here")

    join_cluster(SimpleNamespace(init=init))
    assert calls == ["auto", "local"]
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    with pytest.raises(ConfigError, match=r"the Ray cluster at auto cannot be reached .nobody is here"):
        join_cluster(SimpleNamespace(init=init))


def test_gpus_are_shared_out_evenly():
    assert [gpu_share(gpus, 3) for gpus in (0, 1, 2, 8)] == [0, 0.3333, 0.6666, 1]


WITH_RAY = """
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from worker_jobs import Counted, about_itself, die, fail, play, reader, square, wait_for
from xnas.errors import RoundError, WorkerError
from xnas.workers import RayTasks, ray_tasks

place = Path(sys.argv[1])
with RayTasks(2) as workers:
    sockets = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True).stdout.splitlines()
    ours = [line for line in sockets if any(name in line for name in ("gcs_server", "raylet", "ray::"))]
    assert all("127.0.0.1" in line for line in ours), ours
    for number in range(3):
        workers.submit(number, partial(square, number))
    assert [workers.result(n) for n in (2, 0, 1)] == [4, 0, 1]
    (place / "deaths").mkdir()
    workers.submit(0, partial(die, place / "deaths", 2))
    assert (workers.first(), workers.result(0)) == (0, 2)
    shared = workers.share(Counted(place))
    for number in range(10, 15):
        workers.submit(number, partial(reader, shared))
    pids = {workers.result(number)[0] for number in range(10, 15)}
    assert len(list(place.glob("read-*"))) == len(pids) <= 5  # each worker has read it once
    workers.submit(1, partial(fail, "round"))
    try:
        workers.result(1)
    except RoundError as error:
        assert str(error) == "the loss is nan"
    workers.submit(2, partial(play, place))
    begun = lambda: [int(path.name[4:]) for path in place.glob("pid-*")]
    wait_for(begun)
    os.kill(begun()[0], signal.SIGTERM)  # as of a machine that is taken away: it is done again
    wait_for(lambda: len(begun()) == 2)
    stopped = list(place.glob("stopped-*"))
    assert len(stopped) == 1
assert len(list(place.glob("stopped-*"))) == 2  # closing waited until the run had stopped
ray_tasks.RETRIES = 1
(place / "killed").mkdir()
with RayTasks(1) as workers:
    workers.submit(3, partial(die, place / "killed", 9))
    try:
        workers.result(3)
    except WorkerError as error:
        assert "job 3 was lost by Ray: " in str(error)
    else:
        raise AssertionError("a job that always kills its worker had a result")
assert len(list((place / "killed").iterdir())) == 2
"""


@pytest.mark.slow
def test_tasks_survive_their_workers_and_stop_after_a_round(tmp_path):
    """In a process of its own: Ray starts threads, and warns."""
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "of this test"}
    environment = os.environ | {"PYTHONPATH": f"{TESTS}:{TESTS.parent / 'src'}"} | token
    environment.pop("RAY_ADDRESS", None)
    command = [sys.executable, "-c", WITH_RAY, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
