"""Names of parts as people have them."""

import pytest
from photos_written import fill, flowers

from xnas.data.part_names import part_called, parts_in


@pytest.mark.parametrize(
    ("name", "part"),
    [("Training", "train"), ("valid", "val"), (" TEST ", "test"), ("rose", None), ("", None)],
)
def test_a_part_is_known_by_many_names(name, part):
    assert part_called(name) == part


def test_a_folder_of_locomotives_is_no_part(tmp_path):
    fill(tmp_path / "train")
    flowers(tmp_path / "test")
    assert parts_in(tmp_path) == {"train": [], "val": [], "test": []}
