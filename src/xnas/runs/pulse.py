"""A line at least every half minute, so that a log shows that a run is alive.

A run without a terminal (a pipe, a job scheduler, a notebook) prints a line per epoch, and an epoch may
last an hour. A `Pulse` fills such gaps from a thread of its own, as one round may also take minutes.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from weakref import WeakSet

SECONDS = 25.0
"""Of silence, after which a line is printed: below half a minute, as printing may have to wait."""


class Pulse:
    """Between `start` and `stop`, calls `say(line())` if `beat` was not called for some seconds."""

    def __init__(
        self, line: Callable[[], str], say: Callable[[str], None], *, seconds: float = SECONDS
    ) -> None:
        self.line, self.say, self.seconds = line, say, seconds
        self.last = time.monotonic()
        self.ended = threading.Event()
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch for silence."""
        if self.thread is not None:
            return
        self.ended.clear()
        self.thread = threading.Thread(target=self._run, name="xnas-pulse", daemon=True)
        self.thread.start()
        _running.add(self)

    def stop(self) -> None:
        """End the thread."""
        thread, self.thread = self.thread, None
        _running.discard(self)
        if thread is not None and thread is not threading.current_thread():
            self.ended.set()
            thread.join()

    def beat(self) -> None:
        """Something was printed."""
        self.last = time.monotonic()

    def _run(self) -> None:
        while not self.ended.wait(max(0.0, self.last + self.seconds - time.monotonic())):
            if time.monotonic() - self.last < self.seconds:
                continue
            self.beat()
            with suppress(Exception):  # a closed pipe is reported by the run's own next line
                self.say(self.line())


_running: WeakSet[Pulse] = WeakSet()
_forking: list[Pulse] = []


def _before_fork() -> None:
    """End the threads, which a forked process would not have, while what they lock stays locked."""
    _forking[:] = list(_running)
    for pulse in _forking:
        pulse.stop()


def _after_fork() -> None:
    for pulse in _forking:
        pulse.start()
    _forking.clear()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_forking.clear)
