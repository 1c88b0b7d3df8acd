"""Small JSON files that describe an architecture: read with care, written whole or not at all.

`noun` is what messages call the description: `genotype` or `wiring`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from reprlib import repr as brief
from typing import ClassVar, Self

from xnas.errors import GenotypeError, VersionError
from xnas.files import open_plain, whole_file

MOST_DIGITS = 9  # of a whole number; Python refuses to read integers of thousands of digits
MOST_BYTES = 1 << 20  # of a file; published cells have some 1,000


class DescriptionFile:
    """What can be written as JSON, and so to a file."""

    __slots__ = ()
    key: ClassVar[str]
    """What messages call it."""

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; anything else is a GenotypeError that names the fault."""
        raise NotImplementedError

    def to_json(self) -> str:
        """Return JSON text."""
        raise NotImplementedError

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a file that `save` wrote."""
        text = read_text(path, cls.key)
        try:
            return cls.from_json(text)
        except GenotypeError as error:
            raise type(error)(f"{path}: {error}") from error

    def save(self, path: Path | str) -> None:
        """Write the file whole or not at all; one of that name is replaced."""
        write_text(path, self.to_json(), self.key)


def read_text(path: Path | str, noun: str) -> str:
    """The text of a file that may be as large as a description."""
    try:
        with open_plain(path) as file:
            content = file.read(MOST_BYTES + 1)
        text = content.decode()
    except OSError as error:
        raise GenotypeError(
            f"cannot read the {noun} {path}: {error.strerror}; give a JSON file"
        ) from error
    except ValueError as error:  # bytes that are no text, or a path that is none
        raise GenotypeError(f"{path} is not a {noun}: {error}; give a JSON file") from error
    if len(content) > MOST_BYTES:
        raise GenotypeError(
            f"{path} is not a {noun}: it has more than {MOST_BYTES:,} bytes; give a JSON file"
        )
    return text


def write_text(path: Path | str, text: str, noun: str) -> None:
    """Write the file whole or not at all; one of that name is replaced."""
    try:
        with whole_file(Path(path)) as file:
            file.write(text.encode())
    except (OSError, ValueError) as error:  # a ValueError is a path that is none
        reason = getattr(error, "strerror", None) or error
        raise GenotypeError(
            f"cannot write the {noun} {path}: {reason}; choose a file in a folder that exists"
        ) from error


def parse_object(text: str, noun: str) -> dict[str, object]:
    """The JSON object of a text, each of whose keys stands there once."""
    try:
        value = json.loads(
            text,
            object_pairs_hook=partial(_unique_keys, noun=noun),
            parse_int=partial(_small_number, noun=noun),
        )
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        raise GenotypeError(
            f"the {noun} is not JSON ({error.msg}: {at}); it may be truncated or another file"
        ) from error
    except RecursionError:
        raise GenotypeError(f"the {noun} is nested too deeply to be one; give another file") from None
    if not isinstance(value, dict):
        raise GenotypeError(f"the {noun} is {brief(value)}; it must be a JSON object")
    return value


def require_header(
    value: Mapping[str, object], noun: str, *, form: str, version: int, again: str
) -> None:
    """Raise unless the object says that it is of this format and version.

    `again` is how to make a new one, for the message: `search again`.
    """
    if value.get("format") != form:
        given = brief(value["format"]) if "format" in value else "missing"
        raise GenotypeError(f"this is not a {noun}: its format is {given}, not {form!r}")
    found = value.get("version")
    if type(found) is not int or found != version:
        given = brief(found) if "version" in value else "missing"
        kind = VersionError if type(found) is int else GenotypeError
        raise kind(
            f"the version of the {noun} is {given}; this xnas reads version {version}: use the xnas "
            f"that wrote it, or {again}"
        )


def _unique_keys(pairs: list[tuple[str, object]], noun: str) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise GenotypeError(f"the {noun} has the key {brief(twice)} twice; remove one")
    return value


def _small_number(digits: str, noun: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise GenotypeError(f"the {noun} has the number {digits[:MOST_DIGITS]}...; that is too large")
    return int(digits)
