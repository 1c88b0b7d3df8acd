"""Folders that are one step away from class folders: some are read, others named with the step."""

import pytest
from photos_written import fill, flowers

from xnas.data import load_data
from xnas.errors import DatasetError


def wrapped(root):
    flowers(root / "flowers")
    return 8, "read from the folder flowers in it"


def one_class_deeper(root):
    fill(root / "rose")
    fill(root / "tulip" / "2019", count=2)
    fill(root / "tulip" / "2020", count=3)
    return 8, ""


def other_names(root):
    flowers(root / "Training")
    flowers(root / "validation")
    flowers(root / "testing")
    return 20, "validation joins train"


def two_years(root):
    flowers(root / "2019")
    flowers(root / "2020")


def parts_inside(root):
    for name in ("rose", "tulip"):
        flowers(root / name, classes=("train", "test"))


def a_run(root):
    (root / "checkpoints").mkdir()
    (root / "config.json").write_text("{}", encoding="utf8")


def excel(root):
    fill(root)
    (root / "labels.xlsx").touch()


def parquet(root):
    root.joinpath("train.parquet").touch()


def masks(root):
    flowers(root, classes=("images", "masks"))


def boxes(root):
    flowers(root, classes=("images",))
    (root / "labels" / "train").mkdir(parents=True)
    (root / "labels" / "train" / "1.txt").touch()


def two_trains(root):
    flowers(root / "train")
    flowers(root / "training")


@pytest.mark.parametrize("build", [wrapped, one_class_deeper, other_names])
def test_folders_as_people_have_them_are_read(tmp_path, build):
    count, words = build(tmp_path)
    data = load_data(tmp_path)
    assert data.classes == ("rose", "tulip")
    assert len(data.images) == count  # without a part for it, 2 of 10 are held out as test
    assert words in data.note


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (two_years, r"folders of the same names, such as 2019/rose: either may be classes; move"),
        (parts_inside, r"hold the parts test, train; put the parts outside, as in test/rose"),
        (a_run, "is the folder of a run, not of images"),
        (excel, r"holds 5 images and labels.xlsx, but no class folders; save the labels as labels.csv"),
        (parquet, r"holds train.parquet, which is not read; in Python, give xnas.search"),
        (masks, r"has images and masks, as data for segmentation have; an image has one class here"),
        (boxes, r"has images and labels, as data for object detection have"),
        (two_trains, r"has both train and training, which mean the same part; rename or remove one"),
    ],
)
def test_a_layout_that_is_not_read_is_named_with_the_step_to_one_that_is(tmp_path, build, words):
    build(tmp_path)
    with pytest.raises(DatasetError, match=words) as error:
        load_data(tmp_path)
    assert "\n" not in str(error.value)


def test_a_class_called_training_is_a_class(tmp_path):
    flowers(tmp_path, classes=("training", "racing"))
    assert load_data(tmp_path).classes == ("racing", "training")


def test_a_class_called_mask_is_a_class(tmp_path):
    flowers(tmp_path, classes=("mask", "no_mask"))
    assert load_data(tmp_path).classes == ("mask", "no_mask")


def test_a_table_next_to_class_folders_is_no_reason_to_refuse_them(tmp_path):
    flowers(tmp_path)
    (tmp_path / "labels.csv").write_text("file,label\n", encoding="utf8")
    assert load_data(tmp_path).classes == ("rose", "tulip")
