"""Reading rows: what the two benchmarks' own tests do not reach."""

import pytest

from xnas import DatasetError
from xnas.benchmarks import csv_file
from xnas.benchmarks.csv_file import number, read_rows


def test_rows_come_with_their_lines_and_blank_ones_are_skipped(tmp_path):
    path = tmp_path / "file.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b,c\r\n1,2,3\r\n\r\n4,5,6\r\n")
    found = list(read_rows(path, ["a", "b"], "it"))
    assert found == [(2, {"a": "1", "b": "2", "c": "3"}), (4, {"a": "4", "b": "5", "c": "6"})]


def test_a_file_that_is_too_large_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_file, "MOST_BYTES", 10)
    (tmp_path / "file.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(DatasetError, match="it has more than 10 bytes; give the CSV"):
        list(read_rows(tmp_path / "file.csv", ["a"], "the CSV"))


def test_a_path_that_is_none_is_refused():
    with pytest.raises(DatasetError, match=r"cannot read the benchmark .*; give the CSV"):
        list(read_rows("a\0b", ["a"], "the CSV"))


def test_numbers():
    assert number(" 1e2", "x", "line 3") == 100
    for text in ("", "inf", "1,5", "x" * 500):
        with pytest.raises(DatasetError, match=r"^line 3 has '.*' as x, which is no number") as caught:
            number(text, "x", "line 3")
        assert len(str(caught.value)) < 120
