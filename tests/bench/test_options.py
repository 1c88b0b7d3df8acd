import pytest

from xnas import ConfigError
from xnas.bench.options import (
    BenchDataConfig,
    BenchSearchConfig,
    BenchTheoryConfig,
    BenchTrainConfig,
)


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        (BenchTheoryConfig, {"repetitions": 1}, "repetitions must be at least 3, got 1"),
        (BenchTheoryConfig, {"mixtures": ()}, "mixtures must be positive numbers"),
        (BenchTheoryConfig, {"mixtures": (0,)}, "mixtures must be positive numbers"),
        (BenchSearchConfig, {"rounds": 1}, "rounds must be at least 3, got 1"),
        (BenchSearchConfig, {"cells": 1}, "cells must be at least 3, got 1"),
        (BenchSearchConfig, {"device": "toaster"}, "no such device: 'toaster'"),
        (BenchDataConfig, {"timings": 4}, "timings must be at least 5, got 4"),
        (BenchDataConfig, {"batch_size": 0}, "batch-size must be at least 1, got 0"),
        (BenchDataConfig, {"image_size": 4}, "image-size must be at least 8, got 4"),
        (BenchDataConfig, {"workers": -1}, "workers must be at least 0, got -1"),
        (
            BenchDataConfig,
            {"policy": "mnist"},
            "no AutoAugment policy called 'mnist'; there are: cifar10",
        ),
        (BenchDataConfig, {"device": "toaster"}, "no such device: 'toaster'"),
        (BenchTrainConfig, {"steps": 4}, "steps must be at least 5, got 4"),
        (BenchTrainConfig, {"device": "toaster"}, "no such device: 'toaster'"),
    ],
)
def test_bad_settings_are_named(kind, settings, words):
    with pytest.raises(ConfigError, match=words):
        kind(**settings)
