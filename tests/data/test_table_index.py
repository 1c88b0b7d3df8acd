"""Files whose labels stand in a table, in the places where people keep them."""

import pytest
from photos_written import fill, write

from xnas.data import load_data
from xnas.errors import DatasetError

LINES = [f"{index}.png,{'rose' if index % 2 else 'tulip'}" for index in range(10)]


def save(path, lines, header="path,label"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *lines]), encoding="utf8")


def next_to_the_images(root):
    fill(root, count=10)
    save(root / "labels.csv", LINES)


def images_in_a_folder_and_ids_without_endings(root):
    fill(root / "images", count=10, ending="jpg")
    save(root / "train.csv", [line.replace(".png", "") for line in LINES], header="id,breed")
    save(root / "sample_submission.csv", ["1,rose"])


def hugging_face(root):
    for part in ("train", "validation", "test"):
        fill(root / part, count=10)
        save(root / part / "metadata.csv", LINES, header="file_name,label")


def parts_in_the_paths(root):
    for part in ("train", "test"):
        fill(root / part, count=10)
    save(root / "metadata.csv", [f"{part}/{line}" for part in ("train", "test") for line in LINES])


def kaggle(root):
    for part in ("train", "test"):
        fill(root / part, count=10)
    save(root / "train.csv", LINES)
    save(root / "test.csv", [line.split(",")[0] for line in LINES], header="path")


@pytest.mark.parametrize(
    ("build", "train", "test"),
    [
        (next_to_the_images, 8, 2),
        (images_in_a_folder_and_ids_without_endings, 8, 2),
        (hugging_face, 20, 10),
        (parts_in_the_paths, 10, 10),
    ],
)
def test_labels_of_a_table_give_classes_and_parts(tmp_path, build, train, test):
    build(tmp_path)
    data = load_data(tmp_path)
    assert data.classes == ("rose", "tulip")
    assert (len(data.images), len(data.test_images)) == (train, test)
    assert "labels of 10 images from" in data.note or "labels of 20 images" in data.note


def test_a_table_without_labels_for_the_test_is_left_out(tmp_path):
    kaggle(tmp_path)
    data = load_data(tmp_path)
    assert (len(data.images), len(data.test_images)) == (8, 2)
    assert "test.csv has no labels and was left out" in data.note


def test_a_table_may_be_given_itself_and_what_it_does_not_list_is_left_out(tmp_path):
    next_to_the_images(tmp_path)
    write(tmp_path / "odd.png")
    (tmp_path / "other.csv").touch()
    data = load_data(tmp_path / "labels.csv")
    assert data.name == "labels"
    assert "1 image that it does not list left out (first: " in data.note


def test_each_image_has_the_label_of_its_line(tmp_path):
    for index in range(10):
        write(tmp_path / f"{index}.png", value=(25 * index, 0, 0))
    save(tmp_path / "labels.csv", LINES[::-1])
    data = load_data(tmp_path)
    red = data.images[:, 0, 0, 0] // 25
    assert (red % 2).tolist() == [1 - label for label in data.labels.tolist()]  # odd ones are roses


def test_whole_numbers_are_classes_in_the_order_of_their_values(tmp_path):
    fill(tmp_path, count=15)
    save(tmp_path / "labels.csv", [f"{index}.png,{(2, 10, 1)[index % 3]}" for index in range(15)])
    assert load_data(tmp_path).classes == ("1", "2", "10")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            [*LINES, "../1.png,rose"],
            r"line 12 of .* names '../1.png', which lies outside its folder; mov",
        ),
        ([*LINES, "/etc/1.png,rose"], r"names '/etc/1.png', which lies outside its folder"),
        (
            [*LINES, "11.png,rose"],
            r"1 of the 11 images .* cannot be found; the first, 11.png on line 12, i",
        ),
        ([*LINES, "labels.csv,rose"], r"labels.csv on line 12, is no image Pillow reads"),
        ([*LINES, "./1.png,rose"], r"1.png is listed twice; remove one of its lines"),
        (["1.png,rose"], r"have one class, 'rose'; a classifier needs 2"),
        ([*LINES[:8], "8.png,lily"], r"class 'lily' .* has too few images to split: 1"),
    ],
)
def test_a_table_that_does_not_match_its_files_is_refused_in_one_line(tmp_path, lines, words):
    fill(tmp_path, count=10)
    save(tmp_path / "labels.csv", lines)
    with pytest.raises(DatasetError, match=words) as error:
        load_data(tmp_path)
    assert "\n" not in str(error.value)


def test_a_test_label_that_no_training_image_has_is_refused(tmp_path):
    hugging_face(tmp_path)
    save(tmp_path / "test" / "metadata.csv", ["1.png,lily"], header="file_name,label")
    with pytest.raises(DatasetError, match="has the label 'lily', which no training image has"):
        load_data(tmp_path)


def test_one_of_several_tables_has_to_be_named(tmp_path):
    next_to_the_images(tmp_path)
    (tmp_path / "labels.csv").rename(tmp_path / "a.csv")
    (tmp_path / "b.csv").touch()
    with pytest.raises(DatasetError, match=r"several tables \(a.csv, b.csv\); give the one"):
        load_data(tmp_path)
