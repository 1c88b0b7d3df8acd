"""Files are decoded to their ends."""

import pytest
from photos_written import flowers

from xnas.data import DataOptions
from xnas.data.checking import check_files, files_of
from xnas.errors import ConfigError


def test_a_file_that_ends_early_is_found_although_its_header_is_sound(tmp_path):
    flowers(tmp_path, size=(64, 64))
    cut = tmp_path / "rose" / "3.png"
    cut.write_bytes(cut.read_bytes()[:2000])
    found = list(check_files(files_of(str(tmp_path), DataOptions())))
    assert len(found) == 10
    (bad,) = [error for error in found if error is not None]
    assert f"cannot read the image {cut}" in str(bad)


@pytest.mark.parametrize("name", [None, "digits"])
def test_what_has_no_image_files_cannot_be_checked(name):
    with pytest.raises(ConfigError, match="--check decodes the image files of a folder, got"):
        files_of(name, DataOptions())
