"""Check that records read from a file, which may hold anything, have their keys and their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, fields
from reprlib import repr as brief
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

NUMBERS = {int, float}


def require_keys(kind: type, saved: object, name: str = "") -> None:
    """Raise a TypeError unless an object of a file has the keys of a record, and no others.

    `name` is the key that holds the object, if another one does. Fields with defaults may be missing.
    """
    if not isinstance(saved, dict):
        raise TypeError(f"{name or 'a record'} is a {type(saved).__name__}, not an object")
    inside = f" in {name!r}" if name else ""
    known = {field.name: field for field in fields(kind)}
    for key, field in known.items():
        if key not in saved and field.default is MISSING and field.default_factory is MISSING:
            raise TypeError(f"the key {key!r} is missing{inside}")
    strange = next((key for key in saved if key not in known), None)
    if strange is not None:
        raise TypeError(f"the key {brief(strange)} is unknown{inside}")


def require_numbers(record: Any) -> None:  # noqa: ANN401 - a dataclass
    """Raise a TypeError unless the fields of a record that are declared as numbers hold numbers.

    Checked are fields of type `int` and `float`, such fields that may be None, and dictionaries whose
    values are numbers.
    """
    for name, kind in get_type_hints(type(record)).items():
        value = getattr(record, name)
        if get_origin(kind) is dict and get_args(kind)[1] in NUMBERS:
            if not isinstance(value, dict):
                raise TypeError(f"{name} is a {type(value).__name__}")
            _require(value.values(), name)
        kinds = set(get_args(kind)) if isinstance(kind, UnionType) else {kind}
        if kinds - {NoneType} <= NUMBERS and not (value is None and NoneType in kinds):
            _require([value], name)


def _require(values: Iterable[object], name: str) -> None:
    for value in values:
        if not isinstance(value, int | float):
            raise TypeError(f"{name} holds a {type(value).__name__}, not a number")
