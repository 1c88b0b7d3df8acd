"""The worker that is this process: jobs one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from xnas.process.interrupt import Interrupted
from xnas.workers.protocol import Job, never, require_new, require_submitted


class ThisProcess:
    """Does a job when its result is asked for; a signal stops what the job is, as it does elsewhere."""

    def __init__(self) -> None:
        self.submitted: dict[int, Job] = {}

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
        """Forget the jobs that wait."""
        self.submitted.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
