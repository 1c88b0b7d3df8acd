"""Searches and trainings as people write them in a script: settings by name, results handed on."""

import shutil
from pathlib import Path

import pytest
from searching import TINY as WHOLE
from searching import stripes
from torch.utils.data import TensorDataset

from xnas import (
    Callback,
    ConfigError,
    SearchConfig,
    TrainConfig,
    create_model,
    resume_search,
    sample,
    search,
    train,
)

pytestmark = pytest.mark.usefixtures("small_space")
TINY = WHOLE | {"space": "small"}
SMALL = {"cells": 3, "channels": 2, "batch_size": 8, "device": "cpu"}


class Counting(Callback):
    def __init__(self):
        self.rounds = self.steps = 0
        self.lines = []

    def say(self, line):
        self.lines.append(line)

    def after_round(self, search):
        self.rounds = search.rounds

    def after_step(self, training):
        self.steps = training.steps


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return search(stripes(), **TINY | {"epochs": 1}, out=tmp_path_factory.mktemp("s") / "r", quiet=True)


def test_a_search_takes_settings_by_name_and_prints_its_progress(tmp_path, capsys):
    counting = Counting()
    result = search(stripes(), **TINY | {"epochs": 1}, out=tmp_path / "run", callbacks=[counting])
    assert counting.rounds == result.rounds
    printed = capsys.readouterr().out
    assert "epoch   1/1  train" in printed
    assert counting.lines[0] in printed


def test_names_go_before_the_settings_and_quiet_prints_nothing(tmp_path, capsys):
    result = search(SearchConfig(**TINY), stripes(), epochs=1, out=tmp_path / "run", quiet=True)
    assert len(result.epochs) == 1
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""


def test_what_a_search_returns_can_be_built_and_trained(found, tmp_path, capsys):
    assert create_model(found, channels=2, cells=3, num_classes=2).genotype == found.genotype
    assert TrainConfig(cell=found).cell == Path(found.out)
    counting = Counting()
    result = train(
        found, stripes(), epochs=1, out=tmp_path / "t", quiet=True, callbacks=[counting], **SMALL
    )
    assert counting.steps == result.epochs[-1].steps
    assert capsys.readouterr().out == ""


def test_of_a_run_folder_that_is_gone_the_genotype_is_left(tmp_path):
    found = search(stripes(), **TINY | {"epochs": 1}, out=tmp_path / "run", quiet=True)
    shutil.rmtree(tmp_path / "run")
    assert TrainConfig(cell=found).cell == found.genotype


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: search("digits", epoch=3), r"xnas.search has no setting 'epoch'; did you mean epochs"),
        (lambda: search("digits", "cifar10"), r"settings or data first, got 'digits' and 'cifar10'"),
        (lambda: search(TrainConfig(), "digits"), r"xnas.search takes SearchConfig, got TrainConfig"),
        (lambda: train(SearchConfig(), "digits"), r"xnas.train takes TrainConfig, got SearchConfig"),
        (lambda: train("xnas", "digits", epoch=1), r"xnas.train has no setting 'epoch'"),
        (lambda: sample("digits", sampled=1), r"xnas.sample has no setting 'sampled'; .*sampler"),
        (lambda: train(3, "digits"), r"--cell must be str, Path, Genotype, Wiring, SearchResult or"),
    ],
)
def test_arguments_that_do_not_fit_are_named(call, words):
    with pytest.raises(ConfigError, match=words):
        call()


def test_a_dataset_of_python_is_searched_and_resumed_with_it(tmp_path):
    held = stripes()
    dataset = TensorDataset(held.images, held.labels)
    small = TINY | {"epochs": 1, "image_size": 8}
    found = search(dataset, **small, out=tmp_path / "run", quiet=True)
    assert found.rounds > 0
    (tmp_path / "run" / "genotype.json").unlink()
    again = resume_search(tmp_path / "run", data=dataset, quiet=True)
    assert again.genotype == found.genotype
    other = TensorDataset(held.images.flip(0), held.labels)
    (tmp_path / "run" / "genotype.json").unlink()
    with pytest.raises(ConfigError, match="the images are not those that the search"):
        resume_search(tmp_path / "run", data=other, quiet=True)
