"""Files that describe an architecture: read with care, and every fault names what it is about."""

import pytest

from xnas.errors import GenotypeError, VersionError
from xnas.space.description_file import (
    MOST_BYTES,
    parse_object,
    read_text,
    require_header,
    write_text,
)


def test_a_text_comes_back_as_it_was_written(tmp_path):
    write_text(tmp_path / "a.json", '{"a": 1}', "wiring")
    assert parse_object(read_text(tmp_path / "a.json", "wiring"), "wiring") == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_files_that_cannot_be_read_or_written_are_named(tmp_path):
    (tmp_path / "long").write_bytes(b"1" * (MOST_BYTES + 1))
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name, words in (
        ("missing", r"cannot read the wiring .*missing: No such file or directory; give a JSON file"),
        ("long", r"long is not a wiring: it has more than 1,048,576 bytes; give a JSON file"),
        ("bytes", r"bytes is not a wiring: 'utf-8' codec.*; give a JSON file"),
    ):
        with pytest.raises(GenotypeError, match=words):
            read_text(tmp_path / name, "wiring")
    with pytest.raises(
        GenotypeError, match=r"cannot write the wiring .*: No such file.*; choose a file"
    ):
        write_text(tmp_path / "no" / "a.json", "{}", "wiring")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1', r"the wiring is not JSON \(Expecting ',' delimiter: line 1, column 8\)"),
        ('{"a": 1, "a": 2}', "the wiring has the key 'a' twice; remove one"),
        ('{"a": 1234567890}', r"the wiring has the number 123456789\.\.\.; that is too large"),
        ("[" * 100_000, "the wiring is nested too deeply to be one; give another file"),
        ("[1]", r"the wiring is \[1\]; it must be a JSON object"),
    ],
)
def test_text_that_is_no_object_is_named(text, words):
    with pytest.raises(GenotypeError, match=words):
        parse_object(text, "wiring")


def test_another_format_or_version_is_named():
    def check(**header):
        require_header(header, "wiring", form="xnas-wiring", version=1, again="draw again")

    check(format="xnas-wiring", version=1)
    with pytest.raises(GenotypeError, match="this is not a wiring: its format is missing, not 'xnas-w"):
        check(version=1)
    with pytest.raises(VersionError, match=r"version of the wiring is 2; .* wrote it, or draw again"):
        check(format="xnas-wiring", version=2)
    with pytest.raises(GenotypeError, match="the version of the wiring is missing"):
        check(format="xnas-wiring")
