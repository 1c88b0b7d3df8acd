"""Standard output and standard error, which may be closed, full, or unable to show a character.

A command does its work in `guarded_streams`. There, output that fails raises an OutputError. It is no
OSError, because those are reported as failures of a file. What standard error does not take is lost.
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
    """Standard output did not take what was printed."""


class OutputClosedError(OutputError):
    """The reader of standard output has closed it, as `| head` does."""


def open_missing_streams() -> None:
    """Open streams that were closed (`>&-`) to the null device, before a file takes their number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = Path(os.devnull).open(mode, encoding="utf8")  # noqa: SIM115 - open to the end
            setattr(sys, name, null)


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Raise an OutputError when output fails, and print `?` for characters that cannot be encoded."""
    out, err = sys.stdout, sys.stderr
    if isinstance(out, TextIOWrapper) and (out.encoding.lower(), out.errors) != (
        "utf-8",
        "surrogateescape",  # which brings names of files that are no text to the terminal as they are
    ):
        out.reconfigure(errors="replace")
    guarded = cast("TextIO", _Guarded(out, _fail)), cast("TextIO", _Guarded(err, lambda _: None))
    with redirect_stdout(guarded[0]), redirect_stderr(guarded[1]):
        try:
            yield
        finally:
            with suppress(OutputError):  # the rest would fail when Python exits
                sys.stdout.flush()
            sys.stderr.flush()


@contextmanager
def explain_lost_output(outcome: Callable[[], str]) -> Iterator[None]:
    """Add to an OutputError what became of the work that it ended."""
    try:
        yield
    except OutputError as error:
        raise OutputError(f"{error}; {outcome()}") from error


class _Guarded:
    """A stream that reports its first failure and discards everything after it."""

    def __init__(self, stream: TextIO, failed: Callable[[OSError], None]) -> None:
        self.stream, self.failed = stream, failed

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write, as streams do."""
        try:
            return self.stream.write(text)
        except OSError as error:
            self._discard_rest()
            self.failed(error)
            return len(text)

    def flush(self) -> None:
        """Flush, as streams do."""
        try:
            self.stream.flush()
        except OSError as error:
            self._discard_rest()
            self.failed(error)

    def _discard_rest(self) -> None:
        with suppress(OSError):  # a stream in memory has no descriptor
            number = self.stream.fileno()
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, number)
            os.close(null)


def _fail(error: OSError) -> None:
    if isinstance(error, BrokenPipeError):
        raise OutputClosedError("standard output was closed by its reader") from error
    remedy = ", or ".join((*remedies(error), "send it elsewhere"))
    raise OutputError(f"cannot write to standard output: {error.strerror or error}; {remedy}") from error
