"""Statistics of large datasets are measured once; a cache that fails is no error."""

import json

import pytest
import torch

from xnas.data import ImageData, channel_statistics
from xnas.data.statistics_cache import cache_folder, remembered

VALUES = ((0.1, 0.2, 1 / 3), (0.3, 0.2, 0.1))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XNAS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "statistics"


def fail(*_):
    raise AssertionError("measured again")


def test_what_was_measured_is_remembered_to_the_last_bit(cache):
    assert remembered("key", lambda: VALUES) == VALUES
    assert remembered("key", fail) == VALUES
    assert [path.name for path in cache.iterdir()] == ["key.json"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "other", "version": 1, "mean": [0.1], "std": [0.1]}',
        '{"format": "xnas-statistics", "version": 2, "mean": [0.1], "std": [0.1]}',
        '{"format": "xnas-statistics", "version": 1, "mean": [0.1, 0.2], "std": [0.1]}',
        '{"format": "xnas-statistics", "version": 1, "mean": ["x"], "std": [0.1]}',
        '{"format": "xnas-statistics", "version": 1, "mean": [NaN], "std": [0.1]}',
        '{"format": "xnas-statistics", "version": 1, "mean": [0.1], "std": [0.0]}',
        '{"format": "xnas-statistics", "version": 1, "mean": [], "std": []}',
    ],
)
def test_a_damaged_file_is_measured_again_and_replaced(cache, text):
    cache.mkdir(parents=True)
    (cache / "key.json").write_text(text, encoding="utf8")
    assert remembered("key", lambda: VALUES) == VALUES
    assert json.loads((cache / "key.json").read_text(encoding="utf8"))["std"] == [0.3, 0.2, 0.1]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf8")
    monkeypatch.setenv("XNAS_CACHE", str(tmp_path / "file"))
    assert remembered("key", lambda: VALUES) == VALUES


def test_the_cache_is_where_the_system_keeps_caches(monkeypatch, tmp_path):
    monkeypatch.delenv("XNAS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "xnas"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "xnas"


def build(seed=0):
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(256, (6, 1, 8, 8), dtype=torch.uint8, generator=generator)
    return ImageData(name="mine", images=images, labels=torch.arange(6) % 2, classes=("a", "b"))


def test_large_datasets_use_the_cache_and_small_ones_do_not(cache, monkeypatch):
    build()
    assert not cache.exists()
    monkeypatch.setattr("xnas.data.images.REMEMBERED", 5)
    first = build()
    assert (first.mean, first.std) == channel_statistics(first.images)
    monkeypatch.setattr("xnas.data.images.channel_statistics", fail)
    assert build().mean == first.mean
    with pytest.raises(AssertionError, match="measured again"):
        build(seed=1)  # other images, another key
