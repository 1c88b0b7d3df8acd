"""Signals: Ctrl-C and SIGTERM stop a run after a round, with a checkpoint; other work stops at once.

A command calls `heed_signals` before it imports anything slow, does its work in `unwound_by_signals`,
and plays its rounds in `stop_at_round`. A long computation between two rounds is `stopped_at_once`.
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
"""Signals this close count as one: `timeout` sends two, torchrun forwards what a terminal sent."""
SOON_SECONDS = 0.05


class Interrupted(KeyboardInterrupt):
    """A run was stopped by its user; the message says how to resume it."""


class _Unwound(KeyboardInterrupt):
    """Raised by a signal.

    After a plain KeyboardInterrupt that passed through `exec`, as in an import, Python ends itself by
    SIGINT, whatever exit status was asked for.
    """


def heed_signals() -> None:
    """Make signals end this process at once, with a line and status 130, until a block below runs."""
    for number in STOPPING:
        signal.signal(number, _end_at_once)


@contextmanager
def unwound_by_signals() -> Iterator[None]:
    """Make signals raise KeyboardInterrupt in the block, so that its cleanup runs.

    Signals with a handler of another program are left alone. After the block the handlers are those of
    before. In a process that began with `heed_signals`, signals are ignored once its work is done or
    was stopped.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    another, came = _one_of_many(), False

    def unwind(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if number != signal.SIGALRM and not another():
            return
        if _in_an_import(frame):  # try again soon
            signal.setitimer(signal.ITIMER_REAL, SOON_SECONDS)
            return
        came = True
        raise _Unwound

    replaceable = (signal.SIG_DFL, signal.default_int_handler, _end_at_once)
    before = {number: signal.getsignal(number) for number in (*STOPPING, signal.SIGALRM)}
    before = {number: handler for number, handler in before.items() if handler in replaceable}
    done = signal.SIG_IGN
    try:
        for number in before:
            signal.signal(number, unwind)
        yield
    except Exception as error:
        if came:  # an import of compiled code turns any exception into an ImportError
            raise _Unwound from error
        done = signal.SIG_DFL  # the process may have to wait for others before it exits
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, done if handler is _end_at_once else handler)


@contextmanager
def stop_at_round() -> Iterator[Callable[[], bool]]:
    """A function to call after each round: True once Ctrl-C (or SIGTERM) came. A second one raises."""
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


@contextmanager
def stopped_at_once() -> Iterator[None]:
    """Make Ctrl-C (or SIGTERM) raise Interrupted in the block, of whose work nothing has to be kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOPPING}

    def stop(number: int, frame: FrameType | None) -> None:
        around = before[signal.Signals(number)]
        if not _in_an_import(frame):
            raise Interrupted("stopped at once")
        if callable(around):  # a round will ask for it
            around(number, frame)

    try:
        for number in STOPPING:
            signal.signal(number, stop)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def finish() -> None:
    """Ignore signals until the end of `unwound_by_signals`, because the run is over."""
    if threading.current_thread() is threading.main_thread():
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)


def _one_of_many() -> Callable[[], bool]:
    """A function to call at every signal: whether it counts apart from the one before."""
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
    """Whether a module is being imported, where Python's callbacks would lose an exception."""
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


def _end_at_once(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's signature
    if os.environ.get("RANK", "0") == "0":  # only the first of several processes prints
        with suppress(OSError):  # standard error may be closed
            os.write(2, b"xnas: stopped before anything was begun\n")
    os._exit(130)  # an exception could be lost during an import
