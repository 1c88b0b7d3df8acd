"""All folds of a dataset by one command: a training each, resumable, with mean and spread."""

import json
import shutil
import statistics
from pathlib import Path

import pytest
from datasets_made import make_freiburg

from xnas import ConfigError, SearchConfig, TrainConfig, search, train
from xnas.cli import main
from xnas.errors import DamagedFileError, DatasetError, VersionError
from xnas.runs import folds
from xnas.runs.folds import FoldsResult, resume_folds, train_folds

SAMPLES = Path(__file__).parents[1] / "samples"
SMALL = {"epochs": 1, "cells": 3, "channels": 2, "image_size": 8, "batch_size": 8, "device": "cpu"}


@pytest.fixture
def groceries(tmp_path):
    make_freiburg(tmp_path / "data" / "freiburg_groceries_dataset")
    return tmp_path / "data"


def config(groceries, out, **settings):
    return TrainConfig(cell="xnas", data_dir=groceries, out=out, quiet=True, **SMALL | settings)


@pytest.mark.slow
def test_every_fold_is_trained_and_a_stopped_set_ends_like_a_whole_one(
    groceries, tmp_path, monkeypatch, capsys
):
    whole = train_folds(config(groceries, tmp_path / "whole"), "freiburg")
    tested = [
        json.loads((tmp_path / "whole" / f"fold-{k}" / "test.json").read_text())["top1"]
        for k in range(5)
    ]
    assert whole.errors == tuple(1 - top1 for top1 in tested)
    saved = json.loads((tmp_path / "whole" / "folds.json").read_text())
    assert saved["mean"] == statistics.fmean(whole.errors) == whole.mean
    assert saved["deviation"] == statistics.stdev(whole.errors) == whole.deviation
    splits = {
        json.loads((tmp_path / "whole" / f"fold-{k}" / "config.json").read_text())["data_fingerprint"]
        for k in range(5)
    }
    assert len(splits) == 5  # each trains on other images

    begun = []

    def stops_in_the_third(options, data):
        begun.append(options.fold)
        if len(begun) == 3:
            raise KeyboardInterrupt
        return train(options, data)

    out = tmp_path / "stopped"
    with monkeypatch.context() as patched:
        patched.setattr(folds, "train", stops_in_the_third)
        with pytest.raises(KeyboardInterrupt):
            train_folds(config(groceries, out), "freiburg")
    assert "mean" not in json.loads((out / "folds.json").read_text())
    before = (out / "fold-0" / "test.json").stat().st_mtime_ns
    assert resume_folds(out, quiet=True).errors == whole.errors
    assert (out / "fold-0" / "test.json").stat().st_mtime_ns == before  # what has ended is kept
    assert capsys.readouterr().out == ""


def test_mean_and_deviation_are_those_of_the_errors():
    result = FoldsResult(out="x", errors=(0.1, 0.3))
    assert (result.mean, result.deviation) == (pytest.approx(0.2), pytest.approx(0.02**0.5))
    assert FoldsResult(out="x", errors=(0.1,)).deviation == 0.0


def test_other_data_and_other_commands_have_no_set_of_folds(groceries, tmp_path):
    with pytest.raises(ConfigError, match="fold all was asked of digits, but only freiburg has folds"):
        train_folds(config(groceries, tmp_path / "run"), "digits")
    with pytest.raises(ConfigError, match="fold all is a training for each fold: use xnas train, or"):
        search(SearchConfig(fold="all", data_dir=groceries), "freiburg", quiet=True)
    with pytest.raises(ConfigError, match="fold must be a whole number, all or None, got 'every'"):
        TrainConfig(cell="xnas", fold="every")
    with pytest.raises(ConfigError, match=r"fold must lie in 0\.\.4, got 5"):
        TrainConfig(cell="xnas", fold=5)


def test_a_folder_in_use_and_damaged_files_are_refused(groceries, tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    (out / "folds.json").write_text("{}")
    with pytest.raises(ConfigError, match="not empty; resume what is there with: xnas train --resume"):
        train_folds(config(groceries, out), "freiburg")
    with pytest.raises(VersionError, match="not of format xnas-folds version 1"):
        resume_folds(out)
    start = {"format": "xnas-folds", "version": 1, "data": "freiburg"}
    (out / "folds.json").write_text(json.dumps(start))
    with pytest.raises(DamagedFileError, match="data, folds or settings are missing"):
        resume_folds(out)
    (out / "folds.json").write_text(json.dumps(start | {"folds": 5, "settings": {}}))
    with pytest.raises(DamagedFileError, match="has lost the file of its cell; copy it from"):
        resume_folds(out)


def test_a_set_of_version_1_is_read(tmp_path):
    shutil.copytree(SAMPLES / "folds-v1", tmp_path / "set")
    with pytest.raises(DatasetError, match="no Freiburg Groceries files"):  # which come after the file
        resume_folds(tmp_path / "set", quiet=True, data_dir=tmp_path)


@pytest.mark.slow
def test_the_command_trains_all_folds_and_says_so(groceries, tmp_path, capsys):
    out = str(tmp_path / "set")
    small = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]
    command = ["train", "xnas", "freiburg", "--data-dir", str(groceries), "--fold", "all", *small]
    main([*command, "--out", out])
    told = capsys.readouterr().out
    assert "% (mean and standard deviation of 5 folds: " in told
    main(["train", "--resume", out])
    assert told.splitlines()[-2] in capsys.readouterr().out
