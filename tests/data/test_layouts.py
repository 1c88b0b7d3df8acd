"""Folders that are one step away from class folders: the error names the step."""

import pytest
from PIL import Image

from xnas.data import load_data
from xnas.errors import DatasetError


def fill(folder, count=5):
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(count):
        Image.new("L", (16, 16), 40 * index).save(folder / f"{index}.png")


def wrapped(root):
    for name in ("rose", "tulip"):
        fill(root / "flowers" / name)


def by_year(root):
    for year in ("2019", "2020"):
        for name in ("rose", "tulip"):
            fill(root / year / name)


def one_class_deeper(root):
    fill(root / "rose")
    fill(root / "tulip" / "2020")


def a_run(root):
    (root / "checkpoints").mkdir()
    (root / "config.json").write_text("{}", encoding="utf8")


def other_names(root):
    for part in ("training", "validation"):
        for name in ("rose", "tulip"):
            fill(root / part / name)


def table(root):
    fill(root)
    (root / "labels.csv").write_text("file,label\n", encoding="utf8")


def table_in_train(root):
    fill(root / "train")
    fill(root / "test")
    (root / "train" / "metadata.jsonl").write_text("{}\n", encoding="utf8")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (wrapped, r"lie one folder too deep, as in flowers/rose; .*: give .*/flowers$"),
        (by_year, r"lie one folder too deep, as in 2019/rose; .*: move the images or folders up"),
        (one_class_deeper, r"one folder too deep, as in tulip/2020; .*: move the images or folders up"),
        (a_run, "is the folder of a run, not of images"),
        (other_names, r"has a part called 'training'; parts are train, .*: rename training to train"),
        (table, r"holds 5 images and labels.csv, but no class folders; labels in a table are not read"),
        (table_in_train, r"train holds 5 images and metadata.jsonl, but no class folders"),
    ],
)
def test_a_layout_that_is_not_read_is_named_with_the_step_to_one_that_is(tmp_path, build, words):
    build(tmp_path)
    with pytest.raises(DatasetError, match=words) as error:
        load_data(tmp_path)
    assert "\n" not in str(error.value)


def test_a_class_called_training_is_a_class(tmp_path):
    for name in ("training", "racing"):
        fill(tmp_path / name)
    assert load_data(tmp_path).classes == ("racing", "training")


def test_a_table_next_to_class_folders_is_no_reason_to_refuse_them(tmp_path):
    for name in ("rose", "tulip"):
        fill(tmp_path / name)
    (tmp_path / "labels.csv").write_text("file,label\n", encoding="utf8")
    assert load_data(tmp_path).classes == ("rose", "tulip")
