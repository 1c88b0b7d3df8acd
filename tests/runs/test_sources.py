"""Where the images of a run come from, and where its batches are made."""

import json

import pytest
import torch
from searching import stripes

from xnas import ConfigError
from xnas.data import BatchSource, load_data
from xnas.runs.sources import (
    EMBEDDED,
    Sources,
    data_of,
    given_data,
    holding,
    require_outside,
    whereabouts,
)

CPU = torch.device("cpu")


@pytest.mark.parametrize("out", ["photos", "photos/run", "photos/deep/er", "./photos/../photos/run"])
def test_results_do_not_go_into_the_folder_of_the_images(tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    for data in ("photos", str(tmp_path / "photos"), "photos/"):
        with pytest.raises(
            ConfigError, match=r"lies in the data folder .*photos/?, where .* with --out"
        ):
            require_outside(tmp_path / out, data)


def test_results_may_lie_anywhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for out, data in (("run", "photos"), ("photos-run", "photos"), ("digits/run", "digits")):
        require_outside(tmp_path / out, data)


def test_the_default_run_folder_is_looked_at_where_images_lie_in_the_working_folder(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"runs lies in the data folder \., where results"):
        given_data(".", None)
    assert given_data(".", tmp_path.parent / "elsewhere") == "."
    assert given_data("digits", None) == "digits"


def test_what_is_no_data_is_named():
    with pytest.raises(ConfigError, match="data must be a dataset's name, a folder or images, got int"):
        given_data(3, None)


def test_a_dataset_is_named_as_it_is_and_a_folder_by_its_whole_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert whereabouts("digits") == "digits"
    assert whereabouts("photos") == str(tmp_path / "photos")


def test_a_run_says_where_its_images_are(tmp_path):
    assert data_of(None) == EMBEDDED
    with pytest.raises(ConfigError, match="does not say where its images are; name those to train on"):
        data_of(tmp_path)  # a genotype alone, without the config.json of its search
    saved = {"format": "xnas-run", "version": 1, "kind": "search", "data": "cifar10", "config": {}}
    (tmp_path / "config.json").write_text(json.dumps(saved), encoding="utf8")
    assert data_of(tmp_path) == "cifar10"


def test_batches_of_images_in_memory_have_the_size_that_is_asked_for():
    images = stripes(40)
    sources = Sources(images, CPU, batch_size=8, seed=0, count=1, size=(6, 6))
    source = sources.make("training", torch.arange(40))
    assert isinstance(source, BatchSource)
    source.begin_epoch(0, 5)
    pixels, labels = source.buffers()
    assert (pixels.shape[0], tuple(pixels.shape[-2:]), len(labels)) == (8, (6, 6), 8)
    assert sources.test_batches() is None


def test_test_images_come_once_each():
    digits = load_data("digits")
    batches = Sources(digits, CPU, batch_size=100, seed=0, count=1).test_batches()
    assert sorted(torch.cat([labels for _, labels in batches])) == sorted(digits.test_labels)


def test_it_is_said_where_images_are():
    images = stripes(40)
    shape = f"{images.channels} x 8 x 8"
    assert f"40 training images of {shape}, all in memory on cpu (0 MiB)" in holding(images, CPU)
