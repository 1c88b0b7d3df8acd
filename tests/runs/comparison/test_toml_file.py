"""Comparisons as files of TOML."""

import pytest

from xnas import CompareConfig, ConfigError
from xnas.runs.comparison.toml_file import is_toml, read_toml

TEXT = """
data = ["digits", "photos"]
space = "nasbench201"
methods = ["xnas", "darts"]
seeds = [0, 1]
train = "quick"

[search]
epochs = 20

[entries."without dropout"]
method = "xnas"
skip_dropout = 0
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "plan.toml"


def test_a_file_gives_settings_and_data(path):
    path.write_text(TEXT, encoding="utf8")
    settings, data = read_toml(path)
    assert data == ["digits", "photos"]
    config = CompareConfig(**settings)
    assert config.settings_of("search") == {"epochs": 20}
    assert config.entries == {"without dropout": {"method": "xnas", "skip_dropout": 0}}
    path.write_text('data = "digits"', encoding="utf8")
    assert read_toml(path) == ({}, ["digits"])
    assert is_toml(path)
    assert not is_toml("digits")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("method = 3", r"has the key 'method'; did you mean methods"),
        ("a = ", "cannot read the comparison"),
        ("entries = 3", "entries must be a table"),
        ('search = "epochs=3"', "search must be a table"),
        ("data = [1]", "data must be names or folders"),
    ],
)
def test_other_files_are_refused(path, text, words):
    path.write_text(text, encoding="utf8")
    with pytest.raises(ConfigError, match=words):
        read_toml(path)


def test_a_missing_file_is_refused(path):
    with pytest.raises(ConfigError, match=r"the comparison .*plan.toml is not there; give the path"):
        read_toml(path)
