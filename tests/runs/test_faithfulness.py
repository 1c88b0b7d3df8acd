"""A faithful search names every setting in which it is not the paper's."""

from dataclasses import fields

import pytest
import torch
from searching import stripes

from xnas import SearchConfig, faithful
from xnas.runs.faithfulness import OUTSIDE, departures, papers_settings
from xnas.runs.search_plan import resolve

CPU = torch.device("cpu")
CIFAR = stripes()
CIFAR = CIFAR.__class__(**{f.name: getattr(CIFAR, f.name) for f in fields(CIFAR)} | {"name": "cifar10"})

CHANGED = {
    "balance": (True, "balance"),
    "backend": ("fused", "backend fused"),
    "precision": ("bf16", "precision bf16"),
    "image_size": (48, "image-size 48"),
    "resize": ("stretch", "resize stretch"),
    "method": ("gaea", "method gaea"),
    "space": ("nasbench201", "space nasbench201"),
    "epochs": (51, "epochs 51"),
    "batch_size": (64, "batch-size 64"),
    "cells": (5, "cells 5"),
    "channels": (8, "channels 8"),
    "weights_lr": (0.1, "weights-lr 0.1"),
    "partial_channels": (4, "partial-channels 4"),
    "single_level": (True, "single-level"),
    "faithful": (False, "no-faithful"),
    "experts_lr": ("matched", "experts-lr matched"),
    "logits_lr": (0.01, "logits-lr 0.01"),
    "logits_weight_decay": (0.0, "logits-weight-decay 0"),
    "relaxation": (0.5, "relaxation 0.5"),
    "wipeout": (False, "no-wipeout"),
    "reward_bound": (5.0, "reward-bound 5"),
    "skip_dropout": ("0.5", "skip-dropout 0.5"),
    "expert_dropout": (0.5, "expert-dropout 0.5"),
    "best_temperature": (True, "best-temperature"),
    "warmup": (0.2, "warmup 0.2"),
    "edges": ("absence", "edges absence"),
    "include_none": (True, "include-none"),
    "auto_augment": (False, "no-auto-augment"),
    "auto_augment_policy": ("svhn", "auto-augment-policy svhn"),
    "max_params": (3e5, "max-params 300000"),
    "max_macs": (2.5e7, "max-macs 2.5e+07"),
    "max_latency": (1.5, "max-latency 1.5"),
}
"""Every other setting, with a value that the paper has not, and the words for it."""


def told(images=CIFAR, examples=25_000, device=CPU, **settings):
    papers = {"faithful": True, "epochs": 50, "batch_size": 96, "cells": 8, "channels": 16}
    options = SearchConfig(**papers | settings)
    return departures(resolve(options, examples=examples, device=device), images)


def test_every_setting_of_a_search_is_compared_or_has_a_reason_not_to_be():
    assert {f.name for f in fields(SearchConfig)} == {*CHANGED, *OUTSIDE}
    assert not {*CHANGED} & {*OUTSIDE}


@pytest.mark.parametrize("name", CHANGED)
def test_each_changed_setting_is_named(name):
    value, words = CHANGED[name]
    assert words in told(**{name: value})


def test_the_papers_search_has_nothing_to_name():
    assert told() == []
    assert told(skip_dropout="0.0:0", reward_bound=1.0, seed=7, gap_every=3, accounting="sample") == []
    assert told(auto_augment_policy="cifar10-original") == []
    assert papers_settings().epochs == faithful().epochs == 50


@pytest.mark.parametrize("policy", ["svhn", "svhn-original", "imagenet"])
def test_a_policy_of_other_images_is_named(policy):
    assert told(auto_augment_policy=policy) == [f"auto-augment-policy {policy}"]


def test_defaults_that_follow_from_a_device_or_the_images_are_named_too():
    open_ones = {"epochs": None, "batch_size": None, "cells": None, "channels": None}
    assert told(**open_ones) == ["cells 5", "channels 8"]
    small = told(stripes(), examples=40, **open_ones)
    assert small == ["data stripes", "epochs 200", "batch-size 8", "cells 5", "channels 8"]
    gpu = told(device=torch.device("cuda"), **open_ones)
    assert gpu == ["backend fused"]  # fp32, unless it is asked for bf16


def test_what_a_method_with_stages_changes_is_named():
    assert "cells that changes" not in told(method="pdarts")  # the sizes were given
    assert "cells that changes" in told(method="pdarts", cells=None, channels=None)
