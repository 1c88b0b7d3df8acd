"""Numbers, errors and settings in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 step`, `2 steps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def short(error: Exception) -> str:
    """What an error says, or the beginning of it, in one line: it may quote the file."""
    words = " ".join(str(error).split())
    return f"{words[:200]}..." if len(words) > 200 else words or type(error).__name__


def flags(settings: Mapping[str, object]) -> str:
    """Settings as the command line takes them: `{"wipeout": False, "seed": 1}` is two flags."""
    words = []
    for name, value in settings.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words.append(f"--{flag} {quote(str(value))}")
    return " ".join(words)
