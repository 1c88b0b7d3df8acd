"""One-line messages for commands that cannot be parsed: the fault, the value and what works."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from reprlib import repr as brief

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from xnas.options import kinds_in_words

NEAR = 0.7  # of two names, as difflib measures it; --precision is not near --pretrained


def usage_message(error: CycloptsError) -> str:
    """What is wrong with the command, in one line."""
    command = " ".join(("xnas", *(error.command_chain or ())))
    look = f"see {command} --help"
    if isinstance(error, UnusedCliTokensError):
        extra = ", ".join(map(repr, error.unused_tokens or ()))
        return f"nothing takes the argument {extra}; leave it out, or {look}"
    if isinstance(error, UnknownCommandError):
        given, known = (error.unused_tokens or [""])[0], _commands(error)
        near = _near(given, known)
        return f"{command} has no command {given!r}; {near}there are: {', '.join(known)}; {look}"
    if isinstance(error, UnknownOptionError):
        given = (error.token.keyword or error.token.value).partition("=")[0]
        known = [name for argument in error.argument_collection for name in argument.names]
        return f"{command} has no option {given}; {_near(given, known)}{look}"
    if isinstance(error, CoercionError) and error.token and error.target_type:
        wanted = kinds_in_words(error.target_type, unset=False)
        return f"{error.token.keyword} must be {wanted}, got {brief(error.token.value)}; {look}"
    if isinstance(error, MissingArgumentError) and error.argument:
        fault = _without_value(error) if error.keyword else f"needs {error.argument.name}"
        return f"{error.keyword or command} {fault}; {look}"
    fault = re.sub(r"[.]$", "", str(error))
    if isinstance(error, RepeatArgumentError):
        fault = f"{error.token.keyword} was given more than once; give it once"
    return f"{fault}; {look}"


def _without_value(error: MissingArgumentError) -> str:
    """What is missing; a word that begins with - is no value unless = joins it."""
    words = [*(error.root_input_tokens or ()), ""]
    following = words[words.index(error.keyword) + 1] if error.keyword in words else ""
    if re.match(r"-\S*\d", following) and not following.startswith("--"):
        return f"needs a value; {brief(following)} begins with -, so write {error.keyword}={following}"
    return "needs a value"


def _commands(error: CycloptsError) -> list[str]:
    return [name for name in error.app or () if not name.startswith("-")]


def _near(given: str, known: Iterable[str]) -> str:
    """A question with the one name that begins so, or the most similar one, if one is similar."""
    names, word = {name.lstrip("-"): name for name in known}, given.lstrip("-")
    begun = [name for name in names if name.startswith(word)]
    found = begun if len(begun) == 1 else get_close_matches(word, names, n=1, cutoff=NEAR)
    return f"did you mean {names[found[0]]}? " if found else ""
