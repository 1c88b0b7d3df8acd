"""`xnas data --json` prints one JSON document with stable keys."""

import json

import pytest
from commands import call
from datasets_made import make_cifar100
from photos_written import flowers

from xnas.data import CATALOGUE

DATASET = {
    *("name", "images", "test_images", "folds", "classes", "channels", "size", "embedded", "found"),
}
FOLDER = {
    *("name", "images", "test_images", "classes", "channels", "size", "resize", "sizes", "modes"),
    *("notes", "bad_headers", "first_bad"),
}


@pytest.fixture(autouse=True)
def _nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XNAS_DATA", raising=False)


def described(capsys, *arguments):
    status, out, _ = call(capsys, "data", *arguments, "--json")
    return status, json.loads(out)


def test_all_datasets_are_listed_with_their_places(capsys, tmp_path):
    make_cifar100(tmp_path / "there" / "cifar-100-python")
    status, record = described(capsys, "--data-dir", "there")
    assert status == 0
    assert [entry["name"] for entry in record["datasets"]] == [*CATALOGUE]
    assert all({*entry} == DATASET for entry in record["datasets"])
    found = {entry["name"]: entry["found"] for entry in record["datasets"]}
    assert found["cifar100"] == "there/cifar-100-python"
    assert found["digits"] is None
    assert record["looked_in"][0] == "there"


def test_one_dataset_says_what_is_wrong_with_it(capsys, tmp_path):
    make_cifar100(tmp_path / "cifar-100-python")
    _, record = described(capsys, "cifar100", "--data-dir", ".")
    assert {*record} == DATASET | {
        *("format", "version"),
        *("title", "looked_in", "state", "sources", "obtain", "checked", "refusal"),
    }
    assert record["state"][0].startswith("not whole: ")


def test_a_folder_is_described_and_checked(capsys, tmp_path):
    flowers(tmp_path / "photos", size=(64, 48))
    status, record = described(capsys, "photos", "--check")
    assert status == 0
    assert {*record} == FOLDER | {"format", "version", "checked", "refusal"}
    assert record["sizes"] == [{"height": 64, "width": 48, "images": record["images"]}]
    assert record["images"] + record["test_images"] == 10
    assert record["checked"] == {"images": 10, "bad": []}
    assert record["refusal"] is None


def test_a_folder_that_a_run_would_refuse_says_why_and_ends_with_status_2(capsys, tmp_path):
    flowers(tmp_path / "photos")
    (tmp_path / "photos" / "rose" / "3.png").write_bytes(b"")
    status, record = described(capsys, "photos")
    assert status == 2
    assert record["bad_headers"] == 1
    assert record["refusal"].startswith("cannot read the image")
