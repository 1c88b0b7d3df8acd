"""Missing and wrong files of a dataset are found, one by one."""

import gzip
from dataclasses import replace
from hashlib import md5

import pytest

from xnas.data import CATALOGUE
from xnas.data.catalogue import KnownFile
from xnas.data.wholeness import faults, require_whole
from xnas.errors import DatasetError


def test_missing_and_wrong_files_are_reported_one_by_one(tmp_path):
    (tmp_path / "train").write_bytes(b"x")
    told = list(faults(CATALOGUE["cifar100"], tmp_path))
    assert told[0].startswith("train has the md5 9dd4e461268c8034f5c8564e155c67a6 instead of 16019d7e")
    assert told[1:] == ["test is missing", "meta is missing"]


def known(content):
    file = KnownFile(
        "a", f"md5:{md5(content, usedforsecurity=False).hexdigest()}", len(content), gz=True
    )
    return replace(CATALOGUE["cifar100"], files=(file,))


def test_published_files_are_whole_plain_or_compressed(tmp_path):
    (tmp_path / "a").write_bytes(b"content")
    assert list(faults(known(b"content"), tmp_path)) == []
    (tmp_path / "a").unlink()
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"content"))
    assert list(faults(known(b"content"), tmp_path)) == []


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a", b"contend", "a has the md5"),
        ("a", b"cont", "a has 4 bytes instead of 7"),
        ("a.gz", gzip.compress(b"content, and more"), "a.gz has more than 7"),
        ("a.gz", gzip.compress(b"content")[:-6], "a.gz cannot be read to its end"),
    ],
    ids=["another", "shorter", "longer", "truncated"],
)
def test_other_content_is_named_with_what_is_wrong(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    assert next(faults(known(b"content"), tmp_path)).startswith(words)
    with pytest.raises(DatasetError, match=r"is not whole: a.* remove it and get it again"):
        require_whole(known(b"content"), tmp_path)
