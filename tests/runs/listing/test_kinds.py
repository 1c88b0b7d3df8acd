"""What a list reads of a folder."""

import pytest
from runs_written import search

from xnas.errors import DamagedFileError
from xnas.runs.listing import kinds
from xnas.runs.listing.kinds import RunFiles, mapping, number, text, whole


def test_a_torn_last_line_does_not_count(tmp_path):
    files = RunFiles(search(tmp_path / "run"))
    with (files.path / "metrics.jsonl").open("a") as file:
        file.write('{"valid_accuracy": 0.')
    assert len(files.metrics) == 2
    assert files.newest["valid_accuracy"] == 0.2


def test_a_file_that_is_missing_is_empty_and_one_that_is_too_large_is_damaged(tmp_path, monkeypatch):
    files = RunFiles(search(tmp_path / "run"))
    assert (files.json("test.json"), files.lines("ledger.jsonl")) == ({}, [])
    assert RunFiles(tmp_path).newest == {}
    monkeypatch.setattr(kinds, "MOST_BYTES", 10)
    with pytest.raises(DamagedFileError, match=r"cannot read .*metrics.jsonl.* more than 10 bytes"):
        files.lines("metrics.jsonl")


def test_values_of_another_kind_are_none():
    assert [number(v) for v in (1, 0.5, True, "1", None, 1e300, float("nan"))] == [1, 0.5, *[None] * 5]
    assert [whole(v) for v in (1, 0.5, True, 10**30)] == [1, None, None, None]
    assert (text("a"), text(1), mapping([]), mapping({"a": 1})) == ("a", None, {}, {"a": 1})
