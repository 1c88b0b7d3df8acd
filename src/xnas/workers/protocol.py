"""What every kind of workers can do."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Generic, Protocol, Self, TypeVar

from xnas.errors import ConfigError
from xnas.words import short

Job = Callable[[], Any]
"""Anything that can be pickled and called, with a result that can be pickled."""


POLL = 0.1
"""Seconds between two questions whether to stop waiting."""

T = TypeVar("T")
_numbers = count()
_held: dict[int, Any] = {}
"""What this process holds of the values that a program shares with its workers."""


@dataclass(frozen=True, slots=True)
class Shared(Generic[T]):
    """A value of `Workers.share`, for the jobs that use it: they carry its number alone."""

    number: int

    def value(self) -> T:
        """Return the value; in a worker, or in the program that shares with itself."""
        found: T = _held[self.number]
        return found

    @classmethod
    def new(cls) -> Shared[T]:
        """A number that no other value of this program has."""
        return cls(next(_numbers))


def hold(number: int, value: object) -> None:
    """Make a value known to the jobs of this process."""
    _held[number] = value


def let_go(number: int) -> None:
    """Forget a value."""
    _held.pop(number, None)


def holds(number: int) -> bool:
    """Whether this process has a value already."""
    return number in _held


def shared_job(number: int, value: object) -> bytes:
    """The pickled job that makes a value known to a worker."""
    return pickled(partial(hold, number, value))


def never() -> bool:
    """Return False."""
    return False


class Workers(Protocol):
    """Do jobs in other processes, several at a time."""

    def share(self, value: T) -> Shared[T]:
        """Send a value to each worker once, for all jobs that come later; they call `Shared.value`."""

    def submit(self, number: int, job: Job) -> None:
        """Hand a job over, under a number of the caller's choice; it is begun when a worker is free."""

    def first(self, *, stopped: Callable[[], bool] = never) -> int:
        """Wait until a job has ended, and return its number; of several the one submitted first.

        Raises Interrupted once `stopped` is true.
        """

    def result(self, number: int, *, stopped: Callable[[], bool] = never) -> Any:  # noqa: ANN401
        """Wait for a job, return its result and forget it.

        Raises what the job raised, and Interrupted once `stopped` is true. A job whose worker died is
        done again. A WorkerError says that one ended its workers again and again.
        """

    def close(self) -> None:
        """Stop what is being done: runs end after a step, with a checkpoint. Waits for that."""

    def __enter__(self) -> Self:
        """Return itself."""

    def __exit__(self, *_: object) -> None:
        """Close."""


def require_submitted(number: int | None, submitted: dict[int, Any]) -> None:
    """Raise unless the job was submitted; None: any job."""
    if not submitted or (number is not None and number not in submitted):
        asked = "any job" if number is None else f"job {number}"
        raise ConfigError(f"the workers were asked for {asked} without having it; submit it first")


def pickled(job: Job) -> bytes:
    """Pickle a job; raises if it, or something that it holds, cannot be sent to another process."""
    try:
        return pickle.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigError(
            f"a job cannot be sent to a worker: {short(error, 150)}; use functions and classes at the "
            "top of a module"
        ) from error


def require_new(number: int, submitted: dict[int, Any]) -> None:
    """Raise if a job of this number is being done."""
    if number in submitted:
        raise ConfigError(
            f"job {number} was submitted already; give each a number of its own until its result is read"
        )
