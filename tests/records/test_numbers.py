"""Records need their keys, and fields that are declared as numbers have to hold numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from xnas.records.numbers import require_keys, require_numbers


@dataclass(frozen=True)
class Record:
    count: int = 1
    share: float = 0.5
    gap: float | None = None
    name: str = "any"
    by_kind: dict[str, float] = field(default_factory=lambda: {"normal": 1.0})


def test_numbers_and_missing_optional_ones_pass():
    require_numbers(Record())
    require_numbers(Record(count=2, share=1, gap=0.25, by_kind={}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": "1"}, "count holds a str, not a number"),
        ({"share": None}, "share holds a NoneType, not a number"),
        ({"gap": [0.1]}, "gap holds a list, not a number"),
        ({"by_kind": {"normal": "high"}}, "by_kind holds a str, not a number"),
        ({"by_kind": [1.0]}, "by_kind is a list"),
    ],
)
def test_anything_else_is_named(change, message):
    with pytest.raises(TypeError, match=message):
        require_numbers(replace(Record(), **change))


def test_fields_of_other_kinds_are_not_looked_at():
    require_numbers(Record(name=3))


@dataclass(frozen=True)
class Named:
    name: str
    note: str = ""


def test_keys_of_a_record_pass_with_and_without_defaults():
    require_keys(Named, {"name": "a"})
    require_keys(Named, {"name": "a", "note": "b"})


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ({"note": "b"}, "the key 'name' is missing in 'cost'"),
        ({"name": "a", "colour": 1}, "the key 'colour' is unknown in 'cost'"),
        ([1], "cost is a list, not an object"),
    ],
)
def test_keys_that_are_missing_or_unknown_are_named(saved, message):
    with pytest.raises(TypeError, match=message):
        require_keys(Named, saved, "cost")
