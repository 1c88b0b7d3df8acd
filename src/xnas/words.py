"""Numbers and errors in sentences."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 step`, `2 steps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def short(error: Exception) -> str:
    """What an error says, or the beginning of it, in one line: it may quote the file."""
    words = " ".join(str(error).split())
    return f"{words[:200]}..." if len(words) > 200 else words or type(error).__name__
