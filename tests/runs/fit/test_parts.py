"""The settings and images of the runs that a fit consists of."""

from dataclasses import replace

import pytest
import torch
from fitting import SMALL_PLAN, pictures

from xnas import FitConfig
from xnas.data import held_out, stream_seed
from xnas.runs.fit.parts import FitData, facts_of, fine_tuning, search_settings, train_settings
from xnas.runs.prepare_training import prepare_training
from xnas.space import find_architecture

CONFIG = FitConfig(
    device="cpu", seed=3, backend="reference", balance=True, checkpoint_minutes=2, report=False
)


def keys(images):
    return {image.numpy().tobytes() for image in images}


def test_the_search_sees_no_validation_image_of_the_trainings():
    data = FitData(pictures(), CONFIG, 0.2)
    settings = train_settings(CONFIG, "xnas", share=0.2, epochs=1, cells=3, channels=2)
    prepared = prepare_training(settings, data.trained, find_architecture("xnas"))
    assert len(prepared.valid.indices) == data.held == 16
    held = keys(data.images.images[prepared.valid.indices.cpu()])
    searched = data.searched(1000)
    assert len(searched.labels) == 64
    assert not keys(searched.images) & held
    assert len(data.searched(20).labels) == 20
    assert keys(data.searched(20).images) < keys(searched.images)


def test_the_plan_counts_the_validation_images_that_the_split_holds_out():
    images = replace(pictures(24), labels=torch.arange(24) % 3, classes=("a", "b", "c"))
    facts = facts_of(images)
    data = FitData(images, CONFIG, facts.validation)
    assert facts.held == data.held == 6  # 2 of each 8, where a fifth of all is 5
    assert facts.kept == 18


def test_the_validation_part_follows_the_seed():
    labels = pictures().labels
    parts = [held_out(labels, share=0.2, seed=stream_seed(seed, "validation"))[1] for seed in (3, 4)]
    assert not torch.equal(*parts)


def test_no_run_gets_test_images():
    data = FitData(pictures(), CONFIG, 0.2)
    assert data.trained.test_images is None
    assert data.searched(20).test_images is None


def test_every_run_has_the_settings_of_the_fit(tmp_path):
    search = search_settings(CONFIG, SMALL_PLAN.search, tmp_path)
    train = train_settings(CONFIG, "resnet-8", share=0.2, epochs=7, out=tmp_path)
    for settings in (search, train):
        for name in ("device", "seed", "backend", "balance", "checkpoint_minutes", "report"):
            assert getattr(settings, name) == getattr(CONFIG, name)
        assert settings.out == tmp_path
    assert search.space == "darts"
    assert (search.epochs, search.batch_size, search.cells, search.channels) == (2, 8, 3, 2)
    limited = replace(CONFIG, max_params=1000, latency_batch=2)
    search = search_settings(limited, SMALL_PLAN.search, tmp_path)
    assert (search.max_params, search.max_macs, search.latency_batch) == (1000, None, 2)
    assert not train_settings(limited, "xnas", share=0.2, epochs=1).limited  # of a size that obeys
    assert (train.epochs, train.validation, train.recipe) == (7, 0.2, "quick")


def test_the_class_with_the_fewest_images_is_named():
    facts = facts_of(pictures(21))
    assert (facts.images, facts.fewest, facts.fewest_name) == (21, 10, "horizontal")


@pytest.mark.parametrize(("images", "batch"), [(40_000, 64), (640, 64), (639, 32), (40, 4), (5, 2)])
def test_fine_tuning_has_small_batches_and_a_small_rate_that_follows_them(images, batch):
    numbers = fine_tuning(images)
    assert (numbers["batch_size"], numbers["learning_rate"]) == (batch, 0.02 * batch / 64)
    tuned = train_settings(CONFIG, "xnas", share=0.2, epochs=3, tuned=images)
    assert (tuned.batch_size, tuned.learning_rate, tuned.weight_decay) == (
        batch,
        0.02 * batch / 64,
        1e-4,
    )
    assert train_settings(CONFIG, "xnas", share=0.2, epochs=3).batch_size is None
