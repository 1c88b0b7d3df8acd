"""Datasets are found by name or path; what a run tests on follows from the data alone."""

import pytest
import torch

from xnas.data import DATASETS, ImageData, load_data
from xnas.errors import DatasetError


def test_digits_are_8_by_8_grey_and_must_not_be_mirrored():
    data = load_data("digits")
    assert (data.channels, data.size) == (1, (8, 8))
    assert data.classes == tuple("0123456789")
    assert not data.flip
    assert int(data.images.min()) == 0
    assert int(data.images.max()) == 255  # 16 in scikit-learn's


def test_digits_hold_out_a_fifth_of_each_class_as_test():
    data = load_data("digits")
    assert len(data.images) + len(data.test_images) == 1797
    train, test = torch.bincount(data.labels), torch.bincount(data.test_labels)
    assert (test - (train + test) * 0.2).abs().max() <= 0.5


def test_the_digits_are_scikit_learns_in_sixteen_steps_of_grey():
    from sklearn.datasets import load_digits  # noqa: PLC0415 - takes a second to load

    data, original = load_data("digits"), load_digits()
    ours = torch.cat([data.images, data.test_images])[:, 0].flatten(1)
    theirs = torch.tensor(original.images).flatten(1)
    scaled = {tuple(row) for row in (ours.double() * 16 / 255).round().int().tolist()}
    assert scaled == {tuple(row) for row in theirs.int().tolist()}
    steps = ours.unique().tolist()
    assert steps == [round(step * 255 / 16) for step in range(17)]


def test_named_datasets_are_resized_when_asked():
    data = load_data("digits", image_size=16)
    assert data.images.shape[1:] == data.test_images.shape[1:] == (1, 16, 16)
    assert data.note.endswith("resized from 8 x 8 to 16 x 16 (cover, then crop the centre)")


def test_a_users_own_loader_is_found_by_its_name(monkeypatch):
    mine = ImageData(
        name="mine",
        images=torch.zeros(4, 1, 8, 8, dtype=torch.uint8),
        labels=torch.tensor([0, 1, 0, 1]),
        classes=("a", "b"),
    )
    monkeypatch.setattr(DATASETS, "_entries", dict(DATASETS._entries))
    DATASETS.add("mine", lambda _: mine)
    assert load_data("mine") is mine


def test_an_unknown_name_lists_the_known_ones_and_says_that_a_folder_works():
    words = (
        "no dataset or folder called 'digit'; give a folder of class folders or the name of a dataset; "
        r"did you mean digits\? there are: cifar10, cifar100, "
    )
    with pytest.raises(DatasetError, match=words):
        load_data("digit")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(DatasetError, match=r"no dataset or folder called '.*/nowhere'"):
        load_data(tmp_path / "nowhere")


def test_a_file_is_refused(tmp_path):
    (tmp_path / "images.zip").write_bytes(b"")
    with pytest.raises(DatasetError, match=r"images.zip is a file; give a folder of class folders"):
        load_data(tmp_path / "images.zip")


def test_a_path_that_the_system_refuses_is_named():
    with pytest.raises(DatasetError, match=r"cannot read 'aaa.*: File name too long; give a folder"):
        load_data("a" * 5000)
