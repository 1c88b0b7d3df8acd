"""Text in messages: plurals, alternatives, shortened errors, and names that are safe to print."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

LONGEST_ERROR = 200


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 step`, `2 steps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def alternatives(names: Sequence[str]) -> str:
    """Names to choose from: `a`, `a or b`, `a, b or c`."""
    return _joined(names, " or ")


def listed(names: Sequence[str]) -> str:
    """All of some names: `a`, `a and b`, `a, b and c`."""
    return _joined(names, " and ")


def _joined(names: Sequence[str], last: str) -> str:
    return last.join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def short(error: BaseException, most: int = LONGEST_ERROR) -> str:
    """The message of an error in one line of about `most` characters, which may quote a file."""
    return cut(whole(error), most)


def whole(error: BaseException) -> str:
    """The message of an error in one line; the name of its type if it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def cut(text: str, most: int = LONGEST_ERROR) -> str:
    """Text of at most about `most` characters, cut between words unless a word takes half of them.

    >>> cut("the loss is infinite", 13)
    'the loss is...'
    """
    if len(text) <= most:
        return text
    words = text[: most + 1].rpartition(" ")[0].rstrip(" ,;:")
    return f"{words if len(words) > most / 2 else text[:most]}..."


def printable(text: object) -> str:
    r"""Text in one line, with every character that a terminal would obey or hide as its escape.

    Names of classes and files may hold such characters: a newline becomes `\n`, an escape `\x1b`, a
    byte that is no UTF-8 `\udcff`. Tables are aligned by what this returns.
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


def shell_word(text: object) -> str:
    r"""Text as a word of a shell command that can be printed and pasted.

    What a terminal would obey or hide is written as bash and zsh read it.

    >>> print(shell_word("my run"), shell_word("two\nlines"))
    'my run' $'two\nlines'
    """
    word = str(text)
    if word.isprintable():
        return quote(word)
    inner = word.replace("\\", r"\\").replace("'", r"\'")
    return f"$'{''.join(c if c.isprintable() else _bytes(c) for c in inner)}'"


def _bytes(character: str) -> str:
    if character == "\n":
        return r"\n"
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf8", "surrogateescape"))


def printable_lines(text: str) -> str:
    """As `printable`, for a text of several lines, which stay lines."""
    return "\n".join(map(printable, text.split("\n")))
