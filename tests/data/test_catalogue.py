"""The catalogue and the loaders name the same datasets, and places are looked at in a stated order."""

from pathlib import Path

import pytest

from xnas.data import CATALOGUE, DATASETS, load_data
from xnas.data.places import data_folders, find, places
from xnas.data.wholeness import faults


def test_every_dataset_is_described_and_every_description_can_be_loaded():
    assert set(CATALOGUE) == set(DATASETS)
    for name, known in CATALOGUE.items():
        assert known.name == name
        assert known.obtain
        assert known.files or known.marks or name == "digits"
        assert bool(known.folds) != bool(known.test_examples)


def test_the_digits_are_as_described():
    known, data = CATALOGUE["digits"], load_data("digits")
    assert (len(data.images), len(data.test_images)) == (known.examples, known.test_examples)
    assert (data.channels, data.size, data.flip) == (known.channels, known.size, known.flip)


def test_published_sizes_follow_from_counts():
    fashion = {file.name: file.size for file in CATALOGUE["fashion_mnist"].files}
    assert fashion["train-images-idx3-ubyte"] == 16 + 60_000 * 28 * 28
    assert fashion["t10k-labels-idx1-ubyte"] == 8 + 10_000
    assert CATALOGUE["svhn"].examples == 73_257 + 531_131


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


def test_missing_and_wrong_files_are_told_one_by_one(tmp_path):
    (tmp_path / "train").write_bytes(b"x")
    told = list(faults(CATALOGUE["cifar100"], tmp_path))
    assert told[0].startswith("train has the md5 9dd4e461268c8034f5c8564e155c67a6 instead of 16019d7e")
    assert told[1:] == ["test is missing", "meta is missing"]
