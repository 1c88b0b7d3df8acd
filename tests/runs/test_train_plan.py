"""A plan merges recipe and options, and decides everything that both leave open."""

import pytest
import torch

from xnas import ConfigError
from xnas.runs.train_config import TrainConfig
from xnas.runs.train_plan import resolve
from xnas.space import count_macs, count_parameters, create_model, find_genotype

GIVEN = {
    "network": "imagenet",
    "channels": 6,
    "cells": 4,
    "epochs": 7,
    "batch_size": 10,
    "learning_rate": 0.123,
    "weight_decay": 0.0,
    "gradient_clip": 0.0,
    "label_smoothing": 0.01,
    "auxiliary_weight": 0.3,
    "drop_path_rate": 0.11,
    "average": 0.9,
    "cutout": 3,
    "auto_augment": "svhn",
    "image_size": 64,
    "resize": "pad",
}


def planned(shape=(3, 32, 32), examples=1000, device="cpu", **options):
    config = TrainConfig(**options)
    return resolve(
        config,
        find_genotype(config.cell),
        dataset="cifar10",
        examples=examples,
        classes=10,
        shape=shape,
        device=torch.device(device),
    )


@pytest.mark.parametrize("recipe", ["quick", "xnas-1500", "darts-600", "imagenet-250"])
def test_what_a_user_says_goes_before_the_recipe(recipe):
    plan = planned((3, 64, 64), recipe=recipe, **GIVEN)
    assert GIVEN.items() <= plan.recipe.to_json().items()
    for name, value in GIVEN.items():
        assert getattr(plan.config, name) == value, name
    assert plan.config.recipe == recipe


def test_what_a_user_leaves_open_is_the_recipes():
    plan = planned(recipe="xnas-1500")
    assert (plan.config.epochs, plan.config.auto_augment, plan.config.learning_rate) == (
        *(1500, "cifar10", 0.025),
    )
    assert planned(recipe="xnas-1500", auto_augment="none").recipe.images.auto_augment is None
    assert planned(recipe="darts-600").config.auto_augment == "none"


def test_the_device_decides_backend_and_precision():
    assert (planned().backend, planned().precision) == ("reference", "fp32")
    gpu = planned(device="cuda")
    assert (gpu.backend, gpu.precision, gpu.settings.autocast) == ("fused", "bf16", True)
    assert planned(device="cuda", precision="fp32", backend="reference").config.precision == "fp32"
    captured = planned(device="cuda", backend="captured")
    assert (captured.backend, captured.precision) == ("captured", "bf16")
    for backend in ("fused", "captured"):
        with pytest.raises(ConfigError, match=f"backend {backend} needs a GPU; use --backend reference"):
            planned(backend=backend)


def test_the_engine_gets_the_numbers_of_the_recipe():
    plan = planned(recipe="xnas-1500", epochs=3, accumulate=2)
    settings = plan.settings
    assert (settings.epochs, settings.steps_per_epoch, settings.accumulate) == (3, 1000 // 96, 2)
    assert settings.optimization is plan.recipe.optimization
    assert (settings.schedule.top, settings.schedule.cycles) == (0.025, 3)  # a cycle has an epoch
    assert plan.network.auxiliary
    assert plan.network.drop_path_rate == 0.2


def test_a_warmup_of_less_than_a_step_is_none():
    assert planned(recipe="quick", epochs=1, examples=16).settings.schedule.warmup == 0
    assert planned(recipe="quick", epochs=20).settings.schedule.warmup == pytest.approx(3)


def test_few_images_are_trained_on_for_more_epochs_and_a_note_says_so():
    plan = planned(recipe="quick", examples=256)
    assert plan.recipe.epochs == plan.config.epochs == 63  # 16 steps per epoch, 1000 steps at least
    assert plan.notes[-1] == "63 epochs: 1008 steps from 256 images"
    assert planned(recipe="quick", examples=256, epochs=3).recipe.epochs == 3
    assert planned(recipe="quick", examples=50_000).recipe.epochs == 24


def test_few_images_are_trained_on_in_smaller_batches_with_a_smaller_rate():
    plan = planned(recipe="quick", examples=2000)
    assert (plan.config.batch_size, plan.config.learning_rate) == (64, pytest.approx(0.3 * 64 / 256))
    assert plan.notes[0] == "batch 64, learning rate 0.075: 31 steps per epoch"
    config = planned(recipe="quick", examples=2000, batch_size=128).config
    assert (config.batch_size, config.learning_rate) == (128, pytest.approx(0.15))
    options = {"recipe": "quick", "batch_size": 128, "learning_rate": 0.2}
    assert planned(examples=2000, **options).recipe.rate.learning_rate == 0.2
    for name in ("xnas-1500", "darts-600"):  # published numbers stay as they are
        assert planned(recipe=name, examples=200).recipe.batch_size == 96


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"cell": "xnas_medium"}, (44, 20)),
        ({"cell": "xnas_medium", "recipe": "imagenet-250", "batch_size": 8}, (44, 14)),
        ({"cell": "xnas_large", "channels": 8, "cells": 5}, (8, 5)),
    ],
)
def test_a_preset_says_how_wide_the_network_is(options, expected):
    plan = planned((3, 64, 64), **options)
    assert (plan.recipe.channels, plan.recipe.cells) == expected
    assert (plan.network.channels, plan.network.cells) == expected


def limited(shape=(3, 32, 32), **options):
    plan = planned(shape, **options)
    assert plan.network.channels == plan.recipe.channels
    return plan.recipe.channels, plan.notes


def costs(channels, shape=(3, 16, 16)):
    with torch.device("meta"):
        model = create_model("xnas", channels=channels, cells=3, num_classes=10)
    return count_parameters(model), count_macs(model, shape)


def test_limits_pick_the_most_even_channels_within_them():
    every = {channels: costs(channels) for channels in range(2, 13, 2)}
    for limit in (every[6][0], every[6][0] - 1, every[10][0] + 5):
        best = max(c for c, (parameters, _) in every.items() if parameters <= limit)
        channels, notes = limited((3, 16, 16), cells=3, max_params=limit)
        assert channels == best
        assert notes[-1] == f"{best} channels, the most within the limits"
    best = max(c for c, (_, macs) in every.items() if macs < every[10][1])
    assert limited((3, 16, 16), cells=3, cell="xnas_small", max_macs=every[10][1] - 1)[0] == best
    both = limited((3, 16, 16), cells=3, max_params=every[10][0], max_macs=every[8][1])
    assert both[0] == 8


def test_limits_go_before_the_channels_of_a_preset():
    """XNAS-Small has 36 channels and 3,793,438 parameters (Table 1's 3.7 M)."""
    assert limited(cell="xnas_small", max_params=3_793_437)[0] == 34


def test_limits_that_no_network_keeps_are_named():
    with pytest.raises(
        ConfigError,
        match=r"no network of 20 cells is within --max-params 100: with 2 channels it is [\d,]+ "
        r"parameters; raise the limit, or use fewer --cells",
    ):
        limited(cell="xnas_small", max_params=100.0)
    with pytest.raises(ConfigError, match=r"--max-params 1e\+08 and --max-macs 7: with 2 .* multi"):
        limited(cell="xnas_small", max_params=1e8, max_macs=7)
