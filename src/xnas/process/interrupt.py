"""Signals: Ctrl-C and SIGTERM end a run between two rounds, with a checkpoint, and all else at once.

A command begins with `heed_signals`, before it imports anything that takes time, does its work in
`unwound_by_signals`, and plays its rounds in `stop_at_round`.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM)
SAME_SECONDS = 1.0
"""Signals that follow so soon are one: `timeout` sends two, torchrun passes on what a terminal sent."""
SOON_SECONDS = 0.05


class Interrupted(KeyboardInterrupt):
    """A run was stopped by its user, who can go on as the message says."""


class _Unwound(KeyboardInterrupt):
    """What a signal raises.

    After a plain KeyboardInterrupt that passed through `exec`, as one in an import may, Python ends
    itself by SIGINT, whatever status was asked for.
    """


def heed_signals() -> None:
    """Let signals end this process at once, with a line and status 130, until a block below has them."""
    for number in STOPPING:
        signal.signal(number, _end_at_once)


@contextmanager
def unwound_by_signals() -> Iterator[None]:
    """Let signals end the block by KeyboardInterrupt, so that what it made is removed.

    Signals that somebody else sees to are left to him. After the block they mean what they meant before;
    to a process that began with `heed_signals`, and has done its work or was told to stop, nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    another, came = _one_of_many(), False

    def unwind(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if number != signal.SIGALRM and not another():
            return
        if _in_an_import(frame):  # again soon
            signal.setitimer(signal.ITIMER_REAL, SOON_SECONDS)
            return
        came = True
        raise _Unwound

    nobodys = (signal.SIG_DFL, signal.default_int_handler, _end_at_once)
    before = {number: signal.getsignal(number) for number in (*STOPPING, signal.SIGALRM)}
    before = {number: handler for number, handler in before.items() if handler in nobodys}
    done = signal.SIG_IGN
    try:
        for number in before:
            signal.signal(number, unwind)
        yield
    except Exception as error:
        if came:  # an import of compiled code makes an ImportError of whatever is raised in it
            raise _Unwound from error
        done = signal.SIG_DFL  # its end may have to wait for other processes
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, done if handler is _end_at_once else handler)


@contextmanager
def stop_at_round() -> Iterator[Callable[[], bool]]:
    """Ask the value after each round: True once Ctrl-C (or SIGTERM) came. Another one ends at once."""
    asked = False
    another = _one_of_many()

    def note(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's signature
        nonlocal asked
        if not another():
            return
        if asked:
            raise _Unwound
        asked = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False  # signals belong to the main thread
        return
    before = {number: signal.signal(number, note) for number in STOPPING}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def finish() -> None:
    """Let signals change nothing until the end of `unwound_by_signals`: the run is over."""
    if threading.current_thread() is threading.main_thread():
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)


def _one_of_many() -> Callable[[], bool]:
    """Asked at every signal: whether it is another one than that before it."""
    last = float("-inf")

    def another() -> bool:
        nonlocal last
        now = time.monotonic()
        if now - last <= SAME_SECONDS:
            return False
        last = now
        return True

    return another


def _in_an_import(frame: FrameType | None) -> bool:
    """Whether a module is being imported: Python's own callbacks there would lose an exception."""
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


def _end_at_once(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's signature
    if os.environ.get("RANK", "0") == "0":  # of several processes the first speaks
        with suppress(OSError):  # nobody may be there to read it
            os.write(2, b"xnas: stopped before anything was begun\n")
    os._exit(130)  # an exception could be lost in what is being imported
