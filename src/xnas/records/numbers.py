"""Records that were read from a file, which may hold anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any


def require_numbers(record: Any) -> None:  # noqa: ANN401 - a dataclass
    """Raise unless those fields of a record that are numbers, or numbers by name, hold some."""
    for field in fields(record):
        value, kind = getattr(record, field.name), str(field.type)
        if value is None and kind.endswith("| None"):
            continue
        if kind in {"int", "float", "float | None"}:
            _require([value], field.name)
        elif kind in {"dict[str, int]", "dict[str, float]"}:
            if not isinstance(value, dict):
                raise TypeError(f"{field.name} is a {type(value).__name__}")
            _require(value.values(), field.name)


def _require(values: Iterable[object], name: str) -> None:
    for value in values:
        if not isinstance(value, int | float):
            raise TypeError(f"{name} holds a {type(value).__name__}, not a number")
