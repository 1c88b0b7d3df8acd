"""Archives are unpacked whole or not at all, and nothing in them can reach outside."""

import gzip
import io
import os
import stat
import tarfile
import zipfile
from dataclasses import replace
from hashlib import md5

import pytest

from xnas.data.catalogue import CATALOGUE, Source
from xnas.data.unpack import unpack
from xnas.errors import DatasetError

CINIC = CATALOGUE["cinic10"]


def member(name, content=b"", **attributes):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in attributes.items():
        setattr(info, key, value)
    return info, io.BytesIO(content)


def tar(path, *members, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for info, content in members:
            archive.addfile(info, content)
    return path


def zipped(path, contents):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


CONTENTS = {"train/airplane/1.png": b"one" * 1000, "test/cat/2 ä.png": b"two" * 1000}


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("kind", ["tar.gz", "tar", "tar.xz", "zip"])
@pytest.mark.parametrize("top", ["", "CINIC-10/", "CINIC-10-master/"])
def test_everything_comes_into_the_datasets_folder(tmp_path, kind, top):
    archive = tmp_path / f"a.{kind}"
    contents = {f"{top}{name}": content for name, content in CONTENTS.items()}
    if kind == "zip":
        zipped(archive, contents)
    else:
        mode = {"tar.gz": "w:gz", "tar": "w", "tar.xz": "w:xz"}[kind]
        tar(archive, *(member(name, content) for name, content in contents.items()), mode=mode)
    data = tmp_path / "new" / "data"
    assert unpack(archive, CINIC, data) == data / "CINIC-10"
    assert files(data / "CINIC-10") == CONTENTS
    assert [p.name for p in data.iterdir()] == ["CINIC-10"]


def outside(name):
    return [member("train/cat/1.png", b"x"), member(name, b"evil")]


def link(**attributes):
    return [member("train/cat/1.png", b"x"), member("train/way", **attributes)]


@pytest.mark.parametrize(
    ("members", "words"),
    [
        (outside("../evil"), r"holds '\.\./evil', a path that leads out"),
        (outside("train/../../evil"), "a path that leads out"),
        (outside("/tmp/evil"), "a path that leads out"),  # noqa: S108 - never written
        (outside("..\\evil"), "a path that leads out"),
        (outside("C:/evil"), "a path that leads out"),
        (link(type=tarfile.SYMTYPE, linkname="/etc"), "a link or a device"),
        (link(type=tarfile.SYMTYPE, linkname="cat"), "a link or a device"),
        (link(type=tarfile.LNKTYPE, linkname="../../x"), "a link or a device"),
        (link(type=tarfile.CHRTYPE), "a link or a device"),
        (link(type=tarfile.FIFOTYPE), "a link or a device"),
    ],
)
def test_what_reaches_outside_is_refused_and_nothing_stays(tmp_path, members, words):
    archive = tar(tmp_path / "evil.tar.gz", *members)
    data = tmp_path / "deep" / "data"
    with pytest.raises(DatasetError, match=words) as caught:
        unpack(archive, CINIC, data)
    assert "nothing was unpacked" in str(caught.value)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["deep", "evil.tar.gz"]


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/../../evil", "..\\evil"])  # noqa: S108
def test_zip_files_that_reach_outside_are_refused(tmp_path, name):
    archive = zipped(tmp_path / "evil.zip", {"train/1.png": b"x", name: b"evil"})
    with pytest.raises(DatasetError, match="a path that leads out of its folder"):
        unpack(archive, CINIC, tmp_path / "data")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["evil.zip"]


def test_links_in_zip_files_are_refused(tmp_path):
    archive = tmp_path / "evil.zip"
    info = zipfile.ZipInfo("train/way")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(archive, "w") as content:
        content.writestr(info, "/etc")
    with pytest.raises(DatasetError, match="holds 'train/way', a link or a device"):
        unpack(archive, CINIC, tmp_path / "data")


@pytest.mark.parametrize("kind", ["tar.gz", "tar", "zip"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.95])
def test_a_truncated_archive_leaves_nothing_behind(tmp_path, kind, share):
    archive = tmp_path / f"a.{kind}"
    contents = {f"train/{n}.png": os.urandom(4000) for n in range(10)}
    if kind == "zip":
        zipped(archive, contents)
    else:
        members = [member(name, content) for name, content in contents.items()]
        tar(archive, *members, mode="w:gz" if kind == "tar.gz" else "w")
    raw = archive.read_bytes()
    if kind == "tar":
        raw = raw[: 10 * (512 + 4096)]  # without the end mark and what pads it
    archive.write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(DatasetError, match="is truncated, damaged or no archive"):
        unpack(archive, CINIC, tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("members_kept", [1, 5, 10])
def test_a_tar_file_cut_between_two_members_is_truncated(tmp_path, members_kept):
    members = [member(f"train/{n}.png", os.urandom(4000)) for n in range(10)]
    archive = tar(tmp_path / "a.tar", *members, mode="w")
    archive.write_bytes(archive.read_bytes()[: members_kept * (512 + 4096)])
    with pytest.raises(DatasetError, match="is truncated, damaged or no archive"):
        unpack(archive, CINIC, tmp_path / "data")


def test_a_damaged_header_in_the_middle_is_no_end(tmp_path):
    members = [member(f"train/{n}.png", os.urandom(4000)) for n in range(10)]
    archive = tar(tmp_path / "a.tar", *members, mode="w")
    raw = bytearray(archive.read_bytes())
    raw[5 * (512 + 4096) + 10] ^= 0xFF
    archive.write_bytes(raw)
    with pytest.raises(DatasetError, match="is truncated, damaged or no archive"):
        unpack(archive, CINIC, tmp_path / "data")


def test_an_archive_larger_than_the_disk_is_refused(tmp_path, monkeypatch):
    archive = zipped(tmp_path / "a.zip", CONTENTS)
    other = tar(tmp_path / "a.tar.gz", *(member(n, c) for n, c in CONTENTS.items()))
    usage = type("Usage", (), {"free": 5999})
    monkeypatch.setattr("xnas.data.unpack.shutil.disk_usage", lambda _: usage)
    for path in (archive, other):
        with pytest.raises(DatasetError, match="unpacks to 1 bytes more than the disk has"):
            unpack(path, CINIC, tmp_path / "data")


def test_an_archive_with_the_published_name_must_have_the_published_checksum(tmp_path):
    archive = tar(tmp_path / "CINIC-10.tar.gz", member("train/airplane/1.png", b"x"))
    with pytest.raises(DatasetError, match=r"has the md5 .* instead of 6ee4d0c9"):
        unpack(archive, CINIC, tmp_path / "data")
    source = Source(CINIC.sources[0].url, md5(archive.read_bytes(), usedforsecurity=False).hexdigest())
    unpack(archive, replace(CINIC, sources=(source,)), tmp_path / "data")
    assert files(tmp_path / "data") == {"CINIC-10/train/airplane/1.png": b"x"}


def test_nothing_is_overwritten(tmp_path):
    names = ("test/airplane/1.png", "train/1.png")
    archive = tar(tmp_path / "a.tar.gz", *(member(name, b"new") for name in names))
    (tmp_path / "data" / "CINIC-10" / "train").mkdir(parents=True)
    with pytest.raises(DatasetError, match="CINIC-10/train is there already; remove it"):
        unpack(archive, CINIC, tmp_path / "data")
    assert files(tmp_path / "data") == {}


def test_two_archives_can_make_one_dataset(tmp_path):
    groceries = CATALOGUE["freiburg"]
    images = tar(tmp_path / "images.tar.gz", member("images/BEANS/1.png", b"x"))
    lists = zipped(tmp_path / "lists.zip", {"freiburg_groceries_dataset-master/splits/train0.txt": b"y"})
    unpack(images, groceries, tmp_path / "data")
    place = unpack(lists, groceries, tmp_path / "data")
    assert files(place) == {"images/BEANS/1.png": b"x", "splits/train0.txt": b"y"}


@pytest.mark.parametrize("name", ["digits", "svhn", "fashion_mnist", "imagenet"])
def test_datasets_without_an_archive_say_how_they_come(tmp_path, name):
    with pytest.raises(DatasetError, match="comes in no archive to unpack"):
        unpack(tmp_path / "a.tar", CATALOGUE[name], tmp_path)


def test_what_is_no_archive_is_refused(tmp_path):
    with pytest.raises(DatasetError, match=r"no archive .*nowhere.tar to unpack; give a .tar"):
        unpack(tmp_path / "nowhere.tar", CINIC, tmp_path)
    (tmp_path / "photo.png").write_bytes(b"\x89PNG" + bytes(3000))
    with pytest.raises(DatasetError, match="is truncated, damaged or no archive"):
        unpack(tmp_path / "photo.png", CINIC, tmp_path / "data")
    (tmp_path / "file.gz").write_bytes(gzip.compress(b"no tar" * 1000))
    with pytest.raises(DatasetError, match="is truncated, damaged or no archive"):
        unpack(tmp_path / "file.gz", CINIC, tmp_path / "data")


def test_a_folder_that_cannot_be_written_is_reported(tmp_path):
    archive = tar(tmp_path / "a.tar.gz", member("train/1.png", b"x"))
    (tmp_path / "data").write_text("a file", encoding="utf8")
    with pytest.raises(DatasetError, match=r"cannot write to .*data .*; choose another --data-dir"):
        unpack(archive, CINIC, tmp_path / "data")


def test_an_archive_of_something_else_is_refused_and_leaves_nothing_behind(tmp_path):
    archive = tar(tmp_path / "holiday.tar.gz", member("holiday/1.png", b"x"))
    with pytest.raises(
        DatasetError, match=r"holds nothing of CINIC-10: none of train/airplane, .* is in"
    ):
        unpack(archive, CINIC, tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_a_text_that_is_called_an_archive_is_reported_in_a_few_words(tmp_path):
    (tmp_path / "text.tar").write_text("no archive " * 100, encoding="utf8")
    with pytest.raises(DatasetError, match="is truncated, damaged or no archive") as caught:
        unpack(tmp_path / "text.tar", CINIC, tmp_path / "data")
    assert "method" not in str(caught.value)
