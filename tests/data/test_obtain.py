"""Downloads go through torchvision and are kept whole or not at all."""

import io
import socket
import tarfile
from dataclasses import replace
from hashlib import md5
from pathlib import Path
from urllib.error import URLError

import pytest
from datasets_made import make_svhn

from xnas.data.catalogue import CATALOGUE, Source
from xnas.data.obtain import download
from xnas.errors import DatasetError


def digest(raw):
    return md5(raw, usedforsecurity=False).hexdigest()


@pytest.fixture
def server(monkeypatch):
    """Files by URL, instead of a network."""
    served = {}

    def fetch(url, filename, *_):
        if url not in served:
            Path(filename).write_bytes(b"half a")
            raise URLError("Name or service not known")
        Path(filename).write_bytes(served[url])

    monkeypatch.setattr("torchvision.datasets.utils._get_redirect_url", lambda url, **_: url)
    monkeypatch.setattr("torchvision.datasets.utils._urlretrieve", fetch)
    return served


def test_an_archive_is_fetched_verified_and_unpacked(server, tmp_path):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        info = tarfile.TarInfo("cifar-10-batches-py/data_batch_1")
        info.size = 3
        tar.addfile(info, io.BytesIO(b"one"))
    source = Source("https://a.example/cifar-10-python.tar.gz", digest(raw.getvalue()))
    server[source.url] = raw.getvalue()
    known = replace(CATALOGUE["cifar10"], sources=(source,))
    assert download(known, tmp_path / "data") == tmp_path / "data" / "cifar-10-batches-py"
    assert [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()] == [
        "data/cifar-10-batches-py/data_batch_1"
    ]


def made_svhn(tmp_path, server):
    made = make_svhn(tmp_path / "made")
    sources = []
    for path in sorted(made.iterdir()):
        source = Source(f"http://a.example/{path.name}", digest(path.read_bytes()))
        server[source.url] = path.read_bytes()
        sources.append(source)
    return replace(CATALOGUE["svhn"], sources=tuple(sources))


def test_files_without_an_archive_are_put_where_they_are_looked_for(server, tmp_path):
    known = made_svhn(tmp_path, server)
    place = download(known, tmp_path / "data")
    assert place == tmp_path / "data" / "SVHN"
    assert sorted(p.name for p in place.iterdir()) == sorted(f.name for f in known.files)


@pytest.mark.parametrize("fault", ["gone", "wrong"])
def test_a_failed_download_is_one_line_and_leaves_nothing_behind(server, tmp_path, fault):
    known = made_svhn(tmp_path, server)
    if fault == "gone":
        del server[known.sources[2].url]
    else:
        server[known.sources[2].url] += b"more"
    before = socket.getdefaulttimeout()
    words = r"cannot download SVHN from http://a.example/train_32x32.mat \(.*\); nothing was kept"
    with pytest.raises(DatasetError, match=words) as caught:
        download(known, tmp_path / "data")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "data").exists()
    assert socket.getdefaulttimeout() == before


@pytest.mark.parametrize("name", ["digits", "cinic10", "freiburg", "imagenet"])
def test_what_torchvision_does_not_offer_is_reported(tmp_path, name):
    with pytest.raises(DatasetError, match="torchvision offers no download of"):
        download(CATALOGUE[name], tmp_path)


def test_addresses_and_checksums_are_those_of_torchvision():
    from torchvision import datasets  # noqa: PLC0415 - takes seconds

    for name in ("cifar10", "cifar100"):
        known, theirs = CATALOGUE[name], getattr(datasets, CATALOGUE[name].torchvision)
        assert known.sources == (Source(theirs.url, theirs.tgz_md5),)
        listed = [*theirs.train_list, *theirs.test_list]
        listed += [[theirs.meta["filename"], theirs.meta["md5"]]]
        assert [[f.name, f.checksum.removeprefix("md5:")] for f in known.files] == listed
    fashion = CATALOGUE["fashion_mnist"].sources
    assert [(s.name, s.md5) for s in fashion] == datasets.FashionMNIST.resources
    assert {s.url.removesuffix(s.name) for s in fashion} == set(datasets.FashionMNIST.mirrors)
    svhn = {s.name: [s.url, s.name, s.md5] for s in CATALOGUE["svhn"].sources}
    assert svhn == {split[1]: split for split in datasets.SVHN.split_list.values()}
