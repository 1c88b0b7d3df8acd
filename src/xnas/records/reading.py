"""Records from files, which may hold anything: every key and every value has to fit its declaration.

What does not fit is a TypeError that names it, so that whoever reads the file can call it damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from reprlib import repr as brief
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

LARGEST = 1e100
"""Of numbers: sums and squares of such are still finite."""
LARGEST_WHOLE = 10**15
"""Of whole numbers, which count something."""
PLAIN: dict[type, set[type]] = {int: {int}, float: {int, float}}
"""Types of numbers in files that a field of a kind of number takes."""
Record = TypeVar("Record")


def record_of(kind: type[Record], saved: object, name: str = "") -> Record:
    """The record of a dataclass in an object of a file; a TypeError names what does not fit.

    `name` is the key that holds the object, if another one does.

    >>> from xnas.records import Gap
    >>> record_of(Gap, {"mixture": 0.5, "experts": 0.25, "cell": None})
    Gap(mixture=0.5, experts=0.25, cell=None)
    >>> record_of(Gap, {"mixture": "high", "experts": 0.25, "cell": None})
    Traceback (most recent call last):
    TypeError: mixture holds a str, not a number
    """
    found = require_keys(kind, saved, name)
    hints = _hints(kind)  # type: ignore[arg-type]  # a class can be hashed
    return kind(**{key: value_of(hints[key], value, key) for key, value in found.items()})


def value_of(kind: Any, value: object, name: str) -> Any:  # noqa: ANN401 - of any kind
    """A value of a file as what a field `name` of this kind holds; a TypeError if it does not fit."""
    return READERS.get(get_origin(kind) or kind, record_of)(kind, value, name)


def require_keys(kind: type, saved: object, name: str = "") -> Mapping[str, Any]:
    """An object of a file; a TypeError unless it has the keys of a record, and no others.

    `name` is the key that holds the object, if another one does. Fields with defaults may be missing.
    """
    if not isinstance(saved, dict):
        raise TypeError(f"{name or 'a record'} is a {_noun(saved)}, not an object")
    inside = f" in {name!r}" if name else ""
    known = {field.name: field for field in fields(kind)}
    for key, field in known.items():
        if key not in saved and field.default is MISSING and field.default_factory is MISSING:
            raise TypeError(f"the key {key!r} is missing{inside}")
    strange = next((key for key in saved if key not in known), None)
    if strange is not None:
        raise TypeError(f"the key {brief(strange)} is unknown{inside}")
    return saved


def require_equal_lengths(**columns: tuple[object, ...]) -> None:
    """Raise a TypeError unless all of them have the length of the first."""
    (first, wanted), *others = columns.items()
    for name, column in others:
        if len(column) != len(wanted):
            raise TypeError(f"{name} has {len(column)} entries, and {first} has {len(wanted)}")


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _one_of(kind: Any, value: object, name: str) -> Any:  # noqa: ANN401
    """None if it may be; of several kinds of records the one that has most of the keys."""
    if value is None and NoneType in get_args(kind):
        return None
    keys = set(value) if isinstance(value, dict) else set()
    kinds = [part for part in get_args(kind) if part is not NoneType]
    likeliest = max(kinds, key=lambda one: len(keys & set(getattr(one, "__dataclass_fields__", ()))))
    return value_of(likeliest, value, name)


def _row(kind: Any, value: object, name: str) -> tuple[Any, ...]:  # noqa: ANN401
    parts = get_args(kind)
    if not isinstance(value, list | tuple):
        raise TypeError(f"{name} is a {_noun(value)}, not a list")
    if parts[-1] is Ellipsis:
        plain = parts[0] in PLAIN and _are_plain(parts[0], value)
        return tuple(value) if plain else tuple(value_of(parts[0], one, name) for one in value)
    if len(value) != len(parts):
        raise TypeError(f"{name} has {len(value)} entries, not {len(parts)}")
    return tuple(value_of(part, one, name) for part, one in zip(parts, value, strict=True))


def _object(kind: Any, value: object, name: str) -> dict[str, Any]:  # noqa: ANN401
    if not isinstance(value, dict):
        raise TypeError(f"{name} is a {_noun(value)}, not an object")
    return {key: value_of(get_args(kind)[1], one, name) for key, one in value.items()}


def _choice(kind: Any, value: object, name: str) -> str:  # noqa: ANN401
    chosen, known = _text(kind, value, name), get_args(kind)
    if chosen not in known:
        raise TypeError(f"{name} is {brief(value)}, not one of {', '.join(known)}")
    return chosen


def _text(kind: Any, value: object, name: str) -> str:  # noqa: ANN401, ARG001 - as all readers
    if not isinstance(value, str):
        raise TypeError(f"{name} is a {_noun(value)}, not text")
    return value


def _truth(kind: Any, value: object, name: str) -> bool:  # noqa: ANN401, ARG001 - as all readers
    if not isinstance(value, bool):
        raise TypeError(f"{name} is a {_noun(value)}, not true or false")
    return value


def _number(kind: type, value: object, name: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} holds a {_noun(value)}, not a number")
    most = LARGEST if kind is float else LARGEST_WHOLE
    if not abs(value) <= most:  # nan is neither
        raise TypeError(f"{name} holds {brief(value)}, which is no number or too large a one")
    if kind is int and value != int(value):
        raise TypeError(f"{name} holds {brief(value)}, which is no whole number")
    return int(value) if kind is int else value


def _are_plain(kind: type, values: Sequence[Any]) -> bool:
    """Whether all are numbers that fit: a quick look, as the confusions of many classes are millions."""
    most = LARGEST_WHOLE if kind is int else LARGEST
    return {*map(type, values)} <= PLAIN[kind] and all(-most <= one <= most for one in values)


def _noun(value: object) -> str:
    return type(value).__name__


READERS: dict[Any, Callable[[Any, object, str], Any]] = {
    Any: lambda _, value, __: value,
    Union: _one_of,
    UnionType: _one_of,
    Literal: _choice,
    tuple: _row,
    dict: _object,
    str: _text,
    bool: _truth,
    int: _number,
    float: _number,
}
"""How each kind of field is read; all others are records."""
