"""The networks in timm's registry."""

import subprocess
import sys

import pytest
import torch

import xnas
from xnas.errors import ConfigError

timm = pytest.importorskip("timm")  # an extra: a machine with a GPU may lack it

from xnas.timm import SOURCES  # noqa: E402

SMALL = {"channels": 4, "cells": 3}


def test_the_presets_and_every_cell_in_both_networks_are_listed():
    own = ["xnas_cifar", "xnas_imagenet", "xnas_large", "xnas_medium", "xnas_small"]
    assert timm.list_models("xnas*") == own
    assert len(SOURCES) == 3 + 2 * len(xnas.list_cells())
    assert set(SOURCES) <= set(timm.list_models())
    assert not set(SOURCES) & set(timm.list_models(pretrained=True))


def test_a_network_follows_the_arguments_of_timm():
    model = timm.create_model("xnas_small", num_classes=7, in_chans=1, drop_path_rate=0.1)
    assert float(model.drop_path.rate) == pytest.approx(0.1)
    assert model.eval()(torch.zeros(2, 1, 32, 32)).shape == (2, 7)


@pytest.mark.parametrize(
    ("name", "network"), [("xnas_small", {}), ("xnas_imagenet", {"network": "imagenet"})]
)
def test_a_network_is_the_one_of_create_model(name, network):
    same = xnas.create_model(name.removesuffix("_imagenet"), **network)
    theirs, ours = timm.create_model(name).state_dict(), same.state_dict()
    assert {key: value.shape for key, value in theirs.items()} == {k: v.shape for k, v in ours.items()}


def test_no_classes_leave_the_pooled_features():
    model = timm.create_model("xnas_cifar", num_classes=0, **SMALL).eval()
    images = torch.randn(2, 3, 32, 32)
    features = model(images)
    assert features.shape == (2, model.num_features)
    assert torch.equal(features, model.forward_features(images).mean((2, 3)))


@pytest.mark.parametrize(
    ("name", "size", "first"), [("darts_v2_cifar", 32, 0.4914), ("darts_v2_imagenet", 224, 0.485)]
)
def test_timm_knows_which_images_a_network_takes(name, size, first):
    model = timm.create_model(name, **SMALL)
    config = timm.data.resolve_model_data_config(model)
    assert config["input_size"] == (3, size, size)
    assert config["mean"][0] == pytest.approx(first, abs=1e-4)  # of the datasets
    assert model.default_cfg["num_classes"] == model.num_classes
    assert isinstance(model.get_submodule(model.default_cfg["first_conv"]), torch.nn.Conv2d)
    assert model.get_submodule(model.default_cfg["classifier"]) is model.get_classifier()


def test_what_timm_sets_of_its_own_accord_is_accepted():
    timm.create_model("xnas_cifar", drop_rate=0.0, global_pool="avg", bn_eps=None, **SMALL)


def test_a_folder_that_timm_saved_can_be_loaded_with_its_weights(tmp_path):
    saved = timm.create_model("xnas_cifar", num_classes=7, **SMALL).eval()
    timm.models.save_for_hf(saved, tmp_path, model_args=SMALL)
    loaded = timm.create_model(f"local-dir:{tmp_path}", pretrained=True).eval()
    images = torch.randn(1, 3, 32, 32)
    assert torch.equal(loaded(images), saved(images))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"pretrained": True}, "pretrained=True, but no weights are published"),
        ({"num_class": 7}, "takes no 'num_class'; did you mean num_classes"),
        ({"features_only": True}, "takes no 'features_only'"),
        ({"drop_rate": 0.3}, "drop_rate=0.3, which it cannot follow"),
        ({"num_classes": -1}, "num_classes must be at least 1, got -1"),
    ],
)
def test_what_a_network_cannot_do_is_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        timm.create_model("xnas_small", **settings)


def test_xnas_registers_where_timm_is_in_use_and_does_not_load_it():
    code = """
import importlib, sys, xnas
print("timm" in sys.modules)
import timm
print(timm.is_model("xnas_small"))
importlib.reload(xnas)  # as if it were imported only now
print(timm.is_model("xnas_small"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]
