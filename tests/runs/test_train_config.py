"""Options of a training: their values are checked, and say how images are loaded."""

import math

import pytest

from xnas import ConfigError
from xnas.runs.train_config import TrainConfig, require_cells, resolve_images
from xnas.space import find_genotype


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"batch_size": 1}, "batch-size must be at least 2, got 1"),
        ({"image_size": 7}, "image-size must be at least 8, got 7"),
        (
            {"cutout": 33},
            "cutout is given for 32-pixel images and must be at most 32, got 33; the paper's is 16",
        ),
        ({"accumulate": 0}, "accumulate must be at least 1, got 0"),
        ({"learning_rate": 0.0}, "learning-rate must be positive and finite, got 0.0"),
        ({"gradient_clip": -1.0}, "gradient-clip must be 0 or more and finite, got -1.0"),
        ({"max_params": math.inf}, "max-params must be positive and finite, got inf"),
        ({"average": 1.0}, r"average must lie in \[0, 1\), got 1.0"),
        ({"validation": 1.0}, r"validation must lie in \[0, 1\), got 1.0"),
        ({"mixup": -0.2}, "mixup must be 0 or more and finite, got -0.2"),
        ({"mixup": math.nan}, "mixup must be 0 or more and finite, got nan"),
        ({"mixup": 4.5}, "mixup must be at most 4, got 4.5"),
        (
            {"auto_augment": "moon"},
            "auto-augment must be none, cifar10, svhn, imagenet, cifar10-original",
        ),
        ({"epochs": True}, "epochs must be a whole number or None, got True"),
    ],
)
def test_settings_out_of_range_are_named(arguments, words):
    with pytest.raises(ConfigError, match=words):
        TrainConfig(**arguments)


@pytest.mark.parametrize(
    ("recipe", "dataset", "given", "expected"),
    [
        ("imagenet-250", "imagenet", {}, (256, None)),
        ("imagenet-250", "imagenet", {"image_size": 64}, (64, None)),
        ("xnas-1500", "freiburg", {}, (96, "pad")),
        ("xnas-1500", "freiburg", {"image_size": 32, "resize": "stretch"}, (32, "stretch")),
        ("xnas-1500", "cifar10", {}, (None, None)),
        ("quick", "freiburg", {}, (None, None)),
    ],
)
def test_images_are_loaded_as_the_recipe_or_the_user_says(recipe, dataset, given, expected):
    config = resolve_images(TrainConfig(recipe=recipe, **given), dataset)
    assert (config.image_size, config.resize) == expected


def test_a_network_needs_as_many_cells_as_its_space_says():
    with pytest.raises(ConfigError, match="cells must be at least 3, got 2"):
        require_cells(TrainConfig(cells=2), find_genotype("xnas"))
    require_cells(TrainConfig(), find_genotype("xnas"))
