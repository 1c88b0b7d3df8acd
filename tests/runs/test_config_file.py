"""config.json: what is written is read, and nothing else."""

import json

import pytest

from xnas import ConfigError, SearchConfig
from xnas.engine.distributed import Ranks
from xnas.errors import DamagedFileError, VersionError
from xnas.runs.config_file import ConfigFile, config_of, images_of, read_json


@pytest.fixture
def written(tmp_path):
    config = config_of("search", "digits", "0123", SearchConfig(seed=3, out=tmp_path), processes=2)
    (tmp_path / "config.json").write_text(config.text(), encoding="utf8")
    return config


def test_what_is_written_is_read(written, tmp_path):
    read = ConfigFile.read(tmp_path, "search")
    assert (read.data, read.fingerprint, read.processes) == ("digits", "0123", 2)
    assert read.deciding(SearchConfig) == written.deciding(SearchConfig)
    assert images_of(tmp_path) == "digits"


def test_settings_that_do_not_decide_the_rounds_are_left_out(written):
    decide = written.deciding(SearchConfig)
    assert (decide["seed"], decide["images"], decide["processes"]) == (3, "0123", 2)
    assert not {"out", "device", "quiet", "data_dir", "checkpoint_minutes", "backend"} & decide.keys()


def test_another_number_of_processes_is_refused(written, tmp_path):
    written.require_processes(tmp_path, Ranks(size=2))
    with pytest.raises(ConfigError, match=r"begun by 2 processes .* are 1; resume it with 2: torchrun"):
        written.require_processes(tmp_path, Ranks())


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"format": "other"}, ConfigError, "is not a run folder: the format of config.json is 'other'"),
        ({"version": 9}, VersionError, "has format version 9, this xnas reads 1"),
        ({"kind": "train"}, ConfigError, "a training, not a search; resume it with: xnas train --res"),
        ({"kind": "walk"}, ConfigError, "a walk, not a search; give the run folder of a search"),
        ({"data": 3}, DamagedFileError, "the images are missing"),
        ({"data_fingerprint": None}, DamagedFileError, "the images are missing"),
        ({"config": []}, DamagedFileError, "the settings are missing"),
        ({"processes": 0}, DamagedFileError, "the number of processes is 0"),
        ({"processes": True}, DamagedFileError, "the number of processes is True"),
    ],
)
def test_what_is_no_config_of_this_kind_is_refused(written, tmp_path, change, kind, words):
    saved = json.loads(written.text()) | change
    (tmp_path / "config.json").write_text(json.dumps(saved), encoding="utf8")
    with pytest.raises(kind, match=words):
        ConfigFile.read(tmp_path, "search")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "cannot read .*; it may be damaged: fix it"),
        (b"[" * 10**5, "cannot read .*; it may be damaged: fix it"),
        (b"[1]", "does not hold an object; fix it"),
        (b'{"a": "' + b"x" * 200 + b'"}', "it has more than 100 bytes"),
    ],
)
def test_json_of_a_run_is_bounded(tmp_path, content, words):
    path = tmp_path / "some.json"
    path.write_bytes(content)
    most = 100 if b"x" in content else 10**6
    with pytest.raises(DamagedFileError, match=words):
        read_json(path, most, "fix it")
