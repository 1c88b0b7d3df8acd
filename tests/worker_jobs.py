"""Jobs for tests of workers, at the top of a module, where other processes find them."""

import os
import signal
import time

from xnas.errors import RoundError
from xnas.process.interrupt import stop_at_round


class Unreadable(Exception):  # noqa: N818 - of no use as an error
    """Can be pickled, but not be read again."""

    def __init__(self, one, other):
        super().__init__(f"{one} {other}")


def square(number):
    return number * number


class Counted:
    """Leaves a mark wherever it is unpickled."""

    def __init__(self, marks):
        self.marks = marks

    def __setstate__(self, state):
        self.__dict__ = state
        (self.marks / f"read-{os.getpid()}-{time.monotonic_ns()}").touch()


def reader(shared):
    """The process that reads a shared value, and its folder."""
    return os.getpid(), shared.value().marks


def about_itself():
    names = ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")
    return os.getpid(), os.getpgrp(), [os.environ.get(name) for name in names]


def fail(kind):
    raise {"round": RoundError("the loss is nan"), "unreadable": Unreadable(1, 2)}[kind]


def die(marks, times):
    """End this process as often as `times` says, then give how often it was."""
    count = len(list(marks.iterdir()))
    if count < times:
        (marks / str(count)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return count


def play(place):
    """A run of endless rounds, which stops after a round and then leaves a mark."""
    with stop_at_round() as asked:
        (place / f"pid-{os.getpid()}").touch()
        while not asked():
            time.sleep(0.05)
    (place / f"stopped-{os.getpid()}").touch()
    raise KeyboardInterrupt


def wait_for(what, seconds=300):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)
