"""SVHN: train and extra together for training, and the label 10 is the digit 0."""

import numpy as np
import pytest
import torch
from datasets_made import make_svhn, noise, unchecked
from scipy.io import savemat

from xnas.data import load_data
from xnas.errors import DatasetError


@pytest.fixture
def svhn(tmp_path, monkeypatch):
    monkeypatch.delenv("XNAS_DATA", raising=False)
    unchecked(monkeypatch, "svhn")
    return make_svhn(tmp_path / "SVHN")


def test_train_and_extra_are_for_training(svhn):
    data = load_data("svhn", data_dir=svhn.parent)
    expected = np.concatenate([noise(0, 32, 32, 3, 20), noise(1, 32, 32, 3, 30)], axis=3)
    assert data.images.shape == (50, 3, 32, 32)
    assert torch.equal(data.images, torch.tensor(expected).permute(3, 2, 0, 1))
    assert len(data.test_images) == 20
    assert "20 images of train, 30 of extra" in data.note


def test_the_label_ten_is_the_digit_zero(svhn):
    data = load_data("svhn", data_dir=svhn)
    assert data.classes == tuple("0123456789")
    assert data.labels[:10].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]


def test_digits_are_not_mirrored(svhn):
    assert not load_data("svhn", data_dir=svhn).flip


def test_a_missing_part_is_named(svhn):
    (svhn / "extra_32x32.mat").unlink()
    with pytest.raises(DatasetError, match=r"SVHN in .* is not whole: extra_32x32.mat is missing"):
        load_data("svhn", data_dir=svhn)


def test_other_files_than_the_published_are_refused(svhn, monkeypatch):
    monkeypatch.undo()
    with pytest.raises(DatasetError, match=r"train_32x32.mat has the md5 .* instead of e26dedcc"):
        load_data("svhn", data_dir=svhn)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"X": noise(0, 32, 32, 3, 4)}, "it holds no X or no y"),
        ({"X": noise(0, 4, 32, 32, 3), "y": np.ones((4, 1))}, r"X is uint8 \(4, 32, 32, 3\)"),
        ({"X": np.zeros((32, 32, 3, 4)), "y": np.ones((4, 1))}, r"X is float64 \(32, 32, 3, 4\)"),
        ({"X": noise(0, 32, 32, 3, 4), "y": np.ones((5, 1))}, "5 labels for 4 images"),
        ({"X": noise(0, 32, 32, 3, 4), "y": np.full((4, 1), 11)}, r"labels outside 1\.\.10"),
        ({"X": noise(0, 32, 32, 3, 4), "y": np.zeros((4, 1))}, r"labels outside 1\.\.10"),
    ],
)
def test_files_of_another_content_are_refused(svhn, content, words):
    savemat(svhn / "test_32x32.mat", content)
    with pytest.raises(DatasetError, match=rf"test_32x32.mat is truncated or damaged \({words}"):
        load_data("svhn", data_dir=svhn)


@pytest.mark.parametrize("length", [0, 100, 3000])
def test_a_truncated_file_is_named(svhn, length):
    path = svhn / "train_32x32.mat"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(DatasetError, match=r"train_32x32.mat is truncated or damaged"):
        load_data("svhn", data_dir=svhn)
