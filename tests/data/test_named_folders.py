"""CINIC-10, the Freiburg groceries and ImageNet are read from the folders that their archives make."""

import pytest
import torch
from datasets_made import CINIC_CLASSES, make_cinic10, make_freiburg, make_imagenet

from xnas.data import ImageData, StreamedImages, load_data
from xnas.errors import ConfigError, DatasetError


@pytest.fixture(autouse=True)
def _nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XNAS_DATA", raising=False)


def reds(images):
    return images[:, 0, 0, 0].unique().tolist()


def test_cinic10_trains_on_train_alone(tmp_path):
    make_cinic10(tmp_path / "CINIC-10")
    data = load_data("cinic10", data_dir=tmp_path)
    assert (reds(data.images), reds(data.test_images)) == ([10], [30])
    assert (len(data.images), len(data.test_images)) == (40, 40)
    assert data.classes == CINIC_CLASSES
    assert data.images.shape[1:] == (3, 32, 32)
    assert "valid left out" in data.note
    assert "not whole: 80 of 180,000 images" in data.note


def test_cinic10_can_train_on_valid_too(tmp_path):
    make_cinic10(tmp_path / "CINIC-10")
    data = load_data("cinic10", data_dir=tmp_path, use_val=True)
    assert (reds(data.images), reds(data.test_images)) == ([10, 20], [30])
    assert "not whole: 120 of 270,000 images" in data.note


def test_grey_images_among_those_of_cinic10_become_colour(tmp_path):
    root = make_cinic10(tmp_path / "CINIC-10")
    from PIL import Image  # noqa: PLC0415 - one test alone

    Image.new("L", (32, 32), 77).save(root / "train" / "airplane" / "cifar10-train-0.png")
    assert load_data("cinic10", data_dir=tmp_path).images[0, :, 0, 0].tolist() == [77, 77, 77]


def test_a_part_that_is_missing_is_named(tmp_path):
    root = make_cinic10(tmp_path / "CINIC-10", each=1)
    (root / "test").rename(root / "elsewhere")
    with pytest.raises(DatasetError, match=r"CINIC-10 in .* lacks the folder test; .*xnas data cinic10"):
        load_data("cinic10", data_dir=tmp_path)


def test_freiburg_has_the_images_that_a_fold_lists(tmp_path):
    make_freiburg(tmp_path / "freiburg_groceries_dataset")
    for fold in (0, 4):
        data = load_data("freiburg", data_dir=tmp_path, fold=fold)
        middle = data.test_images[:, 0, 48, 48].tolist()  # an image's red is its number
        assert middle == [number for number in range(30) if number % 5 == fold]
        assert data.test_labels.tolist() == [number // 10 for number in middle]
        assert data.classes == ("BEANS", "CAKE", "CANDY")
        assert f"fold {fold} of 0..4" in data.note


def test_freiburg_is_padded_to_squares_of_96(tmp_path):
    make_freiburg(tmp_path / "freiburg_groceries_dataset")
    data = load_data("freiburg", data_dir=tmp_path)
    assert (data.size, data.resize) == ((96, 96), "pad")
    green = data.images[0, 1, :, 48]  # images are 128 x 256: black, picture, black
    assert green.tolist() == [0] * 24 + [200] * 48 + [0] * 24


def test_size_and_rule_of_freiburg_can_be_set(tmp_path):
    make_freiburg(tmp_path / "freiburg_groceries_dataset")
    data = load_data("freiburg", data_dir=tmp_path, image_size=32, resize="stretch")
    assert (data.size, data.resize) == ((32, 32), "stretch")
    assert reds(data.images[:, 1:2]) == [200]  # no black


def test_folds_are_freiburgs_alone():
    with pytest.raises(ConfigError, match="fold 1 was asked of digits, but only freiburg has folds"):
        load_data("digits", fold=1)
    with pytest.raises(ConfigError, match=r"fold must lie in 0\.\.4, got 5"):
        load_data("freiburg", fold=5)


@pytest.mark.parametrize("name", ["digits", "imagenet"])
def test_images_for_validation_are_cinic10s_alone(name):
    with pytest.raises(
        ConfigError, match=f"use-val was asked of {name}, .* only cinic10 has images for"
    ):
        load_data(name, use_val=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("BEANS/BEANS0001.png 15\n", "lists BEANS/BEANS0001.png for training and for test"),
        ("", "test0.txt lists nothing where CLASS/FILE is expected"),
        ("../../secret.png 3\n", "test0.txt lists '../../secret.png' where CLASS/FILE is expected"),
        ("BEANS/../x.png 3\n", "where CLASS/FILE is expected"),
        (
            "BEANS/BEANS0777.png 15\n",
            "1 of the 1 images .* are not in .*; the first: BEANS/BEANS0777.png",
        ),
    ],
)
def test_lists_that_cannot_be_right_are_refused(tmp_path, text, words):
    root = make_freiburg(tmp_path / "freiburg_groceries_dataset")
    (root / "splits" / "test0.txt").write_text(text, encoding="utf8")
    with pytest.raises(DatasetError, match=words):
        load_data("freiburg", data_dir=tmp_path)


def test_a_list_that_is_missing_is_named(tmp_path):
    root = make_freiburg(tmp_path / "freiburg_groceries_dataset")
    (root / "splits" / "train3.txt").unlink()
    with pytest.raises(DatasetError, match=r"cannot read .*train3.txt .*get the lists of the folds"):
        load_data("freiburg", data_dir=tmp_path, fold=3)


def test_imagenets_val_part_is_for_test(tmp_path):
    make_imagenet(tmp_path / "imagenet")
    data = load_data("imagenet", data_dir=tmp_path)
    assert data.classes == ("n01440764", "n01443537", "n01484850")
    assert data.images.shape == data.test_images.shape == (12, 3, 64, 64)
    assert torch.equal(data.labels, data.test_labels)
    assert "not whole: 24 of 1,331,167 images" in data.note
    assert "3 of 1000 classes" in data.note


def test_a_val_part_without_class_folders_says_how_to_sort_it(tmp_path):
    root = make_imagenet(tmp_path / "imagenet")
    for path in list((root / "val").glob("*/*.JPEG")):
        path.rename(root / "val" / path.name)
    for folder in list((root / "val").iterdir()):
        if folder.is_dir():
            folder.rmdir()
    with pytest.raises(DatasetError, match="val holds images but no class folders; sort them with"):
        load_data("imagenet", data_dir=tmp_path)


def test_imagenet_that_memory_does_not_hold_is_streamed(tmp_path, monkeypatch):
    make_imagenet(tmp_path / "imagenet")
    monkeypatch.setattr("xnas.data.folders.available_memory", lambda: 4 * 24 * 3 * 64 * 64 - 1)
    data = load_data("imagenet", data_dir=tmp_path)
    assert isinstance(data, StreamedImages)
    assert "streamed from their files" in data.note
    monkeypatch.undo()
    held = load_data("imagenet", data_dir=tmp_path)
    assert isinstance(held, ImageData)
    assert data.classes == held.classes
    assert torch.equal(data.labels, held.labels)
    assert torch.equal(data.images.read(3), held.images[3])
    assert torch.equal(data.test_images.read(1), held.test_images[1])
