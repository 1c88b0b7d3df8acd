"""Links, pipes and odd names in a folder of images."""

import os

import pytest
from photos_written import flowers

from xnas.data import load_data
from xnas.data.folder_files import images_in, visible_folders
from xnas.errors import DatasetError


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


def test_images_are_distinguished_from_other_files_by_ending_and_kind(tmp_path):
    flowers(tmp_path)
    (tmp_path / "rose" / "notes.txt").write_text("soon", encoding="utf8")
    (tmp_path / "rose" / "folder.png").mkdir()
    (tmp_path / "rose" / ".hidden.png").write_bytes(b"")
    images, others = images_in(tmp_path / "rose")
    assert [path.name for path in images] == [f"{number}.png" for number in range(5)]
    assert [path.name for path in others] == ["folder.png", "notes.txt"]


def test_folders_are_listed_by_name_without_hidden_ones(tmp_path):
    flowers(tmp_path, classes=("tulip", "rose", ".git", "__MACOSX"))
    (tmp_path / "notes.txt").write_text("soon", encoding="utf8")
    assert [path.name for path in visible_folders(tmp_path)] == ["rose", "tulip"]
