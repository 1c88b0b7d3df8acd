"""Which files of a folder become training and test images, before any is decoded."""

import os
import time

import pytest
from photos_written import fill, flowers, write

from xnas.data import list_folder, load_data
from xnas.errors import ConfigError, DatasetError


def test_parts_are_used_as_they_are_and_val_joins_train(tmp_path):
    for value, part in ((10, "train"), (20, "val"), (30, "test")):
        flowers(tmp_path / part, mode="L", value=value)
    data = load_data(tmp_path)
    assert data.images[:, 0, 0, 0].tolist() == [10] * 10 + [20] * 10
    assert data.labels.tolist() == [0] * 5 + [1] * 5 + [0] * 5 + [1] * 5
    assert data.test_images[:, 0, 0, 0].unique().tolist() == [30]
    assert data.test_labels.tolist() == [0] * 5 + [1] * 5
    assert "val joins train" in data.note


def test_val_can_be_left_out(tmp_path):
    for value, part in ((10, "train"), (20, "valid"), (30, "test")):
        flowers(tmp_path / part, mode="L", value=value)
    data = load_data(tmp_path, use_val=False)
    assert data.images[:, 0, 0, 0].unique().tolist() == [10]
    assert "valid left out" in data.note


@pytest.mark.parametrize("part", ["", "train"])
def test_a_folder_without_val_is_not_asked_for_it(tmp_path, part):
    flowers(tmp_path / part)
    with pytest.raises(ConfigError, match="but it has no folder val next to train; leave it out"):
        load_data(tmp_path, use_val=True)


def test_a_class_called_train_is_a_class(tmp_path):
    flowers(tmp_path, classes=("bus", "car", "train"))
    fill(tmp_path / "train" / "thumbnails")
    fill(tmp_path / "train" / "more thumbnails")
    data = load_data(tmp_path)
    assert data.classes == ("bus", "car", "train")


def test_hidden_files_nested_folders_and_other_files_are_left_out(tmp_path):
    flowers(tmp_path)
    fill(tmp_path / ".thumbnails")
    fill(tmp_path / "__MACOSX")
    write(tmp_path / "rose" / ".hidden.png", value=(1, 1, 1))
    write(tmp_path / "rose" / "nested" / "deep.png")
    (tmp_path / "rose" / "notes.txt").write_text("no image", encoding="utf8")
    (tmp_path / "README.md").write_text("no class", encoding="utf8")
    data = load_data(tmp_path)
    assert data.classes == ("rose", "tulip")
    assert len(data.images) + len(data.test_images) == 10
    assert f"2 other files or folders left out (first: '{tmp_path}/rose/nested')" in data.note


def test_two_thousand_class_folders_are_read_in_bounded_time(tmp_path):
    image = tmp_path / "one.png"
    write(image, mode="L", size=(8, 8))
    root = tmp_path / "many"
    for label in range(2000):
        (root / f"class {label:04}").mkdir(parents=True)
        for index in range(4):
            os.link(image, root / f"class {label:04}" / f"{index}.png")
    started = time.perf_counter()
    data = load_data(root)
    assert time.perf_counter() - started < 20  # it takes about 2 s
    assert len(data.classes) == 2000
    assert (len(data.images), len(data.test_images)) == (6000, 2000)


def test_a_listing_decodes_nothing(tmp_path):
    for part in ("train", "val", "test"):
        flowers(tmp_path / part)
    for path in tmp_path.glob("*/*/*.png"):
        path.write_bytes(b"no image")
    index = list_folder(tmp_path)
    assert index.classes == ("rose", "tulip")
    assert (len(index.train), len(index.test)) == (20, 10)
    assert index.train.files[0] == tmp_path / "train" / "rose" / "0.png"
    assert index.train.labels.tolist() == [0] * 5 + [1] * 5 + [0] * 5 + [1] * 5
    assert index.notes == ("val joins train",)
    assert len(list_folder(tmp_path, use_val=False).train) == 10
    other = list_folder(tmp_path, val_is_test=True)
    assert {path.parts[-3] for path in other.test.files} == {"val"}


def test_class_folders_whose_names_are_not_utf8_are_refused(tmp_path):
    flowers(tmp_path)
    strange = os.fsencode(tmp_path) + b"/\xff\xfe"
    (tmp_path / "rose").rename(os.fsdecode(strange))
    with pytest.raises(
        DatasetError, match=r"'\\udcff\\udcfe' in .* a name that is not UTF-8; rename it"
    ):
        load_data(tmp_path)


def test_a_test_part_without_some_class_is_noted(tmp_path):
    flowers(tmp_path / "train", classes=("lily", "rose", "tulip"))
    flowers(tmp_path / "test", classes=("rose",))
    assert "test has no images of 2 of 3 classes, such as 'lily'" in load_data(tmp_path).note
