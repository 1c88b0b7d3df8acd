"""Recipes and stages refuse what no search could play."""

import pytest

from xnas import ConfigError
from xnas.methods import Recipe, Stage


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"halves": 3}, "1 or 2 halves of the images, got 3"),
        ({"joint": True}, "joint gradients .* set halves=1"),
    ],
)
def test_a_recipe_says_what_is_wrong_with_it(arguments, words):
    with pytest.raises(ConfigError, match=words):
        Recipe(**arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epochs": 0}, "at least 1 epoch, got 0"),
        ({"epochs": 1, "experts": 0}, "at least 1 expert per forecaster, got 0"),
        (
            {"epochs": 1, "cells": 11, "fresh_weights": False},
            r"keeps its sizes, got .* \(11, None, None\); leave them out, or set fresh_weights=True",
        ),
    ],
)
def test_a_stage_says_what_is_wrong_with_it(arguments, words):
    with pytest.raises(ConfigError, match=words):
        Stage(**arguments)


def test_a_recipe_leaves_numbers_open():
    assert Recipe().epochs is Recipe().weights_lr is Recipe().include_none is None
    assert Recipe(halves=1, joint=True).joint
