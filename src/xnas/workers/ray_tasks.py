"""Workers that are tasks of a Ray cluster: this machine's cores and GPUs, or those of many machines.

`RAY_ADDRESS` names the cluster; without it a cluster that runs on this machine is joined, and otherwise
one is started here, which listens on the loopback interface alone. Ray starts a task again if its worker
or its machine is lost, up to `RETRIES` times.
"""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Self, TypeVar

from xnas.errors import ConfigError, WorkerError
from xnas.process.interrupt import Interrupted
from xnas.words import short
from xnas.workers.protocol import (
    POLL,
    Job,
    Shared,
    holds,
    never,
    pickled,
    require_new,
    require_submitted,
    shared_job,
)
from xnas.workers.serving import STOPPED, done

T = TypeVar("T")

RETRIES = 10
"""Times that a job is begun again. Machines that are taken away count, so it is more than elsewhere."""
PATIENCE = 10.0
"""Seconds to wait for a cluster's first machine to answer."""
STOP_SECONDS = 120.0
"""How long `close` waits for runs to stop after a step; their last checkpoint counts otherwise."""
BEFORE_IMPORT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # a cluster of one machine then binds to loopback
}


class RayTasks:
    """Up to `at_once` tasks of Ray, each with one core and, if wanted, its share of the GPUs."""

    def __init__(self, at_once: int, *, on_gpus: bool = False) -> None:
        """With `on_gpus` the cluster's GPUs are shared out evenly, four jobs to each if need be."""
        self.ray = ray_module()
        self.ours = not self.ray.is_initialized()
        if self.ours:
            join_cluster(self.ray)
        there = self.ray.cluster_resources().get("GPU", 0) if on_gpus else 0
        gpus = gpu_share(there, at_once)
        self.task = self.ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(do)
        self.submitted: dict[int, Any] = {}
        self.shared: dict[int, Any] = {}
        """References to the values that jobs use, by number."""

    def share(self, value: T) -> Shared[T]:
        """Put a value into the cluster's store, from which each machine fetches it once."""
        shared = Shared[T].new()
        self.shared[shared.number] = self.ray.put(shared_job(shared.number, value))
        return shared

    def submit(self, number: int, job: Job) -> None:
        """Hand a job over."""
        require_new(number, self.submitted)
        self.submitted[number] = self.task.remote(pickled(job), list(self.shared), *self.shared.values())

    def first(self, *, stopped: Callable[[], bool] = never) -> int:
        """Wait until a job has ended, and return its number."""
        require_submitted(None, self.submitted)
        return self._wait(self.submitted, stopped)

    def result(self, number: int, *, stopped: Callable[[], bool] = never) -> Any:  # noqa: ANN401
        """Wait for a job, and return its result."""
        require_submitted(number, self.submitted)
        self._wait({number: self.submitted[number]}, stopped)
        try:
            succeeded, value = pickle.loads(self.ray.get(self.submitted.pop(number)))  # noqa: S301 - ours
        except self.ray.exceptions.RayError as error:
            raise WorkerError(f"job {number} was lost by Ray: {short(error, 150)}") from error
        if not succeeded:
            raise value
        return value

    def _wait(self, wanted: Mapping[int, Any], stopped: Callable[[], bool]) -> int:
        while not (ready := self.ray.wait(list(wanted.values()), timeout=POLL)[0]):
            if stopped():
                raise Interrupted("the jobs are stopped")
        return next(number for number, task in wanted.items() if task in ready)

    def close(self) -> None:
        """Cancel what is being done, which stops runs after a step, and leave the cluster."""
        tasks = list(self.submitted.values())
        self.submitted.clear()
        try:
            for task in tasks:
                self.ray.cancel(task)
            if tasks:
                self.ray.wait(tasks, num_returns=len(tasks), timeout=STOP_SECONDS)
        finally:
            self.shared.clear()
            if self.ours:
                self.ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def do(job: bytes, numbers: Sequence[int] = (), *shared: bytes) -> bytes:
    """Do a pickled job in a worker of Ray; gives the pickled outcome of `serving.done`.

    `shared` are the jobs that make shared values known, with their numbers. A worker does each once.
    `cancel` is a KeyboardInterrupt here. After any other signal, as of a machine that is taken away,
    the worker ends without a result, so that Ray starts the task again elsewhere.
    """
    try:
        for number, value in zip(numbers, shared, strict=True):
            if not holds(number) and not pickle.loads(outcome := done(value))[0]:  # noqa: S301 - ours
                return outcome
        return done(job)
    except KeyboardInterrupt:
        if not ray_module().get_runtime_context().is_canceled():
            os._exit(STOPPED)
        return b""


def gpu_share(gpus: float, at_once: int) -> float:
    """The part of a GPU that each of `at_once` tasks gets, in the ten-thousandths that Ray counts."""
    return min(1.0, int(1e4 * gpus / at_once) / 1e4)


def ray_module() -> ModuleType:
    """Ray, imported when it is first needed; raises if it is not installed."""
    for name, value in BEFORE_IMPORT.items():
        os.environ.setdefault(name, value)
    try:
        import ray  # noqa: PLC0415 - an optional extra, slow to import
    except ImportError as error:
        raise ConfigError("Ray is not installed; install it with: pip install 'xnas[ray]'") from error
    return ray


def join_cluster(ray: ModuleType) -> None:
    """Connect to the cluster of RAY_ADDRESS, or to one of this machine, which is started if need be."""
    given = os.environ.get("RAY_ADDRESS")
    options = {"log_to_driver": False, "logging_level": "ERROR"}
    if given is not None:
        _require_reachable(given)
    try:
        ray.init(address=given or "auto", **options)
    except (OSError, RuntimeError) as error:
        if given is not None:
            raise _unreachable(given, error) from error
        ray.init(address="local", include_dashboard=False, **options)


def _require_reachable(address: str) -> None:
    """Raise if no process listens at HOST:PORT; Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    except OSError as error:
        raise _unreachable(address, error) from error


def _unreachable(address: str, error: BaseException) -> ConfigError:
    return ConfigError(
        f"the Ray cluster at {address} cannot be reached ({short(error, 150)}); start it with: ray "
        "start --head, correct RAY_ADDRESS, or unset it to use this machine alone"
    )
