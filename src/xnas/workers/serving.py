"""What a worker does: jobs that come through a pipe, one after another, until the pipe is closed."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import traceback
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait

from xnas.errors import ConfigError
from xnas.words import short

STOPPED = 130
"""Exit status of a worker whose job was stopped by a signal."""


def serve(pipe: Connection) -> None:
    """Do jobs until the pipe is closed.

    A signal from the terminal reaches the program alone, which then stops its workers by SIGTERM. A
    program that is killed takes them along: they get the same SIGTERM, and runs write a checkpoint.
    """
    os.setpgrp()
    threading.Thread(target=_end_with_the_program, daemon=True).start()
    while True:
        try:
            job = pipe.recv_bytes()
        except EOFError:
            return
        try:
            outcome = done(job)
        except KeyboardInterrupt:  # the job can be done again, here or elsewhere
            os._exit(STOPPED)
        try:
            pipe.send_bytes(outcome)
        except OSError:
            return


def done(job: bytes) -> bytes:
    """Do a pickled job; returns the pickled pair of whether it succeeded, and its result or error."""
    try:
        outcome = True, pickle.loads(job)()  # noqa: S301 - from the program that started this worker
    except Exception as error:  # noqa: BLE001 - the program raises it
        error.add_note(f"in a worker:\n{traceback.format_exc()}")
        outcome = False, error
    return _pickled(outcome)


def _pickled(outcome: tuple[bool, object]) -> bytes:
    try:
        data = pickle.dumps(outcome)
        pickle.loads(data)  # noqa: S301 - an error may be pickled, and then not be read
    except Exception as error:  # noqa: BLE001 - whatever the object's own methods raise
        told = ConfigError(
            f"the {type(outcome[1]).__name__} that a job gave cannot be sent back: {short(error, 150)}; "
            "give plain values"
        )
        return pickle.dumps((False, told))
    return data


def _end_with_the_program() -> None:
    program = parent_process()
    if program is not None:
        wait([program.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
