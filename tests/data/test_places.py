"""Datasets are looked for in documented places, in a documented order."""

from pathlib import Path

import pytest

from xnas.data import CATALOGUE
from xnas.data.places import data_folders, find, places


@pytest.mark.parametrize("name", sorted(set(CATALOGUE) - {"digits"}))
def test_places_are_the_given_folder_the_environment_and_data(monkeypatch, name):
    monkeypatch.setenv("XNAS_DATA", "/environment")
    known = CATALOGUE[name]
    looked = places(known, Path("/given"))
    roots = [Path("/given"), Path("/environment"), Path("data")]
    assert data_folders(Path("/given")) == roots
    expected = [place for root in roots for place in (*(root / f for f in known.folders), root)]
    assert looked[: len(expected)] == expected
    debians = [Path("/usr/share/datasets/fashion-mnist")]
    assert looked[len(expected) :] == (debians if name == "fashion_mnist" else [])


def test_a_folder_is_no_file_of_a_dataset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XNAS_DATA", raising=False)
    (tmp_path / "train").mkdir()  # CIFAR-100 has a file of this name
    assert find(CATALOGUE["cifar100"], tmp_path) is None


def test_only_files_that_may_be_compressed_are_found_compressed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XNAS_DATA", raising=False)
    for name in ("data_batch_1.gz", "t10k-labels-idx1-ubyte.gz"):
        (tmp_path / name).write_bytes(b"")
    assert find(CATALOGUE["cifar10"], tmp_path) is None
    assert find(CATALOGUE["fashion_mnist"], tmp_path) == tmp_path
