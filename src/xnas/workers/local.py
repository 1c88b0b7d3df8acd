"""Workers that are processes of this machine."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue
from typing import Any, Self, TypeVar

from xnas.errors import ConfigError, WorkerError
from xnas.process.gpu_sharing import share_gpu
from xnas.process.interrupt import Interrupted
from xnas.words import counted
from xnas.workers.protocol import (
    POLL,
    Job,
    Shared,
    never,
    pickled,
    require_new,
    require_submitted,
    shared_job,
)
from xnas.workers.serving import serve

DEATHS = 3
"""Workers that one job may end; more would be its own fault."""
SPAWN = multiprocessing.get_context("spawn")  # a fork would share threads, and a GPU
_environment = threading.Lock()
T = TypeVar("T")


class LocalProcesses:
    """Up to `at_once` processes, started when there is work; a thread looks after each.

    A worker that dies is started again, and does the same job again. After three deaths the job fails
    with a WorkerError. As with every use of `multiprocessing`, a script that starts workers does so
    under `if __name__ == "__main__":`.
    """

    def __init__(self, at_once: int, *, gpus: Sequence[str] = (), fresh: bool = False) -> None:
        """`gpus` are shared out evenly, by their names in `CUDA_VISIBLE_DEVICES`.

        `fresh` gives every job a new process, so that nothing of one job is left on a GPU for the next.
        """
        if at_once < 1:
            raise ConfigError(f"at least 1 worker is needed, got {at_once}")
        if gpus and at_once > len(gpus):
            share_gpu()
        self.fresh, self.closing = fresh, False
        self.shared: list[bytes] = []
        """Jobs that every worker does before all others."""
        self.seats = [_Seat(environment(n, at_once, gpus), self.shared) for n in range(at_once)]
        self.free: SimpleQueue[_Seat] = SimpleQueue()
        for seat in self.seats:
            self.free.put(seat)
        self.threads = ThreadPoolExecutor(at_once, thread_name_prefix="worker")
        self.submitted: dict[int, Future[Any]] = {}
        atexit.register(self.close)  # before multiprocessing waits for workers, which wait for jobs

    def share(self, value: T) -> Shared[T]:
        """Pickle a value once, and send it to each worker once."""
        shared = Shared[T].new()
        self.shared.append(shared_job(shared.number, value))
        return shared

    def submit(self, number: int, job: Job) -> None:
        """Hand a job over."""
        require_new(number, self.submitted)
        self.submitted[number] = self.threads.submit(self._mind, number, pickled(job))

    def first(self, *, stopped: Callable[[], bool] = never) -> int:
        """Wait until a job has ended, and return its number."""
        require_submitted(None, self.submitted)
        return self._wait(self.submitted, stopped)

    def result(self, number: int, *, stopped: Callable[[], bool] = never) -> Any:  # noqa: ANN401
        """Wait for a job, and return its result."""
        require_submitted(number, self.submitted)
        self._wait({number: self.submitted[number]}, stopped)
        succeeded, value = self.submitted.pop(number).result()
        if not succeeded:
            raise value
        return value

    def _wait(self, wanted: Mapping[int, Future[Any]], stopped: Callable[[], bool]) -> int:
        while not wait(wanted.values(), timeout=POLL, return_when=FIRST_COMPLETED).done:
            if stopped():
                raise Interrupted("the jobs are stopped")
        return next(number for number, future in wanted.items() if future.done())

    def close(self) -> None:
        """Stop all workers by SIGTERM, and wait for them; a second Ctrl-C kills them."""
        self.closing = True
        atexit.unregister(self.close)
        try:
            for seat in self.seats:
                seat.stop()
            self.threads.shutdown(cancel_futures=True)
        except BaseException:
            for seat in self.seats:
                seat.kill()
            raise
        for seat in self.seats:
            seat.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _mind(self, number: int, job: bytes) -> tuple[bool, Any]:
        """Have a job done, by several workers if need be; gives whether it succeeded, and its result."""
        seat = self.free.get()
        try:
            for _ in range(DEATHS):
                if self.closing:
                    break
                try:
                    return seat.do(job)
                except (EOFError, OSError):  # the worker is gone
                    status = seat.end()
            if self.closing:
                raise Interrupted(f"job {number} was stopped")
            return False, WorkerError(
                f"job {number} ended {counted(DEATHS, 'worker')}, the last by {cause(status)}"
            )
        finally:
            if self.fresh or self.closing:
                seat.end()
            self.free.put(seat)


class _Seat:
    """A place for one worker at a time."""

    def __init__(self, variables: Mapping[str, str], shared: Sequence[bytes]) -> None:
        self.variables, self.shared, self.stopping = variables, shared, False
        self.worker: tuple[SpawnProcess, Connection] | None = None
        self.known = 0
        """How many of the shared values the worker has."""

    def do(self, job: bytes) -> tuple[bool, Any]:
        """Send a job to the worker, which is started if there is none, and wait for the outcome."""
        if self.worker is None:
            self.worker, self.known = self._start(), 0
            if self.stopping:  # since before there was a worker
                self._signal(signal.SIGTERM)
        _, pipe = self.worker
        while self.known < len(self.shared):
            outcome = _outcome(pipe, self.shared[self.known])
            if not outcome[0]:
                return outcome
            self.known += 1
        return _outcome(pipe, job)

    def _start(self) -> tuple[SpawnProcess, Connection]:
        ours, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=serve, args=(theirs,))
        with _environment:  # a worker takes over the environment that its program has at this moment
            before = dict(os.environ)
            os.environ.update(self.variables)
            try:
                process.start()
            finally:
                for name in self.variables:
                    del os.environ[name]
                os.environ.update(before)
        theirs.close()  # so that the end of the worker is the end of the pipe
        return process, ours

    def stop(self) -> None:
        """Ask the worker, and one that is just being started, to stop."""
        self.stopping = True
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the worker immediately."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        worker = self.worker
        if worker is not None and worker[0].pid is not None and worker[0].exitcode is None:
            with suppress(ProcessLookupError):
                os.kill(worker[0].pid, number)

    def end(self) -> int | None:
        """Let the worker end, wait for that, and return its exit status."""
        if self.worker is None:
            return None
        process, pipe = self.worker
        self.worker = None
        pipe.close()
        process.join()
        return process.exitcode


def _outcome(pipe: Connection, job: bytes) -> tuple[bool, Any]:
    pipe.send_bytes(job)
    found: tuple[bool, Any] = pickle.loads(pipe.recv_bytes())  # noqa: S301 - from our own worker
    return found


def environment(number: int, at_once: int, gpus: Sequence[str]) -> dict[str, str]:
    """Variables of the worker of this number: its share of the cores, unless it is set, and its GPU."""
    cores = max(1, len(os.sched_getaffinity(0)) // at_once)
    found = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(cores))}
    if gpus:
        found["CUDA_VISIBLE_DEVICES"] = gpus[number % len(gpus)]
    return found


def cause(status: int | None) -> str:
    """What ended a worker, by its exit status."""
    if status is None or status >= 0:
        return f"exit status {status}"
    hint = ", as when memory runs out" if -status == signal.SIGKILL else ""
    return f"{signal.Signals(-status).name}{hint}"
