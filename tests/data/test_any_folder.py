"""One way into folders of every layout and into tables."""

import pytest
from photos_written import fill, flowers

from xnas.data.any_folder import list_images
from xnas.errors import ConfigError, DatasetError


def test_a_table_inside_the_only_folder_is_found(tmp_path):
    fill(tmp_path / "photos" / "images", count=10)
    lines = "\n".join(f"{index}.png,{index % 2}" for index in range(10))
    (tmp_path / "photos" / "labels.csv").write_text(lines, encoding="utf8")
    index = list_images(tmp_path)
    assert (index.name, index.classes) == (tmp_path.name, ("0", "1"))
    assert index.notes[0] == "read from the folder photos in it"


def test_the_images_of_one_class_are_not_taken_for_a_dataset(tmp_path):
    flowers(tmp_path, classes=("rose",))
    with pytest.raises(DatasetError, match="has one class, 'rose'"):
        list_images(tmp_path)


def test_a_validation_part_that_is_wanted_must_be_there(tmp_path):
    flowers(tmp_path / "training")
    with pytest.raises(ConfigError, match="it has no folder val next to train; leave it out"):
        list_images(tmp_path, use_val=True)
    flowers(tmp_path / "validation")
    assert len(list_images(tmp_path, use_val=True).train) == 16  # a fifth of 20 is held out
