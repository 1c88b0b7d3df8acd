"""Options of the data: their bounds, and the folder of datasets."""

from pathlib import Path

import pytest

from xnas import ConfigError
from xnas.data_options import DataOptions, SourceOptions


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"image_size": 7}, "image-size must be at least 8, got 7"),
        ({"image_size": 4097}, "image-size must be at most 4,096, got 4097"),
        ({"fold": 5}, r"fold must lie in 0\.\.4, got 5"),
        ({"fold": -1}, r"fold must lie in 0\.\.4, got -1"),
        ({"resize": "bend"}, "resize must be crop, pad, stretch or None, got 'bend'"),
        ({"data_dir": __file__}, "data-dir must be a folder, got the file .*test_data_options.py"),
    ],
)
def test_what_cannot_be_read_so_is_named(given, words):
    with pytest.raises(ConfigError, match=words):
        DataOptions(**given)


def test_a_folder_may_be_given_as_a_string_and_need_not_be_there():
    assert SourceOptions(data_dir="nowhere").data_dir == Path("nowhere")
