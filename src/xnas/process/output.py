"""Standard output and standard error, which may be closed, full, or unable to show a character.

A command does its work in `guarded_streams`. There, output that fails is an OutputError, which is no
OSError: those are of files, and tell of them. What standard error does not take is lost, as nobody is
left to be told.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO, cast

from xnas.errors import XnasError
from xnas.files import remedies


class OutputError(XnasError):
    """Standard output does not take what is to be printed."""


class OutputClosedError(OutputError):
    """Whoever read standard output has gone, as with `| head`."""


def open_missing_streams() -> None:
    """Let streams that were closed (`>&-`) lead nowhere, before a file takes their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open(mode, encoding="utf8")  # noqa: SIM115 - open to the end
            setattr(sys, name, nowhere)


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Let output that fails end the block by an OutputError, and show `?` for what cannot be shown."""
    out, err = sys.stdout, sys.stderr
    if isinstance(out, TextIOWrapper) and (out.encoding.lower(), out.errors) != (
        "utf-8",
        "surrogateescape",  # which brings names of files that are no text to the terminal as they are
    ):
        out.reconfigure(errors="replace")
    guarded = cast("TextIO", _Guarded(out, _tell)), cast("TextIO", _Guarded(err, lambda _: None))
    with redirect_stdout(guarded[0]), redirect_stderr(guarded[1]):
        try:
            yield
        finally:
            with suppress(OutputError):  # what is left would fail when Python ends
                sys.stdout.flush()
            sys.stderr.flush()


@contextmanager
def told_if_mute(way: Callable[[], str]) -> Iterator[None]:
    """Let output that fails, or that nobody reads, tell what becomes of the work that it ends."""
    try:
        yield
    except OutputError as error:
        raise OutputError(f"{error}; {way()}") from error


class _Guarded:
    """A stream that hands the first failure on, and leads nowhere afterwards."""

    def __init__(self, stream: TextIO, failed: Callable[[OSError], None]) -> None:
        self.stream, self.failed = stream, failed

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write, as streams do."""
        try:
            return self.stream.write(text)
        except OSError as error:
            self._lead_nowhere()
            self.failed(error)
            return len(text)

    def flush(self) -> None:
        """Flush, as streams do."""
        try:
            self.stream.flush()
        except OSError as error:
            self._lead_nowhere()
            self.failed(error)

    def _lead_nowhere(self) -> None:
        with suppress(OSError):  # a stream in memory has no descriptor
            number = self.stream.fileno()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number)
            os.close(nowhere)


def _tell(error: OSError) -> None:
    if isinstance(error, BrokenPipeError):
        raise OutputClosedError("standard output was closed by its reader") from error
    remedy = ", or ".join((*remedies(error), "send it elsewhere"))
    raise OutputError(f"cannot write to standard output: {error.strerror or error}; {remedy}") from error
