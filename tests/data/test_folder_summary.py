"""What `xnas data FOLDER` knows of a folder, from names and headers alone."""

import pytest
from PIL import Image

from xnas.data import load_data
from xnas.data.folder_summary import summarize_folder
from xnas.data_options import DataOptions
from xnas.errors import DatasetError


@pytest.fixture
def photos(tmp_path):
    for name, count in (("rose", 10), ("tulip", 5)):
        (tmp_path / name).mkdir()
        for index in range(count):
            size = (40, 60) if index else (20, 20)
            Image.new("RGB" if index != 1 else "L", size).save(tmp_path / name / f"{index}.png")
    return tmp_path


def test_counts_sizes_and_shape_are_those_that_loading_gives(photos):
    found, data = summarize_folder(photos), load_data(photos)
    assert (found.examples, found.test_examples) == (len(data.labels), len(data.test_labels))
    assert (found.size, found.channels, found.resize) == (data.size, data.channels, data.resize)
    assert list(found.counts) == list(data.classes)
    assert sum(found.sizes.values()) == sum(found.modes.values()) == found.examples
    assert found.refusal == ""


def test_a_folder_that_loading_refuses_is_refused_with_the_same_words(photos):
    (photos / "rose" / "3.png").write_bytes(b"no image")
    with pytest.raises(DatasetError) as refused:
        load_data(photos)
    assert summarize_folder(photos).refusal == str(refused.value)
    skipping = summarize_folder(photos, DataOptions(skip_bad_images=True))
    assert (skipping.refusal, skipping.bad) == ("", 1)
    assert skipping.examples + skipping.test_examples == 14


def test_a_small_image_is_bad_unless_a_size_enlarges_it(photos):
    Image.new("RGB", (7, 60)).save(photos / "rose" / "3.png")
    (photos / "rose" / "4.png").write_bytes(b"no image")
    assert summarize_folder(photos).bad == 2
    assert "2 of 15 images cannot be used" in summarize_folder(photos).refusal
    enlarged = summarize_folder(photos, DataOptions(image_size=32))
    assert (enlarged.bad, "4.png" in enlarged.refusal) == (1, True)
