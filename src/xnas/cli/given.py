"""Which settings a command was given: one that was asked for may equal what it is by default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from typing import Any

_words: ContextVar[Sequence[str]] = ContextVar("words", default=())


@contextmanager
def command(words: Sequence[str]) -> Iterator[None]:
    """Within the block, these are the words of the command line."""
    token = _words.set(words)
    try:
        yield
    finally:
        _words.reset(token)


def given_anew(options: Any) -> dict[str, Any]:  # noqa: ANN401 - a dataclass of settings
    """The settings that were given, by name, how much is printed aside."""
    flags = {word.partition("=")[0].replace("_", "-") for word in _words.get()}
    names = [field.name for field in fields(options) if field.name != "quiet"]
    return {name: getattr(options, name) for name in names if flags & _spellings(name)}


def _spellings(name: str) -> set[str]:
    flag = name.replace("_", "-")
    return {f"--{flag}", f"--no-{flag}"}
