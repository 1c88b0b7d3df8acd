"""The worker that is this process: jobs one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from xnas.process.interrupt import Interrupted
from xnas.workers.protocol import Job, Shared, hold, let_go, never, require_new, require_submitted

T = TypeVar("T")


class ThisProcess:
    """Does a job when its result is asked for; a signal stops what the job is, as it does elsewhere."""

    def __init__(self) -> None:
        self.submitted: dict[int, Job] = {}
        self.shared: list[int] = []

    def share(self, value: T) -> Shared[T]:
        """Keep a value for the jobs that use it."""
        shared = Shared[T].new()
        hold(shared.number, value)
        self.shared.append(shared.number)
        return shared

    def submit(self, number: int, job: Job) -> None:
        """Take a job."""
        require_new(number, self.submitted)
        self.submitted[number] = job

    def first(self, *, stopped: Callable[[], bool] = never) -> int:
        """Return the number of the job that has waited longest."""
        require_submitted(None, self.submitted)
        if stopped():
            raise Interrupted("the jobs are stopped")
        return next(iter(self.submitted))

    def result(self, number: int, *, stopped: Callable[[], bool] = never) -> Any:  # noqa: ANN401
        """Do a job, return its result and forget it."""
        require_submitted(number, self.submitted)
        if stopped():
            raise Interrupted("the jobs are stopped")
        return self.submitted.pop(number)()

    def close(self) -> None:
        """Forget the jobs that wait, and what was shared."""
        self.submitted.clear()
        while self.shared:
            let_go(self.shared.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
