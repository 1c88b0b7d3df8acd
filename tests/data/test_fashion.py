"""Fashion-MNIST is read from plain or compressed files, and checked by what they decompress to."""

import gzip
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from datasets_made import idx, make_fashion, noise, unchecked

from xnas.data import load_data
from xnas.data.catalogue import CATALOGUE
from xnas.data.fashion import read_idx
from xnas.errors import DatasetError

DEBIANS = Path("/usr/share/datasets/fashion-mnist")


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A place where nothing else is found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XNAS_DATA", raising=False)
    unchecked(monkeypatch, "fashion_mnist")
    return tmp_path


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("below", ["FashionMNIST/raw", "fashion-mnist", "."])
def test_files_are_found_in_the_usual_folders(alone, below, compressed):
    folder = make_fashion(alone / "x" / below, compressed=compressed)
    data = load_data("fashion_mnist", data_dir=alone / "x")
    assert torch.equal(data.images[:, 0], torch.tensor(noise(0, 40, 28, 28)))
    assert torch.equal(data.test_images[:, 0], torch.tensor(noise(1, 20, 28, 28)))
    assert data.labels.tolist() == [index % 10 for index in range(40)]
    assert (data.classes[0], data.classes[9]) == ("T-shirt/top", "Ankle boot")
    assert data.note == f"read from {folder}"
    assert data.flip


def known_of(folder):
    """What the catalogue would say of these files."""
    files = []
    for file in CATALOGUE["fashion_mnist"].files:
        plain, packed = folder / file.name, folder / f"{file.name}.gz"
        raw = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
        files.append(replace(file, checksum=f"sha256:{sha256(raw).hexdigest()}", size=len(raw)))
    return replace(CATALOGUE["fashion_mnist"], files=tuple(files))


def test_a_file_compressed_anew_is_the_same_file(alone, monkeypatch):
    folder = make_fashion(alone / "fashion-mnist", compressed=True)
    monkeypatch.setitem(CATALOGUE, "fashion_mnist", known_of(folder))
    for path in folder.iterdir():
        path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 9))
    assert len(load_data("fashion_mnist", data_dir=alone).images) == 40


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]), "has the sha256 .* instead of"),
        (lambda raw: raw[:-9], "has 31,367 bytes instead of 31,376"),
        (lambda raw: raw + b"more", "has (31,380 bytes instead of|more than) 31,376"),
    ],
)
def test_files_with_other_content_are_refused(alone, monkeypatch, compressed, damage, words):
    folder = make_fashion(alone / "fashion-mnist", compressed=compressed)
    monkeypatch.setitem(CATALOGUE, "fashion_mnist", known_of(folder))
    path = folder / f"train-images-idx3-ubyte{'.gz' if compressed else ''}"
    raw = damage(gzip.decompress(path.read_bytes()) if compressed else path.read_bytes())
    path.write_bytes(gzip.compress(raw) if compressed else raw)
    with pytest.raises(DatasetError, match=f"is not whole: train-images-idx3-ubyte.* {words}"):
        load_data("fashion_mnist", data_dir=alone)


def test_a_truncated_compressed_file_is_refused(alone, monkeypatch):
    folder = make_fashion(alone / "fashion-mnist", compressed=True)
    monkeypatch.setitem(CATALOGUE, "fashion_mnist", known_of(folder))
    path = folder / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DatasetError, match=r"t10k-images-idx3-ubyte.gz cannot be read to its end"):
        load_data("fashion_mnist", data_dir=alone)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it begins with nothing"),
        (b"\x00\x00\x09\x01\x00\x00\x00\x01\x07", "it begins with 00 00 09 01"),
        (idx(noise(0, 4, 2)), "it begins with 00 00 08 02"),
        (idx(noise(0, 40))[:-1], r"39 bytes for a shape of \[40\]"),
        (idx(noise(0, 40)) + b"1", r"41 bytes for a shape of \[40\]"),
        (idx(noise(0, 0)), r"0 bytes for a shape of \[0\]"),
    ],
)
def test_what_is_no_idx_file_of_bytes_is_refused(tmp_path, content, words):
    (tmp_path / "labels").write_bytes(content)
    with pytest.raises(DatasetError, match=rf"labels is truncated or damaged \({words}\); get it again"):
        read_idx(tmp_path / "labels", 1)


def test_what_is_not_compressed_although_its_name_says_so_is_refused(tmp_path):
    (tmp_path / "labels.gz").write_bytes(idx(noise(0, 40)))
    with pytest.raises(DatasetError, match=r"labels.gz is truncated or damaged"):
        read_idx(tmp_path / "labels.gz", 1)


@pytest.mark.usefixtures("alone")
def test_without_files_the_message_says_where_it_looked():
    words = r"no Fashion-MNIST files in data \(or FashionMNIST/raw or fashion-mnist there\)"
    with pytest.raises(DatasetError, match=words):
        load_data("fashion_mnist")


@pytest.mark.skipif(
    not DEBIANS.is_dir(), reason="Debian's package dataset-fashion-mnist is not installed"
)
def test_the_files_of_debians_package_are_read_whole():
    data = load_data("fashion_mnist")
    assert torch.bincount(data.labels).tolist() == [6000] * 10
    assert torch.bincount(data.test_labels).tolist() == [1000] * 10
    assert data.mean == pytest.approx([0.2860], abs=1e-4)  # published constants, from other code
    assert data.std == pytest.approx([0.3530], abs=1e-4)
