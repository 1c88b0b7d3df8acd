"""The paper's other data sets from their files to a tested network, on generated files."""

import json

import pytest
from datasets_made import (
    make_cifar100,
    make_cinic10,
    make_fashion,
    make_freiburg,
    make_imagenet,
    make_svhn,
    unchecked,
)

from xnas import TrainConfig, search, train

SMALL = {"epochs": 1, "cells": 3, "channels": 2, "batch_size": 8, "device": "cpu", "quiet": True}
MADE = {
    "cifar100": lambda data: make_cifar100(data / "cifar-100-python"),
    "fashion_mnist": lambda data: make_fashion(data / "FashionMNIST" / "raw", compressed=False),
    "svhn": lambda data: make_svhn(data / "svhn"),
    "cinic10": lambda data: make_cinic10(data / "cinic-10"),
    "freiburg": lambda data: make_freiburg(data / "freiburg_groceries_dataset"),
    "imagenet": lambda data: make_imagenet(data / "imagenet", each=8),
}
EXPECTED = {  # recipe, side that the network sees, hole, policy, images of training
    "cifar100": ("xnas-1500", 32, 16, "cifar10", 200),
    "fashion_mnist": ("xnas-1500", 28, 14, "cifar10", 40),
    "svhn": ("xnas-1500", 32, 16, "svhn", 50),
    "cinic10": ("xnas-1500", 32, 16, "cifar10", 40),
    "freiburg": ("xnas-1500", 96, 48, "imagenet", 24),
    "imagenet": ("imagenet-250", 224, None, "imagenet", 24),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_a_data_set_is_searched_and_trained_by_the_papers_recipe(name, tmp_path, monkeypatch):
    unchecked(monkeypatch, name)
    data = tmp_path / "data"
    MADE[name](data)
    recipe, side, hole, policy, images = EXPECTED[name]
    found = search(
        name, data_dir=data, image_size=16, out=tmp_path / "search", **SMALL | {"batch_size": 4}
    )
    config = TrainConfig(
        cell=found.genotype, data_dir=data, recipe=recipe, out=tmp_path / "run", **SMALL
    )
    result = train(config, name)
    assert result.test is not None
    written = json.loads((tmp_path / "run" / "recipe.json").read_text())
    assert (written.get("cutout_pixels"), written["auto_augment"]) == (hole, policy)
    card = json.loads((tmp_path / "run" / "model.json").read_text())
    assert (card["centre"] or card["size"]) == [side, side]
    assert result.epochs[0].steps == images // 8
