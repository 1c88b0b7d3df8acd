"""Records of a file need their keys, and every value has to fit what its field is declared as."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import pytest

from xnas.records import Gap, Judgement, Truth
from xnas.records.reading import record_of, require_equal_lengths, value_of


@dataclass(frozen=True)
class Part:
    name: str
    note: str = ""


@dataclass(frozen=True)
class Record:
    count: int = 1
    share: float = 0.5
    gap: float | None = None
    name: str = "any"
    sure: bool = False
    state: Literal["done", "failed"] = "done"
    by_kind: dict[str, float] = field(default_factory=lambda: {"normal": 1.0})
    rows: tuple[tuple[float, ...], ...] = ()
    pair: tuple[int, float] = (1, 0.5)
    part: Part | None = None
    parts: tuple[Part, ...] = ()
    other: Any = None
    truth: Truth | Judgement | None = None


def test_what_fits_becomes_a_record_with_tuples_and_records_inside():
    saved = {"count": 2.0, "share": 1, "gap": 0.25, "by_kind": {}, "rows": [[0.5], []], "pair": [3, 1]}
    saved |= {"part": {"name": "a"}, "parts": [{"name": "b", "note": "c"}], "other": [None]}
    wanted = Record(2, 1, 0.25, "any", by_kind={}, rows=((0.5,), ()), pair=(3, 1), other=[None])
    assert record_of(Record, saved) == Record(
        **{**asdict(wanted), "part": Part("a"), "parts": (Part("b", "c"),)}
    )
    assert isinstance(record_of(Record, saved).count, int)


def test_of_two_kinds_of_records_the_one_with_the_keys_is_meant():
    judged = Judgement(accuracy=90.0, error=1.0, percentile=50.0)
    assert record_of(Record, {"truth": asdict(judged)}).truth == judged
    with pytest.raises(TypeError, match="the key 'percentile' is missing in 'truth'"):
        record_of(Record, {"truth": {"accuracy": 90.0, "error": 1.0}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": "1"}, "count holds a str, not a number"),
        ({"count": 0.5}, "count holds 0.5, which is no whole number"),
        ({"count": True}, "count holds a bool, not a number"),
        ({"count": 10**30}, "count holds 1000.*, which is no number or too large a one"),
        ({"share": None}, "share holds a NoneType, not a number"),
        ({"share": math.nan}, "share holds nan, which is no number"),
        ({"share": -math.inf}, "share holds -inf, which is no number"),
        ({"share": 10**400}, "share holds 1000.*, which is no number or too large a one"),
        ({"gap": [0.1]}, "gap holds a list, not a number"),
        ({"name": 3}, "name is a int, not text"),
        ({"sure": 1}, "sure is a int, not true or false"),
        ({"state": "waiting"}, "state is 'waiting', not one of done, failed"),
        ({"state": []}, "state is a list, not text"),
        ({"by_kind": {"normal": "high"}}, "by_kind holds a str, not a number"),
        ({"by_kind": [1.0]}, "by_kind is a list, not an object"),
        ({"rows": [1.0]}, "rows is a float, not a list"),
        ({"rows": "1"}, "rows is a str, not a list"),
        ({"rows": [[math.inf]]}, "rows holds inf"),
        ({"pair": [1]}, "pair has 1 entries, not 2"),
        ({"part": [1]}, "part is a list, not an object"),
        ({"part": {"note": "b"}}, "the key 'name' is missing in 'part'"),
        ({"parts": [{"name": "a", "colour": 1}]}, "the key 'colour' is unknown in 'parts'"),
        ({"colour": 1}, "the key 'colour' is unknown$"),
        ([], "a record is a list, not an object"),
    ],
)
def test_anything_else_is_named(change, message):
    with pytest.raises(TypeError, match=message):
        record_of(Record, change)


def test_values_without_a_record_are_read_alike():
    gap = {"mixture": 0.5, "experts": 0.25, "cell": None}
    assert value_of(tuple[Gap, ...], [gap], "gaps") == (Gap(**gap),)
    assert value_of(dict[str, float], {"search": 2}, "cost") == {"search": 2}


def test_columns_of_other_lengths_are_named():
    require_equal_lengths(names=("a",), counts=(1,))
    with pytest.raises(TypeError, match="counts has 2 entries, and names has 1"):
        require_equal_lengths(names=("a",), counts=(1, 2))
