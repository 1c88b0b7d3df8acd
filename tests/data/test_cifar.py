"""CIFAR-10 and CIFAR-100 are read from their original files, and nothing in them is trusted."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets_made import make_cifar100, noise, unchecked, write_pickle

from xnas.data import channel_statistics, load_data
from xnas.data.cifar import MEAN, STD
from xnas.errors import DatasetError

NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
FILES = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]


def batch(number, images):
    pixels = np.random.default_rng(number).integers(256, size=(images, 3072), dtype=np.uint8)
    labels = [(label + number) % 10 for label in range(images)]
    filenames = [f"image_{number}_{index}.png" for index in range(images)]
    return {
        "batch_label": f"batch {number}",
        "labels": labels,
        "data": pixels,
        "filenames": filenames,
    }


@pytest.fixture
def cifar(tmp_path, monkeypatch):
    """A folder with small files of the original layout, in a place where nothing else is found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XNAS_DATA", raising=False)
    unchecked(monkeypatch, "cifar10")
    folder = tmp_path / "somewhere" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for number, name in enumerate(FILES):
        write_pickle(folder / name, batch(number, 20))
    meta = {"num_cases_per_batch": 20, "label_names": NAMES, "num_vis": 3072}
    write_pickle(folder / "batches.meta", meta)
    return folder


def test_generated_files_are_pickled_as_the_original_ones_are(cifar):
    raw = (cifar / "data_batch_1").read_bytes()
    assert raw.startswith(b"\x80\x02}q")
    assert b"cnumpy.core.multiarray\n_reconstruct\n" in raw
    assert b"_codecs" not in raw


def test_images_and_labels_are_those_of_the_files_in_their_order(cifar):
    data = load_data("cifar10", data_dir=cifar)
    expected = [batch(number, 20) for number in range(6)]
    pixels = np.concatenate([content["data"] for content in expected[:5]])
    assert torch.equal(data.images.flatten(1), torch.tensor(pixels))
    assert data.images.shape == (100, 3, 32, 32)
    assert data.images[0, 1, 2, 3] == pixels[0, 1024 + 2 * 32 + 3]  # red, green, blue; row by row
    assert data.labels.tolist() == [label for content in expected[:5] for label in content["labels"]]
    assert torch.equal(data.test_images.flatten(1), torch.tensor(expected[5]["data"]))
    assert data.test_labels.tolist() == expected[5]["labels"]
    assert data.classes == tuple(NAMES)
    assert (data.mean, data.std) == (MEAN, STD)
    assert data.flip


def test_arrays_stored_column_by_column_are_read_right(cifar):
    content = batch(0, 20)
    write_pickle(cifar / "data_batch_1", {**content, "data": np.asfortranarray(content["data"])})
    assert torch.equal(
        load_data("cifar10", data_dir=cifar).images[:20].flatten(1), torch.tensor(content["data"])
    )


@pytest.mark.parametrize("place", ["folder", "above", "environment", "environment above", "./data"])
def test_files_are_found_where_the_documentation_says(place, cifar, monkeypatch):
    if place.startswith("environment"):
        monkeypatch.setenv("XNAS_DATA", str(cifar.parent if "above" in place else cifar))
    elif place == "./data":
        Path("data").symlink_to(cifar.parent)
    given = {"folder": cifar, "above": cifar.parent}.get(place)
    assert len(load_data("cifar10", data_dir=given).images) == 100


def test_the_given_folder_comes_before_the_environment(cifar, monkeypatch, tmp_path):
    monkeypatch.setenv("XNAS_DATA", str(tmp_path / "nowhere"))
    assert load_data("cifar10", data_dir=cifar).note == f"read from {cifar}"


def test_without_files_the_message_says_where_it_looked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XNAS_DATA", "/nowhere/data")
    with pytest.raises(
        DatasetError, match="no CIFAR-10 files in /nowhere/given, /nowhere/data, data"
    ) as caught:
        load_data("cifar10", data_dir=Path("/nowhere/given"))
    assert '"xnas data cifar10" says how to get them' in str(caught.value)
    assert "data-dir" in str(caught.value)


def test_missing_files_are_named(cifar):
    for name in ("data_batch_3", "batches.meta"):
        (cifar / name).unlink()
    words = r"CIFAR-10 in .* is not whole: data_batch_3 is missing \(and 1 more of its files\)"
    with pytest.raises(DatasetError, match=words):
        load_data("cifar10", data_dir=cifar)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.99999])
def test_a_truncated_file_is_named(share, cifar):
    raw = (cifar / "data_batch_2").read_bytes()
    (cifar / "data_batch_2").write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(DatasetError, match=r"data_batch_2 is truncated or damaged .* unpack"):
        load_data("cifar10", data_dir=cifar)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("data_batch_1", [1, 2], "it holds a list, not a dict"),
        ("data_batch_1", {"labels": [0]}, "it holds no data or no labels"),
        ("data_batch_1", {**batch(0, 20), "data": [0] * 3072}, "it holds no data or no labels"),
        (
            "data_batch_1",
            {**batch(0, 20), "labels": [0] * 19},
            r"data of shape \(20, 3072\) for 19 labels",
        ),
        ("data_batch_1", {**batch(0, 20), "labels": [10] * 20}, "labels outside 0..9"),
        ("data_batch_1", {**batch(0, 20), "labels": ["cat"] * 20}, "labels outside 0..9"),
        ("test_batch", {**batch(0, 20), "data": np.zeros((20, 3072), np.float32)}, "an array of 'f4'"),
        ("batches.meta", {"label_names": "cat"}, "it holds no label_names"),
    ],
)
def test_files_of_another_content_are_refused(name, content, words, cifar):
    write_pickle(cifar / name, content)
    with pytest.raises(DatasetError, match=rf"{name} is truncated or damaged \({words}"):
        load_data("cifar10", data_dir=cifar)


class Evil:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (os.system, ("touch taken",), "(posix|nt).system"),
        (eval, ("open('taken', 'w')",), "(builtins|__builtin__).eval"),
        (np.fromfile, ("taken",), "numpy.*.fromfile"),
    ],
)
def test_a_pickle_that_asks_for_anything_else_is_refused_before_it_runs(
    function, arguments, name, cifar
):
    write_pickle(cifar / "data_batch_4", {"data": Evil(function, *arguments), "labels": []})
    with pytest.raises(
        DatasetError, match=f"a CIFAR file asks for {name}, which no published one needs"
    ):
        load_data("cifar10", data_dir=cifar)
    assert not Path("taken").exists()


def test_a_file_that_is_not_the_published_one_is_refused(cifar, monkeypatch):
    monkeypatch.undo()
    with pytest.raises(DatasetError, match=r"data_batch_1 has \d.* bytes instead of 31,035,704"):
        load_data("cifar10", data_dir=cifar)


def test_cifar100_has_the_fine_classes_and_statistics_of_its_own(tmp_path, monkeypatch):
    unchecked(monkeypatch, "cifar100")
    folder = make_cifar100(tmp_path / "cifar-100-python")
    data = load_data("cifar100", data_dir=tmp_path)
    assert data.classes == tuple(f"fine {label}" for label in range(100))
    assert torch.equal(data.images.flatten(1), torch.tensor(noise(0, 200, 3072)))
    assert torch.equal(data.test_images.flatten(1), torch.tensor(noise(1, 100, 3072)))
    assert data.labels.tolist() == [index % 100 for index in range(200)]
    assert (data.mean, data.std) == channel_statistics(data.images)
    assert data.note == f"read from {folder}"


def test_cifar100_without_fine_labels_is_refused(tmp_path, monkeypatch):
    unchecked(monkeypatch, "cifar100")
    folder = make_cifar100(tmp_path / "cifar-100-python")
    write_pickle(folder / "test", {"data": noise(0, 1, 3072), "coarse_labels": [0]})
    with pytest.raises(DatasetError, match="it holds no data or no fine_labels"):
        load_data("cifar100", data_dir=tmp_path)


real = os.environ.get("XNAS_DATA", "")
has_real = any((Path(real) / sub / "data_batch_1").is_file() for sub in (".", "cifar-10-batches-py"))


@pytest.mark.skipif(not (real and has_real), reason="XNAS_DATA names no folder with the CIFAR-10 files")
def test_the_published_files_are_read_whole():
    data = load_data("cifar10")
    assert data.images.shape == (50_000, 3, 32, 32)
    assert torch.bincount(data.labels).tolist() == [5000] * 10
    assert torch.bincount(data.test_labels).tolist() == [1000] * 10
    assert data.classes == tuple(NAMES)
    mean, std = channel_statistics(data.images)
    assert mean == pytest.approx(MEAN, abs=1e-6)  # published constants, from other code
    assert std == pytest.approx(STD, abs=1e-6)


def test_a_class_whose_name_has_no_end_is_reported_in_one_line(cifar):
    write_pickle(cifar / "batches.meta", {"label_names": ["x" * 100_000] * 10})
    with pytest.raises(DatasetError, match="has 100,000 characters; a name may have 1000") as caught:
        load_data("cifar10", data_dir=cifar)
    assert len(str(caught.value)) < 300
