import errno
import os
import stat
from pathlib import Path

import pytest

from xnas.files import read_plain, remedies, sweep, whole_file


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with whole_file(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail():
        with whole_file(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_what_killed_processes_left_is_swept_and_nothing_else(tmp_path):
    kept = {"file", ".file.part", ".file.1.part", ".xnas-1-movie.part", ".xnas-file.part"}
    for name in (*kept, ".xnas-123-file.part", ".xnas-7-a.json.part"):
        (tmp_path / name).touch()
    for folder in (tmp_path, tmp_path / "nowhere"):
        sweep(folder, lambda name: name in ("file", "a.json"))
    assert {p.name for p in tmp_path.iterdir()} == kept


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, ("make room",)),
        (errno.EDQUOT, ("make room",)),
        (errno.EFBIG, ("raise the limit on the size of files (ulimit -f)",)),
        (errno.ENAMETOOLONG, ("use a shorter name",)),
        (errno.EACCES, ("make it writable",)),
        (errno.EROFS, ("make it writable",)),
        (errno.EIO, ()),
        (errno.ENOENT, ()),
        (errno.EEXIST, ()),
    ],
)
def test_the_remedy_fits_the_fault(number, told):
    assert remedies(OSError(number, os.strerror(number))) == told


def test_a_file_in_the_way_of_a_folder_is_named(tmp_path):
    path = tmp_path / "file"
    path.touch()
    for wanted in (path, path / "folder", path / "folder" / "below"):
        with pytest.raises(OSError, match=r"File exists|Not a directory") as caught:
            wanted.mkdir()
        assert remedies(caught.value) == (f"move the file {path} away",)
    with pytest.raises(OSError, match="Not a directory") as caught:
        Path("/dev/null/folder").mkdir()
    assert remedies(caught.value) == ()  # a device stays where it is


def test_a_file_system_that_cannot_flush_folders_is_no_fault(tmp_path, monkeypatch):
    def refuse(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr("os.fsync", refuse)
    with whole_file(tmp_path / "file") as file:
        file.write(b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_file_is_read_up_to_a_number_of_bytes(tmp_path):
    (tmp_path / "file").write_bytes(b"1234")
    assert read_plain(tmp_path / "file", 4) == b"1234"
    with pytest.raises(OSError, match="it has more than 3 bytes"):
        read_plain(tmp_path / "file", 3)
    with pytest.raises(OSError, match="it is a pipe or a device, not a file"):
        read_plain("/dev/zero", 3)
