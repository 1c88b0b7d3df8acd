"""comparison.json: what is written is read; a frozen one, too."""

import json
from pathlib import Path

import pytest

from xnas import ConfigError
from xnas.errors import DamagedFileError, VersionError
from xnas.options import saved_options
from xnas.runs.comparison.config import CompareConfig
from xnas.runs.comparison.state_file import read_state

SAMPLE = Path(__file__).parents[2] / "samples" / "comparison-v1"


def test_a_file_of_the_first_version_is_read():
    saved = read_state(SAMPLE)
    assert [(one.label, one.place) for one in saved.data] == [("stripes", None)]
    config = saved_options(CompareConfig, saved.config, {})
    assert (config.method_names, config.seed_numbers) == (("xnas", "darts"), (0, 1))
    assert saved.reasons == {"darts-0": "in round 3: the loss is nan"}


def changed(folder, **changes):
    saved = json.loads((SAMPLE / "comparison.json").read_text(encoding="utf8")) | changes
    (folder / "comparison.json").write_text(json.dumps(saved), encoding="utf8")
    return folder


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"version": 2}, VersionError, "has version 2, this xnas reads 1; resume it with the version"),
        ({"format": "x"}, ConfigError, "is no comparison: the format of comparison.json is 'x'"),
        ({"config": 3}, DamagedFileError, "settings, data or runs are missing"),
        ({"data": [3]}, DamagedFileError, "is damaged"),
        ({"runs": [3]}, DamagedFileError, "is damaged"),
        ({"data": [{}]}, DamagedFileError, "is damaged"),
    ],
)
def test_other_files_are_refused(tmp_path, changes, error, words):
    with pytest.raises(error, match=words):
        read_state(changed(tmp_path, **changes))


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"is no comparison: comparison.json is not there"):
        read_state(tmp_path)
    with pytest.raises(ConfigError, match="there is no folder"):
        read_state(tmp_path / "x")
    (tmp_path / "comparison.json").write_text("[", encoding="utf8")
    with pytest.raises(DamagedFileError, match=r"cannot read .*comparison.json"):
        read_state(tmp_path)
