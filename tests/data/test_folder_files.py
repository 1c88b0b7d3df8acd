"""Links, pipes and odd names in a folder of images."""

import os

import numpy as np
import pytest
from PIL import Image

from xnas.data import load_data
from xnas.errors import DatasetError


def write(path, *, mode="RGB", size=(16, 16), value=None, **options):
    """An image of one colour, or of noise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width = size
    if value is None:
        pixels = np.random.default_rng(0).integers(256, size=(height, width, 3), dtype=np.uint8)
        image = Image.fromarray(pixels).convert(mode)
    else:
        image = Image.new(mode, (width, height), value)
    image.save(path, **options)


def fill(folder, count=5, ending="png", **options):
    for index in range(count):
        write(folder / f"{index}.{ending}", **options)


def flowers(root, classes=("rose", "tulip"), **options):
    for name in classes:
        fill(root / name, **options)
    return root


def test_links_that_lead_back_lead_nowhere(tmp_path):
    flowers(tmp_path)
    (tmp_path / "rose" / "again").symlink_to(tmp_path)
    (tmp_path / "tulip" / "again").symlink_to(tmp_path / "tulip")
    data = load_data(tmp_path)
    assert len(data.images) + len(data.test_images) == 10
    assert "2 other files or folders left out" in data.note


def test_a_class_that_is_a_link_in_a_circle_is_named(tmp_path):
    flowers(tmp_path)
    (tmp_path / "lily").symlink_to(tmp_path / "lily")
    with pytest.raises(DatasetError, match="lily is a link that leads nowhere or in a circle; fix"):
        load_data(tmp_path)


def test_an_image_that_is_a_link_to_nowhere_is_a_bad_image(tmp_path):
    flowers(tmp_path)
    (tmp_path / "rose" / "0.png").unlink()
    (tmp_path / "rose" / "0.png").symlink_to(tmp_path / "gone.png")
    with pytest.raises(DatasetError, match=r"cannot read the image .*rose/0.png \(.*No such file"):
        load_data(tmp_path)


def test_a_pipe_that_is_called_like_an_image_is_not_waited_for(tmp_path):
    flowers(tmp_path)
    os.mkfifo(tmp_path / "rose" / "pipe.png")
    told = f"1 other file or folder left out (first: '{tmp_path}/rose/pipe.png')"
    assert told in load_data(tmp_path).note


def test_linked_class_folders_are_followed(tmp_path):
    flowers(tmp_path / "elsewhere")
    (tmp_path / "here").mkdir()
    for name in ("rose", "tulip"):
        (tmp_path / "here" / name).symlink_to(tmp_path / "elsewhere" / name)
    assert load_data(tmp_path / "here").classes == ("rose", "tulip")
