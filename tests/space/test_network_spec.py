"""The description of a network: defaults that follow, checks, and JSON."""

import pytest

from xnas.errors import ConfigError, VersionError
from xnas.space import NETWORKS, NetworkSpec

CIFAR, IMAGENET = NETWORKS["cifar"], NETWORKS["imagenet"]


@pytest.mark.parametrize(
    ("spec", "changes", "stem"),
    [
        (CIFAR, {"channels": 44}, 132),
        (CIFAR, {"in_chans": 1}, 36),
        (CIFAR, {"in_chans": 2, "channels": 10}, 20),
        (CIFAR, {"in_chans": 5}, 108),
        (CIFAR, {"stem_channels": 7, "channels": 10}, 7),
        (IMAGENET, {"channels": 40, "in_chans": 1}, 56),
        (NetworkSpec(num_classes=10, channels=16, cells=5, stem_channels=16), {"channels": 3}, 3),
    ],
)
def test_the_stem_follows_channels_unless_it_is_given_or_no_multiple(spec, changes, stem):
    assert spec.but(**changes).stem_channels == stem


def test_what_is_not_given_stays():
    assert IMAGENET.but() == IMAGENET
    changed = IMAGENET.but(num_classes=3, squeeze_excitation=False, auxiliary=True, drop_path_rate=0.2)
    assert (changed.num_classes, changed.squeeze_excitation, changed.cells) == (3, False, 14)
    assert (changed.auxiliary, changed.drop_path_rate) == (True, 0.2)
    assert changed.for_inference == IMAGENET.but(num_classes=3, squeeze_excitation=False)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"channels": 0}, "channels must be at least 1, got 0"),
        ({"num_classes": -1}, "num_classes must be at least 1, got -1"),
        ({"cells": 2.0}, r"cells must be a whole number, got 2\.0"),
        ({"auxiliary": "no"}, "auxiliary must be True or False, got 'no'"),
    ],
)
def test_values_that_no_network_has_are_named(changes, words):
    with pytest.raises(ConfigError, match=words):
        CIFAR.but(**changes)


def test_json_has_everything_but_what_only_training_uses():
    saved = CIFAR.but(auxiliary=True, drop_path_rate=0.3).to_json()
    assert list(saved) == [
        *("network", "num_classes", "in_chans", "channels", "cells"),
        *("squeeze_excitation", "stem_channels"),
    ]
    assert NetworkSpec.from_json(saved) == CIFAR


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"activation": "gelu"}, VersionError, "its network has the setting 'activation'"),
        ({"cells": True}, ConfigError, "cells of a model's network must be a int, got True"),
        ({"squeeze_excitation": 1}, ConfigError, "must be a bool, got 1"),
        ({"cells": 1001}, ConfigError, "its network has cells 1001; at most 1,000 are read"),
        ({"channels": 0}, ConfigError, "channels must be at least 1, got 0"),
    ],
)
def test_json_that_describes_no_network_is_refused(change, kind, words):
    with pytest.raises(kind, match=words):
        NetworkSpec.from_json(CIFAR.to_json() | change)


def test_a_missing_field_is_refused():
    saved = CIFAR.to_json()
    del saved["cells"]
    with pytest.raises(ConfigError, match=r"the network of a model needs network, .*, got network"):
        NetworkSpec.from_json(saved)
