"""Signals: Ctrl-C ends a run between two rounds, with a checkpoint; SIGTERM lets others clean up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """A run was stopped by its user, who can go on as the message says."""


@contextmanager
def stop_at_round() -> Iterator[Callable[[], bool]]:
    """Ask the value after each round: True once Ctrl-C (or SIGTERM) came. A second one ends at once."""
    asked = False

    def note(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's signature
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False  # signals belong to the main thread
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def unwound_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, by an exception, so that what it made is removed."""

    def unwind(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's signature
        raise KeyboardInterrupt

    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield  # somebody else sees to it
        return
    signal.signal(signal.SIGTERM, unwind)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
